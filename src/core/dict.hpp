// Joins a run that is a dict of dicts.
//
// Python has already hashed every key, so the judged ids are looked up in the dict itself, and the run's ids
// are compared only where scores tie.
#pragma once

#include <cmath>

#include "key.hpp"
#include "python.hpp"

namespace cranfield {

class DictJoin {
public:
    DictJoin(PythonIndex& index, Key key, bool by_id, Tally& tally)
        : index_(index), key_(key), finisher_(index.core, by_id), locator_(by_id), tally_(tally) {}

    void join(const nb::object& mapping) {
        const nb::object run = as_dict(mapping);
        for (nb::handle item : items_of(run)) {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            const nb::object query = item[0];
            const nb::object ranking = as_dict(item[1]);
            std::string name;
            part_.clear();
            if (encode(query, name)) {
                read(name, ranking);
            } else {
                part_.faults.add(row_ + 1, "id", {}, shown(query));
                row_ += nb::len(ranking);
            }
            tally_.add(part_);
        }
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

    void read(const std::string& query, const nb::object& ranking) {
        const std::uint32_t number = index_.core.find(query);
        const bool judged = number != Ids::none;
        const std::size_t wanted = judged ? index_.core.end(number) - index_.core.begin(number) : 0;
        const std::uint64_t first = row_;
        group_.clear();
        if (wanted <= few && walk<false>(ranking)) {
            if (judged) look_up(number, ranking);
        } else {
            row_ = first;
            group_.clear();
            if (wanted <= few || !walk<true>(ranking)) {
                row_ = first;
                group_.clear();
                walk_anything(query, ranking);
            }
            finisher_.finish(group_, query, number, part_);
        }
        part_.rows += row_ - first;
        part_.segments.push_back({query, number, ++queries_, group_.size()});
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
            PyObject* const score = PyDict_GetItemWithError(ranking.ptr(), index_.document(document).ptr());
            if (score == nullptr) {
                if (PyErr_Occurred() != nullptr) throw nb::python_error();
                continue;
            }
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

    PythonIndex& index_;
    const Key key_;
    Finisher finisher_;
    Locator locator_;
    Tally& tally_;
    Group group_;
    Part part_;
    std::vector<std::string> names_;
    std::uint64_t row_ = 0;
    std::uint64_t queries_ = 0;
};

}  // namespace cranfield
