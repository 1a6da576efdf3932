// Joins a run that is a dict of dicts.
//
// A dict cannot repeat an id. So the judged ids are what is hashed into a table, which is small, and each ranking's ids
// are looked up there as they pass. The objects lie all over the memory, so that reading them is mostly waiting for it;
// several threads wait at the same time. The caller holds the GIL all the while and runs no Python code meanwhile.
#pragma once

#include <deque>

#include "dict_rows.hpp"
#include "grouped.hpp"

namespace cranfield {

class DictJoin {
public:
    DictJoin(const Index& index, Key key, bool by_id, Tally& tally, Crew& crew)
        : index_(index), key_(key), by_id_(by_id), tally_(tally), crew_(crew) {}

    void join(const nb::object& mapping) {
        for (auto& [query, ranking] : items_of(as_dict(mapping))) {
            take(std::move(query), as_dict(ranking));
            if (rows_ - first_row_ >= portion) finish_waiting();
        }
        finish_waiting();
    }

private:
    // A query whose ranking has not been read yet.
    struct Waiting {
        nb::object query, ranking;
        std::uint64_t place;      // among the queries, from 1
        std::uint64_t first_row;  // rows before its own
        bool named = false;
        Text name{};
        std::uint32_t number = Ids::none;
        bool done = false;
    };

    void take(nb::object query, nb::object ranking) {
        Waiting& one = waiting_.emplace_back(std::move(query), std::move(ranking), ++queries_, rows_);
        rows_ += static_cast<std::uint64_t>(PyDict_Size(one.ranking.ptr()));
        one.named = encode(one.query, one.name);
        if (one.named) one.number = index_.find(one.name);
    }

    void finish_waiting() {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (threads_can_read && rows_ - first_row_ >= worth_sharing) {
            std::atomic<std::size_t> turn = 0;
            crew_.run([&] { read_all<true>(turn); }, Crew::Caller::works);
        }
        std::atomic<std::size_t> turn = 0;
        read_all<false>(turn);
        for (const Waiting& one : waiting_) {
            if (!one.done) read_anything(one);
        }
        waiting_.clear();
        names_.clear();
        first_row_ = rows_;
    }

    // What it takes to read rankings one after the other.
    struct Reader {
        DictRows rows;
        Filter filter;
        Lookup lookup;
        std::vector<std::pair<std::size_t, std::uint64_t>> candidates;  // rows that may be judged, and their hashes
        Locator locator;
        Part part;

        std::size_t weight() const {
            return rows.weight() + lookup.weight() + locator.weight() + part.hits.capacity() * sizeof(Hit);
        }
    };

    template <bool Shared>
    void read_all(std::atomic<std::size_t>& turn) {
        const Borrowed<Reader> reader;
        reader->part.clear();
        for (std::size_t i = turn++; i < waiting_.size(); i = turn++) {
            Waiting& one = waiting_[i];
            if (one.done || !one.named) continue;
            one.done = read<Shared>(*reader, one);
            if (reader->part.hits.size() >= enough_hits) {
                tally_.add(reader->part);
                reader->part.clear();
            }
        }
        tally_.add(reader->part);
    }

    template <bool Shared>
    bool read(Reader& reader, const Waiting& one) {
        DictRows& rows = reader.rows;
        Part& part = reader.part;
        const std::size_t first = part.hits.size();
        if (one.number == Ids::none) {
            if (!rows.template read<Shared>(one.ranking.ptr(), key_, [](std::size_t) {})) return false;
        } else {
            const JudgedRows judged = index_.judged(one.number);
            reader.filter.build(judged);
            reader.candidates.resize(static_cast<std::size_t>(PyDict_Size(one.ranking.ptr())) + 1);
            std::pair<std::size_t, std::uint64_t>* candidate = reader.candidates.data();
            const auto sift = [&](std::size_t row) {
                const std::uint64_t h = hash(rows.id(row));
                // Always written, because whether a document is judged cannot be predicted.
                *candidate = {row, h};
                candidate += reader.filter.passes(h);
            };
            if (!rows.template read<Shared>(one.ranking.ptr(), key_, sift)) return false;
            reader.lookup.build(judged, [](std::size_t, std::size_t) {});
            reader.locator.clear();
            for (const auto* each = reader.candidates.data(); each != candidate; ++each) {
                const std::size_t document = reader.lookup.find(judged, each->second, rows.id(each->first));
                if (document != Lookup::none) reader.locator.note(each->first, document);
            }
            reader.locator.locate(rows.keys(), by_id_, [&](std::size_t row) { return rows.id(row); }, part.hits);
        }
        part.rows += rows.size();
        part.segments.push_back({one.name, one.number, one.place, rows.size(), part.hits.size() - first});
        return true;
    }

    // Any keys and values, every fault.
    void read_anything(const Waiting& one) {
        Part part;
        std::uint64_t row = one.first_row;
        if (!one.named) {
            part.faults.add(row + 1, "id", {}, shown(one.query));
            tally_.add(part);
            return;
        }
        Group group;
        for (const auto& [id, score] : items_of(one.ranking)) {
            ++row;
            Text name;
            if (!encode(id, name)) {
                part.faults.add(row, "id", one.name, shown(id));
            } else if (const std::optional<double> value = number(score); !value) {
                part.faults.add(row, "score", one.name, shown(score));
            } else if (std::isnan(*value)) {
                part.faults.add(row, "nan", one.name, "nan");
            } else {
                group.add(name, key_of(key_, *value, row), row);
            }
        }
        Finisher(index_, by_id_).finish(group, one.name, one.number, part);
        part.rows = row - one.first_row;
        part.segments.push_back({one.name, one.number, one.place, group.size(), part.hits.size()});
        tally_.add(part);
    }

    // The text lives as long as the id, or until what waits is done.
    bool encode(const nb::object& id, Text& name) {
        if (!PyUnicode_Check(id.ptr())) return false;
        Py_ssize_t size = 0;
        if (const char* const text = PyUnicode_AsUTF8AndSize(id.ptr(), &size); text != nullptr) {
            name = {text, static_cast<std::size_t>(size)};
            return true;
        }
        PyErr_Clear();
        const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(id.ptr(), "utf-8", "surrogateescape"));
        if (!encoded.is_valid()) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
            PyErr_Clear();
            return false;
        }
        const auto length = static_cast<std::size_t>(PyBytes_Size(encoded.ptr()));
        name = names_.emplace_back(PyBytes_AsString(encoded.ptr()), length);
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

    static constexpr std::size_t portion = std::size_t{1} << 20;  // rows between two looks for an interrupt
    static constexpr std::size_t worth_sharing = std::size_t{1} << 13;
    static constexpr std::size_t enough_hits = std::size_t{1} << 12;

    const Index& index_;
    const Key key_;
    const bool by_id_;
    Tally& tally_;
    Crew& crew_;
    std::vector<Waiting> waiting_;
    std::deque<std::string> names_;
    std::uint64_t rows_ = 0;       // of the queries taken
    std::uint64_t first_row_ = 0;  // of those that wait
    std::uint64_t queries_ = 0;
};

}  // namespace cranfield
