// Joins a run that is a dict of dicts.
//
// Python has already hashed every key, so the judged ids are looked up in the dict itself, and the run's ids
// are compared only where scores tie or are what only Python can turn into numbers.
#pragma once

#include <cmath>

#include "glance.hpp"

namespace cranfield {

class DictJoin {
public:
    DictJoin(PythonIndex& index, Key key, bool by_id, Tally& tally, Crew& crew)
        : index_(index), key_(key), finisher_(index.core, by_id), locator_(by_id), tally_(tally), crew_(crew) {}

    void join(const nb::object& mapping) {
        const nb::object run = as_dict(mapping);
        for (nb::handle item : items_of(run)) {
            take(item[0], as_dict(item[1]));
            if (waiting_rows_ >= portion || waiting_.size() >= portion) finish_waiting();
        }
        finish_waiting();
    }

private:
    // A subclass may give its items in an order of its own, as OrderedDict does; dict() asks it.
    static nb::object as_dict(const nb::object& mapping) {
        if (PyDict_CheckExact(mapping.ptr())) return mapping;
        return nb::borrow(reinterpret_cast<PyObject*>(&PyDict_Type))(mapping);
    }

    static nb::list items_of(const nb::object& dict) {
        nb::object items = nb::steal(PyDict_Items(dict.ptr()));
        if (!items.is_valid()) throw nb::python_error();
        return nb::borrow<nb::list>(items);
    }

    // A query whose ranking has not been looked at yet.
    struct Waiting {
        nb::object query, ranking;
        std::string name{};
        bool named = false;
        std::uint32_t number = Ids::none;
        std::size_t wanted = 0;  // judged documents
        std::optional<std::size_t> glance{};
    };

    void take(nb::object query, nb::object ranking) {
        Waiting one{std::move(query), std::move(ranking)};
        one.named = encode(one.query, one.name);
        if (one.named) one.number = index_.core.find(one.name);
        if (one.number != Ids::none) one.wanted = index_.core.end(one.number) - index_.core.begin(one.number);
        waiting_rows_ += nb::len(one.ranking);
        waiting_.push_back(std::move(one));
    }

    void finish_waiting() {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        glance_.clear();
        for (Waiting& one : waiting_) {
            // Without scores to order by it takes the ids to find a place.
            if (one.named && one.wanted <= few && key_ != Key::rank) one.glance = glance_.add(one.ranking.ptr());
        }
        glance_.read(key_, crew_);
        for (const Waiting& one : waiting_) {
            part_.clear();
            if (one.named) {
                read(one);
            } else {
                part_.faults.add(row_ + 1, "id", {}, shown(one.query));
                row_ += nb::len(one.ranking);
            }
            tally_.add(part_);
        }
        waiting_.clear();
        waiting_rows_ = 0;
    }

    void read(const Waiting& one) {
        const std::uint64_t first = row_;
        std::size_t length = 0;
        if (one.glance && glance_[*one.glance].plain && place(one, glance_[*one.glance])) {
            length = glance_[*one.glance].size;
            row_ += length;
        } else {
            read_ids(one, first);
            length = group_.size();
        }
        part_.rows += row_ - first;
        part_.segments.push_back({one.name, one.number, ++queries_, length});
    }

    // Appends the hits if the scores alone tell where they are: if none of them is tied.
    bool place(const Waiting& one, const Glance::Ranking& ranking) {
        part_.hits.clear();
        for (std::size_t i = 0; i < one.wanted; ++i) {
            const std::size_t document = index_.core.begin(one.number) + i;
            PyObject* const score = score_of(document, one.ranking);
            if (score == nullptr) continue;
            const auto [start, size] = glance_.span(ranking, key_of(PyFloat_AsDouble(score)));
            if (size != 1) {
                part_.hits.clear();
                return false;
            }
            const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
            part_.hits.push_back({number(one.number), number(document), number(start), 1, 0, 0});
        }
        std::sort(part_.hits.begin(), part_.hits.end(), [](const Hit& a, const Hit& b) { return a.start < b.start; });
        return true;
    }

    void read_ids(const Waiting& one, std::uint64_t first) {
        group_.clear();
        if (one.wanted <= few && walk<false>(one.ranking)) {
            if (one.number != Ids::none) look_up(one.number, one.ranking);
            return;
        }
        row_ = first;
        group_.clear();
        if (one.wanted <= few || !walk<true>(one.ranking)) {
            row_ = first;
            group_.clear();
            walk_anything(one.name, one.ranking);
        }
        finisher_.finish(group_, one.name, one.number, part_);
    }

