// The rows of a ranking that is a dict, read without running Python code.
#pragma once

#include <cmath>
#include <span>

#include "python.hpp"

namespace cranfield {

// Whether threads other than the one with the GIL may read, as long as that one waits and so nothing changes: they
// must call nothing that allocates, counts references or can fail. Only the full API of CPython offers that; and where
// the GIL may be off it guards nothing.
#if defined(Py_LIMITED_API) || defined(Py_GIL_DISABLED) || defined(PYPY_VERSION)
inline constexpr bool threads_can_read = false;
#else
inline constexpr bool threads_can_read = true;
#endif

// The text of an exact str that UTF-8 can hold; false where it is something else. With `Shared`, which is for several
// threads, it has to be ASCII.
    template <bool Shared>
    bool read_id(PyObject* id, Text& text) {
        if (Py_TYPE(id) != &PyUnicode_Type) return false;
#if !defined(Py_LIMITED_API)
        if (PyUnicode_IS_COMPACT_ASCII(id)) {
            text = {static_cast<const char*>(PyUnicode_DATA(id)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(id))};
            return true;
        }
#endif
        if constexpr (Shared) return false;
        Py_ssize_t size = 0;
        const char* const bytes = PyUnicode_AsUTF8AndSize(id, &size);
        if (bytes == nullptr) {
            PyErr_Clear();
            return false;
        }
        text = {bytes, static_cast<std::size_t>(size)};
        return true;
    }

    template <bool Shared>
    bool read_number(PyObject* score, double& value) {
#if !defined(Py_LIMITED_API)
        if (Py_TYPE(score) == &PyFloat_Type) {
            value = PyFloat_AS_DOUBLE(score);
            return true;
        }
#endif
        if constexpr (Shared) return false;
        if (Py_TYPE(score) == &PyLong_Type) {
        value = PyLong_AsDouble(score);
    } else if (Py_TYPE(score) == &PyFloat_Type) {
        value = PyFloat_AsDouble(score);
    } else {
        return false;
    }
    if (value != -1 || PyErr_Occurred() == nullptr) return true;
        PyErr_Clear();
        return false;
    }

class DictRows {
public:
    // Reads an exact dict if all ids and scores can be read and no score is NaN. The candidates are the rows for whose
    // id `passes` gives 1 and not 0.
    template <bool Shared, class Passes>
    bool read(PyObject* dict, Passes passes) {
        const auto length = static_cast<std::size_t>(PyDict_Size(dict));
        if (ids_.size() <= length) {
            ids_.resize(length + 1);
            scores_.resize(length + 1);
            candidates_.resize(length + 1);
        }
        size_ = passed_ = 0;
        std::size_t row = 0, passed = 0;
        PyObject *id, *score;
        for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &id, &score); ++row) {
            if (!read_id<Shared>(id, ids_[row]) || !read_number<Shared>(score, scores_[row])) return false;
            if (std::isnan(scores_[row])) return false;
            // Always written, because whether a document is judged cannot be predicted.
            candidates_[passed] = static_cast<std::uint32_t>(row);
            passed += passes(ids_[row]);
        }
        size_ = row;
        passed_ = passed;
        return true;
    }

    std::size_t size() const { return size_; }
    Text id(std::size_t row) const { return ids_[row]; }
    std::span<const double> scores() const { return {scores_.data(), size_}; }
    std::span<const std::uint32_t> candidates() const { return {candidates_.data(), passed_}; }
    std::size_t weight() const { return ids_.capacity() * (sizeof(Text) + sizeof(double) + sizeof(std::uint32_t)); }

private:
    std::vector<Text> ids_;
    std::vector<double> scores_;
    std::vector<std::uint32_t> candidates_;
    std::size_t size_ = 0, passed_ = 0;
};

}  // namespace cranfield
