// Runs and judgments that are dicts of dicts, and runs that are dicts of lists of ids.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <span>

#include "grouped.hpp"
#include "python.hpp"

// The rows of a ranking that is a dict, read without running Python code.
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
CRANFIELD_APART bool read_any_id(PyObject* id, Text& text) {
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
CRANFIELD_INLINE bool read_id(PyObject* id, Text& text) {
    if (Py_TYPE(id) != &PyUnicode_Type) return false;
#if !defined(Py_LIMITED_API)
    if (PyUnicode_IS_COMPACT_ASCII(id)) {
        text = {static_cast<const char*>(PyUnicode_DATA(id)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(id))};
        return true;
    }
#endif
    return !Shared && read_any_id(id, text);
}

CRANFIELD_APART bool read_any_number(PyObject* score, double& value) {
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

template <bool Shared>
CRANFIELD_INLINE bool read_number(PyObject* score, double& value) {
#if !defined(Py_LIMITED_API)
    if (Py_TYPE(score) == &PyFloat_Type) {
        value = PyFloat_AS_DOUBLE(score);
        return true;
    }
#endif
    return !Shared && read_any_number(score, value);
}

// The ids of a list or tuple, best first; other rankings are dicts.
inline bool is_list(PyObject* ranking) { return PyList_Check(ranking) || PyTuple_Check(ranking); }

inline std::size_t length_of(PyObject* ranking) {
    if (PyList_Check(ranking)) return static_cast<std::size_t>(PyList_Size(ranking));
    if (PyTuple_Check(ranking)) return static_cast<std::size_t>(PyTuple_Size(ranking));
    return static_cast<std::size_t>(PyDict_Size(ranking));
}

inline PyObject* list_item(PyObject* ranking, std::size_t row) {
    const auto i = static_cast<Py_ssize_t>(row);
#if defined(Py_LIMITED_API)
    return PyList_Check(ranking) ? PyList_GetItem(ranking, i) : PyTuple_GetItem(ranking, i);
#else
    return PyList_Check(ranking) ? PyList_GET_ITEM(ranking, i) : PyTuple_GET_ITEM(ranking, i);
#endif
}

// The score of a row of a list: the first row has the highest.
inline double list_score(std::size_t row) { return -static_cast<double>(row); }

class DictRows {
public:
    // Reads a list, or an exact dict if all ids and scores can be read and no score is NaN. The candidates are the rows
    // for whose id `passes` gives 1 and not 0.
    template <bool Shared, class Passes>
    bool read(PyObject* ranking, Passes passes) {
        const std::size_t length = length_of(ranking);
        if (ids_.size() <= length) {
            ids_.resize(length + 1);
            scores_.resize(length + 1);
            candidates_.resize(length + 1);
        }
        size_ = passed_ = 0;
        return is_list(ranking) ? read_list<Shared>(ranking, length, passes) : read_dict<Shared>(ranking, passes);
    }

    std::size_t size() const { return size_; }
    Text id(std::size_t row) const { return ids_[row]; }
    std::uint64_t hash(std::size_t row) const { return hashes_[row]; }  // lists only
    std::span<const double> scores() const { return {scores_.data(), size_}; }
    std::span<const std::uint32_t> candidates() const { return {candidates_.data(), passed_}; }
    std::size_t weight() const {
        return ids_.capacity() * (sizeof(Text) + sizeof(double) + sizeof(std::uint32_t)) +
               hashes_.capacity() * sizeof(std::uint64_t);
    }

private:
    static constexpr std::size_t ahead = 16;  // rows of a list whose ids are on their way from memory

    template <bool Shared, class Passes>
    bool read_list(PyObject* list, std::size_t length, Passes passes) {
        if (hashes_.size() < length) hashes_.resize(length);
        std::size_t passed = 0;
        for (std::size_t row = 0; row < length; ++row) {
            if (row + ahead < length) {  // an id has a header and, on the next cache line, its text
                const auto* const next = reinterpret_cast<const char*>(list_item(list, row + ahead));
                prefetch(next);
                prefetch(next + 64);
            }
            if (!read_id<Shared>(list_item(list, row), ids_[row])) return false;
            scores_[row] = list_score(row);
            hashes_[row] = cranfield::hash(ids_[row]);
            candidates_[passed] = static_cast<std::uint32_t>(row);
            passed += passes(ids_[row]);
        }
        size_ = length;
        passed_ = passed;
        return true;
    }

    template <bool Shared, class Passes>
    bool read_dict(PyObject* dict, Passes passes) {
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

    std::vector<Text> ids_;
    std::vector<std::uint64_t> hashes_;
    std::vector<double> scores_;
    std::vector<std::uint32_t> candidates_;
    std::size_t size_ = 0, passed_ = 0;
};

}  // namespace cranfield

// Judgments that are a dict of dicts, as columns.
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

// The passages of {query: [(document, start, end), ...]}, with a number as the fourth value of all of them or of none.
struct PassageColumns {
    static constexpr long long longest = 100'000'000'000;  // the highest offset

    Strings query;
    Ids names;
    std::vector<std::int64_t> begin{0}, document, start, end;
    std::vector<double> value;

    // False, with the columns half filled, where there is something other than ids, offsets and numbers.
    bool read(const nb::object& mapping) {
        if (!PyDict_CheckExact(mapping.ptr())) return false;
        for (const auto& [name, passages] : items_of(mapping)) {
            Text text;
            PyObject* const list = passages.ptr();
            const Py_ssize_t size = size_of(list);
            if (!read_id<false>(name.ptr(), text) || size < 0) return false;
            query.add(text);
            for (Py_ssize_t i = 0; i < size; ++i) {
                if (!read_passage(item_of(list, i))) return false;
            }
            begin.push_back(static_cast<std::int64_t>(document.size()));
        }
        return value.empty() || value.size() == document.size();
    }

private:
    // Of a list or a tuple; -1 for everything else.
    static Py_ssize_t size_of(PyObject* items) {
        if (PyTuple_CheckExact(items)) return PyTuple_Size(items);
        return PyList_CheckExact(items) ? PyList_Size(items) : -1;
    }

    static PyObject* item_of(PyObject* items, Py_ssize_t at) {
        return PyTuple_CheckExact(items) ? PyTuple_GetItem(items, at) : PyList_GetItem(items, at);
    }

    bool read_passage(PyObject* passage) {
        const Py_ssize_t width = size_of(passage);
        Text text;
        std::int64_t first = 0, last = 0;
        if ((width != 3 && width != 4) || !read_id<false>(item_of(passage, 0), text) || text.empty()) return false;
        if (!read_offset(item_of(passage, 1), first) || !read_offset(item_of(passage, 2), last)) return false;
        if (last < first) return false;
        if (width == 4) {
            double number = 0;
            if (!read_number<false>(item_of(passage, 3), number) || std::isnan(number)) return false;
            value.push_back(number);
        }
        document.push_back(names.number(text));
        start.push_back(first);
        end.push_back(last);
        return true;
    }

    static bool read_offset(PyObject* object, std::int64_t& offset) {
        if (!PyLong_CheckExact(object)) return false;
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
        offset = number;
        return overflow == 0 && number >= 0 && number <= longest;
    }
};

// The id of each passage: its document, a colon, and both offsets, as in d7:120-320.
inline Strings passage_ids(const StringsView& names, std::span<const std::int64_t> document,
                           std::span<const std::int64_t> start, std::span<const std::int64_t> end) {
    Strings ids;
    ids.offsets.reserve(document.size() + 1);
    ids.bytes.reserve(document.size() * 16);
    std::array<char, 48> digits;
    for (std::size_t row = 0; row < document.size(); ++row) {
        const Text name = names[static_cast<std::size_t>(document[row])];
        ids.bytes.insert(ids.bytes.end(), name.begin(), name.end());
        char* at = digits.data();
        char* const limit = at + digits.size();
        *at++ = ':';
        at = std::to_chars(at, limit, start[row]).ptr;
        *at++ = '-';
        at = std::to_chars(at, limit, end[row]).ptr;
        ids.add({digits.data(), static_cast<std::size_t>(at - digits.data())});
    }
    return ids;
}

}  // namespace cranfield

// Joins a run that is a dict of dicts or lists.
//
// A dict cannot repeat an id; a list can, and is checked for it. So the judged ids are what is hashed into a table, which is small, and each ranking's ids
// are looked up there as they pass a filter. The objects lie all over the memory, so that reading them is mostly waiting for it;
// several threads wait at the same time. The caller holds the GIL all the while and runs no Python code meanwhile.
namespace cranfield {

class DictJoin {
public:
    DictJoin(const Index& index, const Settings& settings, Tally& tally, Crew& crew)
        : index_(index), settings_(settings), tally_(tally), crew_(crew) {}

    void join(const nb::object& mapping) {
        for (auto& [query, ranking] : items_of(as_dict(mapping))) {
            take(std::move(query), is_list(ranking.ptr()) ? std::move(ranking) : as_dict(ranking));
            if (rows_ - first_row_ >= portion) join_pending();
        }
        join_pending();
    }

private:
    // A query whose ranking has not been read yet.
    struct Pending {
        nb::object query, ranking;
        std::uint64_t place;      // among the queries, from 1
        std::uint64_t first_row;  // rows before its own
        bool named = false;
        Text name{};
        std::uint32_t number = Ids::none;
        bool done = false;
    };

    void take(nb::object query, nb::object ranking) {
        pending_.push_back({std::move(query), std::move(ranking), ++queries_, rows_});
        Pending& entry = pending_.back();
        rows_ += static_cast<std::uint64_t>(length_of(entry.ranking.ptr()));
        entry.named = encode(entry.query, entry.name);
        if (entry.named) entry.number = index_.find(entry.name);
    }

    void join_pending() {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (threads_can_read && rows_ - first_row_ >= worth_sharing) {
            std::atomic<std::size_t> turn = 0;
            crew_.run([&] { read_all<true>(turn); }, Crew::Caller::works);
        }
        std::atomic<std::size_t> turn = 0;
        read_all<false>(turn);
        for (const Pending& entry : pending_) {
            if (!entry.done) read_anything(entry);
        }
        pending_.clear();
        names_.clear();
        first_row_ = rows_;
    }

    // What it takes to read rankings entry after the other.
    struct Reader {
        DictRows rows;
        std::vector<std::uint64_t> filter_words;
        Lookup lookup;
        Locator locator;
        Part part;

        std::size_t weight() const {
            return rows.weight() + lookup.weight() + locator.weight() + part.weight();
        }
    };

    template <bool Shared>
    void read_all(std::atomic<std::size_t>& turn) {
        const Borrowed<Reader> reader;
        reader->part.clear();
        for (std::size_t i = turn++; i < pending_.size(); i = turn++) {
            Pending& entry = pending_[i];
            if (entry.done || !entry.named) continue;
            entry.done = read<Shared>(*reader, entry);
            if (reader->part.size() >= enough) {
                tally_.add(reader->part);
                reader->part.clear();
            }
        }
        tally_.add(reader->part);
    }

    // False where Python has to read.
    template <bool Shared>
    bool read(Reader& reader, const Pending& entry) {
        reader.locator.clear(0);
        const bool done = entry.number == Ids::none
                              ? reader.rows.template read<Shared>(entry.ranking.ptr(), [](Text) { return 0u; })
                              : find_judged<Shared>(reader, entry);
        if (!done) return false;
        const DictRows& rows = reader.rows;
        if (is_list(entry.ranking.ptr()) && repeats_an_id(reader)) return false;
        const auto id_of = [&](std::size_t row) { return rows.id(row); };
        reader.locator.locate(rows.scores(), {}, settings_, id_of, reader.part.found);
        reader.part.rows += rows.size();
        reader.part.close_segment(entry.name, entry.number, entry.place, rows.size());
        return true;
    }

    static bool repeats_an_id(Reader& reader) {
        bool repeated = false;
        reader.lookup.build(reader.rows, [&](std::size_t, std::size_t) { repeated = true; });
        return repeated;
    }

    template <bool Shared>
    bool find_judged(Reader& reader, const Pending& entry) {
        DictRows& rows = reader.rows;
        const JudgedRows judged = index_.judged(entry.number);
        const Filter filter(judged, reader.filter_words);
        const auto passes = [filter](Text id) { return filter.passes(id); };
        if (!rows.template read<Shared>(entry.ranking.ptr(), passes)) return false;
        reader.lookup.build(judged, [](std::size_t, std::size_t) {});
        reader.locator.clear(rows.candidates().size());
        for (const std::uint32_t row : rows.candidates()) {
            const std::size_t document = reader.lookup.find(judged, hash(rows.id(row)), rows.id(row));
            if (document != Lookup::none) reader.locator.note(row, document);
        }
        return true;
    }

    // Any keys and values, every fault.
    void read_anything(const Pending& entry) {
        Part part(settings_.most_faults);
        std::uint64_t row = entry.first_row;
        if (!entry.named) {
            part.faults.add(row + 1, "id", {}, shown(entry.query));
            tally_.add(part);
            return;
        }
        // Kept to the end: what runs here may take rows out of the ranking.
        const auto items = is_list(entry.ranking.ptr()) ? ranked_items(entry.ranking) : items_of(entry.ranking);
        Group group;
        for (const auto& [id, score] : items) {
            ++row;
            Text name;
            if (!encode(id, name)) {
                part.faults.add(row, "id", entry.name, shown(id));
            } else if (const std::optional<double> value = number(score); !value) {
                part.faults.add(row, "score", entry.name, shown(score));
            } else if (std::isnan(*value)) {
                part.faults.add(row, "nan", entry.name, "nan");
            } else {
                group.add(name, *value, 0, row);
            }
        }
        Finisher(index_, settings_).finish(group, entry.name, entry.number, entry.place, part);
        part.rows = row - entry.first_row;
        tally_.add(part);
    }

    // The ids of a list with scores, kept alive whatever becomes of it.
    static std::vector<std::pair<nb::object, nb::object>> ranked_items(const nb::object& list) {
        std::vector<std::pair<nb::object, nb::object>> items;
        items.reserve(length_of(list.ptr()));
        for (std::size_t row = 0; row < length_of(list.ptr()); ++row) {
            items.emplace_back(nb::borrow(list_item(list.ptr(), row)), nb::float_(list_score(row)));
        }
        return items;
    }

    // The text lives as long as the id, or until the pending queries are joined.
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
    static constexpr std::size_t enough = std::size_t{1} << 12;  // hits to hand over together

    const Index& index_;
    const Settings& settings_;
    Tally& tally_;
    Crew& crew_;
    std::vector<Pending> pending_;
    std::deque<std::string> names_;
    std::uint64_t rows_ = 0;       // of the queries taken
    std::uint64_t first_row_ = 0;  // of the pending ones
    std::uint64_t queries_ = 0;
};

}  // namespace cranfield