    // Borrowed; nullptr where the ranking does not have a judged document.
    PyObject* score_of(std::size_t document, const nb::object& ranking) {
        PyObject* const score = PyDict_GetItemWithError(ranking.ptr(), index_.document(document).ptr());
        if (score == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
        return score;
    }

    double key_of(double score) const {
        if (key_ == Key::rank) return -static_cast<double>(row_);
        return key_ == Key::score32 ? rounded(score) : score;
    }

    // Fills the group if all keys are strings and all values numbers of the usual kinds: no Python code runs
    // then that could change the dict. False, with the group half filled, where one is not.
    template <bool Hashed>
    bool walk(const nb::object& ranking) {
        PyObject *id, *score;
        Py_ssize_t position = 0, size = 0;
        while (PyDict_Next(ranking.ptr(), &position, &id, &score)) {
            if (Py_TYPE(id) != &PyUnicode_Type) return false;
            if (Py_TYPE(score) != &PyFloat_Type && Py_TYPE(score) != &PyLong_Type) return false;
            const char* const text = PyUnicode_AsUTF8AndSize(id, &size);
            const double value = PyFloat_AsDouble(score);
            if (text == nullptr || (value == -1 && PyErr_Occurred() != nullptr)) {
                PyErr_Clear();
                return false;
            }
            if (std::isnan(value)) return false;
            ++row_;
            const Text name(text, static_cast<std::size_t>(size));
            group_.add(name, Hashed ? hash(name) : 0, key_of(value), row_);
        }
        return true;
    }

    void look_up(std::size_t query, const nb::object& ranking) {
        for (std::size_t document = index_.core.begin(query); document != index_.core.end(query); ++document) {
            PyObject* const score = score_of(document, ranking);
            if (score == nullptr) continue;
            const Text id = index_.core.document(document);
            const double* const keys = group_.keys();
            const double key = key_of(PyFloat_AsDouble(score));
            std::size_t row = 0;
            if (key_ != Key::rank && group_.descending()) {
                row = static_cast<std::size_t>(
                    std::lower_bound(keys, keys + group_.size(), key, std::greater<double>()) - keys);
            }
            while (row < group_.size() && !((key_ == Key::rank || keys[row] == key) && same(group_[row].id, id))) ++row;
            if (row < group_.size()) locator_.note(row, document);
        }
        locator_.locate(group_, query, part_.hits);
    }

    // Any keys and values, every fault.
    void walk_anything(const std::string& query, const nb::object& ranking) {
        const nb::list items = items_of(ranking);
        names_.clear();
        names_.resize(nb::len(items));
        auto name = names_.begin();
        for (nb::handle item : items) {
            const nb::object id = item[0], score = item[1];
            ++row_;
            ++name;
            if (!encode(id, name[-1])) {
                part_.faults.add(row_, "id", query, shown(id));
            } else if (const std::optional<double> value = number(score); !value) {
                part_.faults.add(row_, "score", query, shown(score));
            } else if (std::isnan(*value)) {
                part_.faults.add(row_, "nan", query, "nan");
            } else {
                group_.add(name[-1], key_of(*value), row_);
            }
        }
    }

    static bool encode(const nb::object& id, std::string& name) {
        if (!PyUnicode_Check(id.ptr())) return false;
        const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(id.ptr(), "utf-8", "surrogateescape"));
        if (!encoded.is_valid()) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
            PyErr_Clear();
            return false;
        }
        name.assign(PyBytes_AsString(encoded.ptr()), static_cast<std::size_t>(PyBytes_Size(encoded.ptr())));
        return true;
    }

    static std::optional<double> number(const nb::object& score) {
        if (PyUnicode_Check(score.ptr()) || PyBytes_Check(score.ptr())) return std::nullopt;
        const double value = PyFloat_AsDouble(score.ptr());
        if (value == -1 && PyErr_Occurred() != nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
                !PyErr_ExceptionMatches(PyExc_OverflowError)) {
                throw nb::python_error();
            }
            PyErr_Clear();
            return std::nullopt;
        }
        return value;
    }

    static std::string shown(const nb::object& object) {
        const nb::object text = nb::repr(object);
        const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
        if (!encoded.is_valid()) throw nb::python_error();
        return {PyBytes_AsString(encoded.ptr()), static_cast<std::size_t>(PyBytes_Size(encoded.ptr()))};
    }

    // Up to so many judged documents are looked up one by one; more are worth a hash table of the ranking.
    static constexpr std::size_t few = 16;

    // Rows that are glanced at together: enough for several threads, and few enough to be still in the
    // processor's cache when the judged documents are looked up.
    static constexpr std::size_t portion = std::size_t{1} << 16;

    PythonIndex& index_;
    const Key key_;
    Finisher finisher_;
    Locator locator_;
    Tally& tally_;
    Crew& crew_;
    Glance glance_;
    std::vector<Waiting> waiting_;
    std::size_t waiting_rows_ = 0;
    Group group_;
    Part part_;
    std::vector<std::string> names_;
    std::uint64_t row_ = 0;
    std::uint64_t queries_ = 0;
};

}  // namespace cranfield
