// The scores of many rankings at once, each without a lasting look at its ids.
//
// The objects lie all over the memory, so that reading them is nothing but waiting for it; several threads
// wait at the same time. The caller holds the GIL all the while and runs no Python code: nothing changes,
// and the other threads only read. They call nothing that allocates, counts references or can fail.
#pragma once

#include <cmath>

#include "crew.hpp"
#include "key.hpp"
#include "python.hpp"

namespace cranfield {

class Glance {
public:
    struct Ranking {
        PyObject* dict;
        std::size_t begin, size;  // where its keys are
        bool plain = false;       // all ids are text that UTF-8 can hold, all scores floats, none of them NaN
        bool descending = true;
    };

    void clear() {
        rankings_.clear();
        total_ = 0;
    }

    // An exact dict that somebody else keeps alive.
    std::size_t add(PyObject* dict) {
        const auto size = static_cast<std::size_t>(PyDict_Size(dict));
        rankings_.push_back({dict, total_, size});
        total_ += size;
        return rankings_.size() - 1;
    }

    void read(Key key, Crew& crew) {
        if (keys_.size() < total_) keys_.resize(total_);
        std::atomic<std::size_t> turn = 0;
        const auto work = [&] {
            for (std::size_t i = turn++; i < rankings_.size(); i = turn++) read(rankings_[i], key);
        };
        if (can_share && total_ >= worth_sharing) {
            crew.run(work, Crew::Caller::works);
        } else {
            work();
        }
    }

    const Ranking& operator[](std::size_t i) const { return rankings_[i]; }

    // How many of a ranking's keys are above `key`, and how many are equal to it.
    std::pair<std::size_t, std::size_t> span(const Ranking& ranking, double key) const {
        const double* const first = keys_.data() + ranking.begin;
        const double* const last = first + ranking.size;
        if (ranking.descending) {
            const double* const start = std::lower_bound(first, last, key, std::greater<double>());
            const double* end = start;
            while (end != last && *end == key) ++end;
            return {static_cast<std::size_t>(start - first), static_cast<std::size_t>(end - start)};
        }
        std::size_t above = 0, equal = 0;
        for (const double* other = first; other != last; ++other) {
            above += *other > key;
            equal += *other == key;
        }
        return {above, equal};
    }

private:
    // Text of one byte for each character has no surrogates. Only the full API of CPython tells without work; what
    // the stable one offers may allocate, and is for the thread with the GIL. Where that may be off it guards nothing.
#if defined(Py_LIMITED_API) || defined(Py_GIL_DISABLED) || defined(PYPY_VERSION)
    static constexpr bool can_share = false;

    static bool is_encodable(PyObject* id) {
        Py_ssize_t size = 0;
        if (PyUnicode_AsUTF8AndSize(id, &size) != nullptr) return true;
        PyErr_Clear();
        return false;
    }

    static double value_of(PyObject* score) { return PyFloat_AsDouble(score); }
#else
    static constexpr bool can_share = true;

    static bool is_encodable(PyObject* id) { return PyUnicode_KIND(id) == PyUnicode_1BYTE_KIND; }
    static double value_of(PyObject* score) { return PyFloat_AS_DOUBLE(score); }
#endif

    void read(Ranking& ranking, Key key) {
        PyObject *id, *score;
        Py_ssize_t position = 0;
        double* into = keys_.data() + ranking.begin;
        double last = std::numeric_limits<double>::infinity();
        bool descending = true;
        while (PyDict_Next(ranking.dict, &position, &id, &score)) {
            if (Py_TYPE(id) != &PyUnicode_Type || Py_TYPE(score) != &PyFloat_Type || !is_encodable(id)) return;
            double value = value_of(score);
            if (std::isnan(value)) return;
            if (key == Key::score32) value = rounded(value);
            descending &= value <= last;
            last = value;
            *into++ = value;
        }
        ranking.plain = true;
        ranking.descending = descending;
    }

    static constexpr std::size_t worth_sharing = std::size_t{1} << 13;

    std::vector<Ranking> rankings_;
    std::vector<double> keys_;
    std::size_t total_ = 0;
};

}  // namespace cranfield
