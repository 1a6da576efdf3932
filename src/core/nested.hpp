// Judgments that are a dict of dicts, as columns.
#pragma once

#include "dict_rows.hpp"

namespace cranfield {

struct NestedColumns {
    Strings query, document;
    std::vector<std::int64_t> begin{0};
    std::vector<double> grade;

    // False, with the columns half filled, where there is something other than ids and finite numbers.
    bool read(const nb::object& mapping) {
        if (!PyDict_Check(mapping.ptr())) return false;
        const auto queries = items_of(as_dict(mapping));
        std::size_t total = 0;
        for (const auto& [name, judged] : queries) total += PyDict_Check(judged.ptr()) ? nb::len(judged) : 0;
        begin.reserve(queries.size() + 1);
        document.offsets.reserve(total + 1);
        grade.reserve(total);
        for (const auto& [name, judged] : queries) {
            Text text;
            if (!read_id<false>(name.ptr(), text) || !PyDict_Check(judged.ptr())) return false;
            query.add(text);
            if (!read_judged(as_dict(judged))) return false;
            begin.push_back(static_cast<std::int64_t>(grade.size()));
        }
        return true;
    }

private:
    bool read_judged(const nb::object& judged) {
        PyObject *id, *value;
        Text text;
        double number = 0;
        for (Py_ssize_t position = 0; PyDict_Next(judged.ptr(), &position, &id, &value);) {
            if (!read_id<false>(id, text) || !read_number<false>(value, number) || !std::isfinite(number)) return false;
            document.add(text);
            grade.push_back(number);
        }
        return true;
    }
};

}  // namespace cranfield
