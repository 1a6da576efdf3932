// The Python face of the core: arrays in, dicts of arrays out. The contract is in cranfield/core.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <mutex>
#include <string>

#include "dict.hpp"
#include "nested.hpp"
#include "python.hpp"
#include "scan.hpp"
#include "table.hpp"
#include "text.hpp"
#include "words.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cranfield {
namespace {

std::size_t setting(const char* name, std::size_t usual) {
    const char* const text = std::getenv(name);
    if (text == nullptr) return usual;
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
    return error == std::errc() && *end == 0 && value != 0 ? value : usual;
}

std::size_t block_size() { return setting("CRANFIELD_BLOCK", std::size_t{1} << 20); }
unsigned crew_size() {
    return static_cast<unsigned>(std::min<std::size_t>(setting("CRANFIELD_THREADS", default_crew()), 64));
}

Key key_named(const std::string& name) {
    if (name == "score") return Key::score;
    if (name == "score32") return Key::score32;
    if (name == "rank") return Key::rank;
    throw nb::value_error("key must be \"score\", \"score32\" or \"rank\"");
}

void check_signals() {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

nb::dict result_of(Tally& tally) {
    nb::dict result;
    if (tally.faults().total() == 0) {
        // In one piece: making an array takes longer than filling it where there are few hits.
        static constexpr const char* names[] = {"query", "document", "start", "size", "by_id", "by_input"};
        const NewArray<std::int64_t> hits(nb::make_tuple(std::size(names), tally.hits()));
        tally.copy_hits(hits.data());
        for (std::size_t i = 0; i < std::size(names); ++i) result[names[i]] = hits.object()[i];
        auto [other, other_length] = tally.others();
        result["length"] = array(tally.lengths());
        result["other"] = pair(std::move(other));
        result["other_length"] = array(std::move(other_length));
        result["lines"] = tally.rows();
        result["tag"] = bytes(tally.tag());
    }
    add_faults(result, tally.faults());
    return result;
}

nb::dict join_text(const nb::callable& opener, const PythonIndex& index, const std::string& key, bool by_id) {
    TextJoin join(index.core, key_named(key), by_id, block_size());
    {
        Crew crew(crew_size(), check_signals);
        std::unique_ptr<Source> source = open_source(opener);
        {
            const nb::gil_scoped_release release;
            join.first_pass(*source, crew);
        }
        if (join.needs_second_pass()) {
            source = open_source(opener);
            const nb::gil_scoped_release release;
            join.second_pass(*source, crew);
        }
    }
    return result_of(join.tally());
}

nb::dict join_table(const Column& query, const Column& document, const Doubles& score, std::optional<Doubles> rank,
                    const PythonIndex& index, const std::string& key, bool by_id) {
    TableView table{view(query), view(document), span(score), std::nullopt};
    if (rank) table.rank = span(*rank);
    if (table.query.size() != table.score.size() || table.document.size() != table.score.size() ||
        (rank && table.rank->size() != table.score.size())) {
        throw nb::value_error("the columns of a table must be equally long");
    }
    const Key chosen = key_named(key);
    Tally tally(index.core);
    {
        Crew crew(crew_size(), check_signals);
        const nb::gil_scoped_release release;
        join_columns(table, index.core, chosen, by_id, tally, crew);
    }
    return result_of(tally);
}

nb::dict join_dict(const nb::object& mapping, const PythonIndex& index, const std::string& key, bool by_id) {
    Tally tally(index.core);
    Crew crew(crew_size(), [] {});
    DictJoin(index.core, key_named(key), by_id, tally, crew).join(mapping);
    return result_of(tally);
}

template <std::size_t Width, class Columns>
void scan_file(const nb::callable& opener, Columns& columns) {
    // One thread: lines are appended in order, and codes are given as queries appear.
    Crew crew(1, check_signals);
    const std::unique_ptr<Source> source = open_source(opener);
    const nb::gil_scoped_release release;
    scan<Width>(*source, block_size(), crew, columns);
}

nb::dict scan_qrels(const nb::callable& opener) {
    QrelsColumns columns;
    scan_file<4>(opener, columns);
    nb::dict result;
    if (columns.faults.total() == 0) {
        result["query"] = pair(columns.query.take());
        result["iteration"] = pair(columns.iteration.take());
        result["query_of"] = array(std::move(columns.query_of));
        result["iteration_of"] = array(std::move(columns.iteration_of));
        result["document"] = pair(std::move(columns.document));
        result["grade"] = array(std::move(columns.grade));
        result["line"] = array(std::move(columns.line));
    }
    add_faults(result, columns.faults);
    return result;
}

nb::dict scan_run(const nb::callable& opener) {
    RunColumns columns;
    scan_file<6>(opener, columns);
    nb::dict result;
    if (columns.faults.total() == 0) {
        result["query"] = pair(columns.query.take());
        result["query_of"] = array(std::move(columns.query_of));
        result["document"] = pair(std::move(columns.document));
        result["rank"] = array(std::move(columns.rank));
        result["score"] = array(std::move(columns.score));
        result["line"] = array(std::move(columns.line));
        result["tag"] = bytes(columns.tag);
    }
    add_faults(result, columns.faults);
    return result;
}

nb::object scan_nested(const nb::object& mapping) {
    NestedColumns columns;
    if (!columns.read(mapping)) return nb::none();
    nb::dict result;
    result["query"] = pair(std::move(columns.query));
    result["begin"] = array(std::move(columns.begin));
    result["document"] = pair(std::move(columns.document));
    result["grade"] = array(std::move(columns.grade));
    return result;
}

// Locked, because the GIL is not held while words are counted.
struct PythonWords {
    Words core;
    std::mutex mutex;

    PythonWords(const Octets& kinds, bool lower)
        : core(std::vector<std::uint8_t>(kinds.data(), kinds.data() + kinds.size()), lower) {}

    nb::dict add(const Column& texts, const Integers& keep) {
        const StringsView rows = view(texts);
        KeptWords found;
        {
            const nb::gil_scoped_release release;
            const std::lock_guard lock(mutex);
            core.add(rows, keep.data(), keep.data() + keep.size(), found);
        }
        nb::dict result;
        result["length"] = array(std::move(found.length));
        result["begin"] = array(std::move(found.begin));
        result["word"] = array(std::move(found.word));
        result["count"] = array(std::move(found.count));
        return result;
    }

    nb::object merge(PythonWords& other) {
        if (&other == this) throw nb::value_error("words cannot be merged with themselves");
        std::vector<std::int64_t> numbers;
        {
            const nb::gil_scoped_release release;
            const std::scoped_lock lock(mutex, other.mutex);
            numbers = core.merge(other.core);
        }
        return array(std::move(numbers));
    }

    nb::object columns() {
        std::unique_lock lock(mutex, std::defer_lock);
        {
            const nb::gil_scoped_release release;
            lock.lock();
        }
        Strings texts = core.texts();
        std::vector<std::int64_t> counts = core.counts();
        lock.unlock();
        return nb::make_tuple(pair(std::move(texts)), array(std::move(counts)));
    }
};

}  // namespace
}  // namespace cranfield

