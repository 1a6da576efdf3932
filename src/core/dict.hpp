// Joins a run that is a dict of dicts.
#pragma once

#include <cmath>

#include "python.hpp"
#include "text.hpp"

namespace cranfield {

class DictJoin {
public:
    DictJoin(PythonIndex& index, Key key, bool by_id, Tally& tally)
        : index_(index), key_(key), finisher_(index.core, by_id), tally_(tally) {}

    void join(const nb::object& mapping) {
        const nb::object run = as_dict(mapping);
        const nb::list items = list_of_items(run);
        for (nb::handle item : items) {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            const nb::object query = item[0], ranking = as_dict(nb::object(item[1]));
            part_.clear();
            std::string name;
            if (!encode(query, name)) {
                part_.faults.add(row_ + 1, "id", {}, shown(query));
                row_ += nb::len(ranking);
            } else {
                read(name, ranking);
            }
            tally_.add(part_);
        }
    }

private:
    static nb::object as_dict(const nb::object& mapping) {
        if (PyDict_Check(mapping.ptr())) return mapping;
        return nb::borrow(reinterpret_cast<PyObject*>(&PyDict_Type))(mapping);
    }

    static nb::list list_of_items(const nb::object& dict) {
        nb::object items = nb::steal(PyDict_Items(dict.ptr()));
        if (!items.is_valid()) throw nb::python_error();
        return nb::borrow<nb::list>(items);
    }

    void read(const std::string& query, const nb::object& ranking) {
        group_.clear();
        names_.clear();
        const nb::list items = list_of_items(ranking);
        names_.resize(nb::len(items));
        std::size_t i = 0;
        for (nb::handle item : items) {
            const nb::object document = item[0], score = item[1];
            std::string& name = names_[i++];
            ++row_;
            ++part_.rows;
            if (!encode(document, name)) {
                part_.faults.add(row_, "id", query, shown(document));
                continue;
            }
            const std::optional<double> value = number(score);
            if (!value) {
                part_.faults.add(row_, "score", query, shown(score));
                continue;
            }
            if (std::isnan(*value)) {
                part_.faults.add(row_, "nan", query, "nan");
                continue;
            }
            double key = *value;
            if (key_ == Key::score32) key = rounded(key);
            if (key_ == Key::rank) key = -static_cast<double>(row_);
            group_.add(name, key, row_);
        }
        const std::uint32_t number = index_.core.find(query);
        finisher_.finish(group_, query, number, part_);
        part_.segments.push_back({query, number, ++queries_, group_.size()});
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

    PythonIndex& index_;
    const Key key_;
    Finisher finisher_;
    Tally& tally_;
    Group group_;
    Part part_;
    std::vector<std::string> names_;
    std::uint64_t row_ = 0;
    std::uint64_t queries_ = 0;
};

}  // namespace cranfield