NB_MODULE(_core, m) {
    using namespace cranfield;
    m.doc() = "Bytes to columns; ids joined; positions found. The contract is in cranfield.core.";
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const std::system_error& failure) {
            // As Python's own file functions raise it.
            PyErr_SetObject(PyExc_OSError,
                            nb::make_tuple(failure.code().value(), failure.code().message().c_str()).ptr());
        }
    });
    Numpy::load();
    nb::class_<PythonIndex>(m, "Index")
        .def(nb::init<const Column&, const Integers&, const Column&>(), "queries"_a, "begin"_a, "documents"_a);
    nb::class_<PythonWords>(m, "Words")
        .def(nb::init<const Octets&, bool>(), "kinds"_a, "lower"_a)
        .def("add", &PythonWords::add, "texts"_a, "keep"_a)
        .def("merge", &PythonWords::merge, "other"_a)
        .def("columns", &PythonWords::columns);
    m.def("scan_qrels", &scan_qrels, "opener"_a);
    m.def("scan_run", &scan_run, "opener"_a);
    m.def("scan_nested", &scan_nested, "mapping"_a);
    m.def("join_text", &join_text, "opener"_a, "index"_a, "key"_a, "by_id"_a);
    m.def("join_table", &join_table, "query"_a, "document"_a, "score"_a, "rank"_a.none(), "index"_a, "key"_a,
          "by_id"_a);
    m.def("join_dict", &join_dict, "mapping"_a, "index"_a, "key"_a, "by_id"_a);
}
