// The Python face of the core: arrays in, dicts of arrays out. The contract is in cranfield/native.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>

#include "dict.hpp"
#include "fields.hpp"
#include "fixed.hpp"
#include "program.hpp"
#include "python.hpp"
#include "resampling.hpp"
#include "row_math.hpp"
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

// Blocks grow by doubling, so that a very large one could exceed what a size can hold.
std::size_t block_size() {
    return std::min(setting("CRANFIELD_BLOCK", std::size_t{1} << 20), std::size_t{1} << 26);
}
unsigned crew_size() {
    return static_cast<unsigned>(std::min<std::size_t>(setting("CRANFIELD_THREADS", default_crew()), 64));
}

Settings settings_of(const nb::sequence& names, bool by_id, std::int64_t top, std::size_t most_faults) {
    static constexpr const char* wrong = "keys must be one or more of \"score\", \"score32\" and \"rank\", each once";
    Settings settings{{}, by_id, static_cast<std::size_t>(top), most_faults};
    for (nb::handle name : names) {
        const auto is = [&](const char* known) { return name.equal(nb::str(known)); };
        if (!is("score") && !is("score32") && !is("rank")) throw nb::value_error(wrong);
        const Key key = is("score") ? Key::score : is("score32") ? Key::score32 : Key::rank;
        if (std::count(settings.keys.begin(), settings.keys.end(), key) != 0) throw nb::value_error(wrong);
        settings.keys.push_back(key);
    }
    if (settings.keys.empty()) throw nb::value_error(wrong);
    if (top < 0) throw nb::value_error("top must not be negative");
    return settings;
}

void check_signals() {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// The columns of a two-dimensional array, which is one piece of memory: making an array takes longer than filling it
// where it is short.
nb::dict columns_of(const NewArray<std::int64_t>& array, const std::array<const char*, Tally::columns>& names) {
    nb::dict columns;
    for (std::size_t i = 0; i < names.size(); ++i) columns[names[i]] = array.object()[i];
    return columns;
}

nb::dict result_of(Tally& tally, const Settings& settings) {
    nb::dict result;
    if (tally.faults().total() == 0) {
        nb::list hits, tops;
        for (std::size_t key = 0; key < settings.keys.size(); ++key) {
            const NewArray<std::int64_t> array(nb::make_tuple(Tally::columns, tally.hits()));
            tally.copy_hits(key, array.data());
            hits.append(columns_of(array, {"query", "document", "start", "size", "by_id", "by_input"}));
        }
        result["hits"] = hits;
        for (std::size_t key = 0; key < settings.keys.size() && settings.top != 0; ++key) {
            const NewArray<std::int64_t> array(nb::make_tuple(Tally::columns, tally.tops(key)));
            Strings ids = tally.copy_tops(key, array.data());
            nb::dict columns = columns_of(array, {"query", "judged", "start", "size", "by_id", "by_input"});
            columns["document"] = pair(std::move(ids));
            tops.append(columns);
        }
        if (settings.top != 0) result["tops"] = tops;
        auto [other, other_length] = tally.others();
        result["length"] = array(tally.lengths());
        result["other"] = pair(std::move(other));
        result["other_length"] = array(std::move(other_length));
        result["lines"] = tally.rows();
        result["ranks_compared"] = tally.ranks().compared;
        result["ranks_contradicted"] = tally.ranks().contradicted;
        result["tag"] = bytes(tally.tag());
    }
    add_faults(result, tally.faults());
    return result;
}

nb::dict join_text(const nb::callable& opener, const PythonIndex& index, const nb::sequence& keys, bool by_id,
                   std::int64_t top, std::size_t most) {
    const Settings settings = settings_of(keys, by_id, top, most);
    TextJoin join(index.core, settings, block_size());
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
    return result_of(join.tally(), settings);
}

nb::dict join_table(const Column& query, const Column& document, const Doubles& score, std::optional<Doubles> rank,
                    const PythonIndex& index, const nb::sequence& keys, bool by_id, std::int64_t top,
                    std::size_t most) {
    TableView table{view(query), view(document), span(score), std::nullopt};
    if (rank) table.rank = span(*rank);
    if (table.query.size() != table.score.size() || table.document.size() != table.score.size() ||
        (rank && table.rank->size() != table.score.size())) {
        throw nb::value_error("the columns of a table must be equally long");
    }
    const Settings settings = settings_of(keys, by_id, top, most);
    Tally tally(index.core, settings);
    {
        Crew crew(crew_size(), check_signals);
        const nb::gil_scoped_release release;
        join_columns(table, index.core, settings, tally, crew);
    }
    return result_of(tally, settings);
}

nb::dict join_dict(const nb::object& mapping, const PythonIndex& index, const nb::sequence& keys, bool by_id,
                   std::int64_t top, std::size_t most) {
    const Settings settings = settings_of(keys, by_id, top, most);
    Tally tally(index.core, settings);
    Crew crew(crew_size(), [] {});
    DictJoin(index.core, settings, tally, crew).join(mapping);
    return result_of(tally, settings);
}

nb::list locate(const Column& document, const Integers& begin, const Integers& row, const Integers& judged,
                const Doubles& score, std::optional<Doubles> rank, const nb::sequence& keys, bool by_id) {
    FixedView fixed{view(document),
                    {begin.data(), begin.size()},
                    {row.data(), row.size()},
                    {judged.data(), judged.size()},
                    span(score),
                    std::nullopt};
    if (rank) fixed.rank = span(*rank);
    if (fixed.document.size() != fixed.score.size() || fixed.row.size() != fixed.judged.size() ||
        (rank && fixed.rank->size() != fixed.score.size())) {
        throw nb::value_error("the columns of documents must be equally long");
    }
    const Settings settings = settings_of(keys, by_id, 0, Faults::usual);
    nb::list hits;
    std::array<std::int64_t*, most_keys> into{};
    std::vector<std::unique_ptr<NewArray<std::int64_t>>> arrays;
    for (std::size_t key = 0; key < settings.keys.size(); ++key) {
        arrays.push_back(std::make_unique<NewArray<std::int64_t>>(nb::make_tuple(Tally::columns, row.size())));
        into[key] = arrays[key]->data();
        hits.append(columns_of(*arrays[key], {"query", "document", "start", "size", "by_id", "by_input"}));
    }
    {
        const nb::gil_scoped_release release;
        locate_fixed(fixed, settings, into);
    }
    return hits;
}

nb::object first_rows(const Integers& group, const Column& ids) {
    const StringsView texts = view(ids);
    const std::span<const std::int64_t> groups(group.data(), group.size());
    const auto rows = static_cast<std::int64_t>(groups.size());
    if (texts.size() != groups.size()) throw nb::value_error("every row must have a group and an id");
    const NewArray<std::int64_t> first{nb::int_(rows)};
    std::iota(first.data(), first.data() + rows, 0);
    if (rows == 0) return first.object();
    const auto [lowest, highest] = std::ranges::minmax(groups);
    if (lowest < 0 || highest >= rows) throw nb::value_error("groups must be numbered below the number of rows");
    const auto note = [&](std::uint64_t row, std::uint64_t earlier) {
        first.data()[row] = static_cast<std::int64_t>(earlier);
    };
    {
        const nb::gil_scoped_release release;
        find_repeats(groups, static_cast<std::size_t>(highest) + 1, texts, note);
    }
    return first.object();
}

nb::object split_columns(const nb::bytes& lines, char delimiter, std::size_t width, std::size_t longest) {
    std::optional<std::vector<Strings>> columns;
    {
        const nb::gil_scoped_release release;
        columns = split_fields({lines.c_str(), lines.size()}, delimiter, width, longest);
    }
    if (!columns) return nb::none();
    nb::list pairs;
    for (Strings& column : *columns) pairs.append(pair(std::move(column)));
    return pairs;
}

nb::object numbers_of(const Column& column) {
    const StringsView texts = view(column);
    const NewArray<double> numbers{nb::int_(texts.size())};
    const char* const end = texts.bytes + column.second.size();
    return parse_numbers(texts, end, numbers.data()) ? numbers.object() : nb::none();
}

using FloatTable = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using IntegerTable = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::device::cpu>;

template <class Element, class Table>
MatrixView<Element> matrix_view(const Table& table) {
    return {table.data(), table.shape(0), table.shape(1), table.stride(0), table.stride(1)};
}

// New numbers, one for each row or cell of a table; large tables are summed without holding up other threads.
template <class Sum>
nb::object sums_of(const nb::object& shape, std::size_t cells, Sum&& sum) {
    const NewArray<double> sums(shape);
    if (cells < std::size_t{1} << 16) {
        sum(sums.data());
    } else {
        const nb::gil_scoped_release release;
        sum(sums.data());
    }
    return sums.object();
}

nb::object sum_rows(const FloatTable& table) {
    const auto view = matrix_view<double>(table);
    return sums_of(nb::int_(view.rows), table.size(), [&](double* out) { row_sums(view, out); });
}

nb::object add_up(const FloatTable& table) {
    const auto view = matrix_view<double>(table);
    const nb::object shape = nb::make_tuple(view.rows, view.columns);
    return sums_of(shape, table.size(), [&](double* out) { running_sums(view, out); });
}

template <class Sum>
nb::object sum_gains(const FloatTable& gain, const IntegerTable& start, const Doubles& weights, std::int64_t k,
                     Sum&& sum) {
    const auto gains = matrix_view<double>(gain);
    const auto starts = matrix_view<std::int64_t>(start);
    if (gains.rows != starts.rows || gains.columns != starts.columns) {
        throw nb::value_error("gains and positions must have one shape");
    }
    const RankWeights weight(span(weights), k);
    return sums_of(nb::int_(gains.rows), gain.size(), [&](double* out) { sum(gains, starts, weight, out); });
}

nb::object sum_weighted(const FloatTable& gain, const IntegerTable& start, const Doubles& weights, std::int64_t k) {
    return sum_gains(gain, start, weights, k, weighted_sums);
}

nb::object sum_cumulated(const FloatTable& gain, const IntegerTable& start, const Doubles& weights, std::int64_t k) {
    return sum_gains(gain, start, weights, k, cumulated_sums);
}

nb::object sum_preferences(const FloatTable& gain, const FloatTable& grade, const Doubles& limit,
                           const Doubles& pairs) {
    const auto gains = matrix_view<double>(gain), grades = matrix_view<double>(grade);
    if (gains.rows != grades.rows || gains.columns != grades.columns || limit.size() != gains.rows ||
        pairs.size() != gains.rows) {
        throw nb::value_error("gains and grades must have one shape, and every row a limit and a number of pairs");
    }
    return sums_of(nb::int_(gains.rows), gain.size(),
                   [&](double* out) { preference_sums(gains, grades, span(limit), span(pairs), out); });
}

nb::tuple tabulate(const Integers& row, const Integers& document, const Integers& start, std::optional<Octets> keep,
                   const Doubles& grade, std::int64_t rankings) {
    if (document.size() != row.size() || start.size() != row.size() || rankings < 0) {
        throw nb::value_error("the columns of documents must be equally long");
    }
    const std::span<const std::int64_t> rows(row.data(), row.size()), documents(document.data(), document.size());
    std::span<const std::uint8_t> chosen;
    if (keep) chosen = {keep->data(), keep->size()};
    const auto many = static_cast<std::size_t>(rankings);
    Kept kept(rows, documents, chosen, !keep, many);
    const std::size_t width = kept.width;
    const bool by_column = width <= narrow;
    const nb::object shape = nb::make_tuple(many, width), laid_out = by_column ? nb::make_tuple(width, many) : shape;
    const NewArray<std::int64_t> at{nb::int_(kept.rows.size())}, starts(laid_out);
    const NewArray<double> grades(laid_out);
    std::fill_n(starts.data(), many * width, 0);
    std::fill_n(grades.data(), many * width, std::numeric_limits<double>::quiet_NaN());
    std::int64_t ranking = -1;
    std::size_t cell = 0;
    const std::size_t step = by_column ? many : 1;
    for (std::size_t i = 0; i < kept.rows.size(); ++i) {
        const auto from = static_cast<std::size_t>(kept.rows[i]);
        const auto judged = static_cast<std::size_t>(documents[from]);
        if (judged >= grade.size()) throw std::out_of_range("a document beyond the judgments");
        cell += step;
        if (rows[from] != ranking) {
            ranking = rows[from];
            cell = static_cast<std::size_t>(ranking) * (by_column ? 1 : width);
        }
        at.data()[i] = static_cast<std::int64_t>(cell);
        starts.data()[cell] = start.data()[from];
        grades.data()[cell] = grade.data()[judged];
    }
    const auto table = [&](const auto& values) {
        return by_column ? nb::object(values.object().attr("T")) : values.object();
    };
    return nb::make_tuple(array(std::move(kept.rows)), at.object(), shape, table(starts), table(grades));
}

nb::dict nest(const nb::tuple& rows, const nb::tuple& columns, const FloatTable& values) {
    const auto table = matrix_view<double>(values);
    if (table.rows != columns.size() || table.columns != rows.size()) {
        throw nb::value_error("there must be a value for each column and row");
    }
    nb::dict nested;
    for (std::size_t row = 0; row < table.columns; ++row) {
        nb::dict of_row;
        for (std::size_t column = 0; column < table.rows; ++column) {
            const nb::float_ value(table(column, row));
            if (PyDict_SetItem(of_row.ptr(), nb::handle(columns[column]).ptr(), value.ptr()) != 0) nb::raise_python_error();
        }
        if (PyDict_SetItem(nested.ptr(), nb::handle(rows[row]).ptr(), of_row.ptr()) != 0) nb::raise_python_error();
    }
    return nested;
}

using ContiguousTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntegerRows = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Pairs pairs_of(const ContiguousTable& table, const Integers& first, const Integers& second) {
    return {{first.data(), first.size()}, {second.data(), second.size()}, table.shape(0)};
}

nb::object differences_at_least(const ContiguousTable& table, const Integers& first, const Integers& second,
                                const Doubles& limit) {
    const Pairs pairs = pairs_of(table, first, second);
    if (limit.size() != pairs.size()) throw nb::value_error("every pair needs a limit");
    const NewArray<std::int64_t> counts{nb::int_(pairs.size())};
    {
        const nb::gil_scoped_release release;
        count_large(table.data(), table.shape(1), pairs, span(limit), counts.data());
    }
    return counts.object();
}

nb::object differences_below(const ContiguousTable& table, const Integers& first, const Integers& second,
                             const ContiguousTable& limits) {
    const Pairs pairs = pairs_of(table, first, second);
    if (limits.shape(0) != pairs.size() || limits.shape(1) != 2) throw nb::value_error("every pair needs two limits");
    const NewArray<std::int64_t> counts(nb::make_tuple(pairs.size(), 2));
    {
        const nb::gil_scoped_release release;
        count_below(table.data(), table.shape(1), pairs, {limits.data(), limits.size()}, counts.data());
    }
    return counts.object();
}

// Temporary arrays of a megabyte would otherwise be given back to the system, and their pages asked for again, each time.
void keep_freed_memory() {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
    mallopt(M_TOP_PAD, 16 << 20);
#endif
}

nb::object ranked_differences(const ContiguousTable& table, const Integers& first, const Integers& second,
                              const IntegerRows& ranks) {
    const Pairs pairs = pairs_of(table, first, second);
    if (ranks.shape(0) != pairs.size()) throw nb::value_error("every pair needs ranks");
    const NewArray<double> values(nb::make_tuple(ranks.shape(0), ranks.shape(1), 2));
    {
        const nb::gil_scoped_release release;
        order_statistics(table.data(), table.shape(1), pairs, {ranks.data(), ranks.size()}, values.data());
    }
    return values.object();
}

template <std::size_t Width, class Columns>
void scan_file(const nb::callable& opener, Columns& columns) {
    // One thread: lines are appended in order, and codes are given as queries appear.
    Crew crew(1, check_signals);
    const std::unique_ptr<Source> source = open_source(opener);
    const nb::gil_scoped_release release;
    scan<Width>(*source, block_size(), crew, columns);
}

nb::dict scan_qrels(const nb::callable& opener, std::size_t most) {
    QrelsColumns columns(most);
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

nb::dict scan_run(const nb::callable& opener, std::size_t most) {
    RunColumns columns(most);
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

nb::object scan_passages(const nb::object& mapping) {
    PassageColumns columns;
    if (!columns.read(mapping)) return nb::none();
    nb::dict result;
    result["query"] = pair(std::move(columns.query));
    result["begin"] = array(std::move(columns.begin));
    result["name"] = pair(columns.names.take());
    result["document"] = array(std::move(columns.document));
    result["start"] = array(std::move(columns.start));
    result["end"] = array(std::move(columns.end));
    if (!columns.value.empty()) result["value"] = array(std::move(columns.value));
    return result;
}

nb::object name_passages(const Column& names, const Integers& document, const Integers& start, const Integers& end) {
    const StringsView texts = view(names);
    if (start.size() != document.size() || end.size() != document.size()) {
        throw nb::value_error("columns must have the same length");
    }
    const std::span<const std::int64_t> rows(document.data(), document.size());
    for (const std::int64_t row : rows) {
        if (row < 0 || static_cast<std::size_t>(row) + 1 >= texts.offsets.size()) {
            throw nb::index_error("a document has no name");
        }
    }
    return pair(passage_ids(texts, rows, {start.data(), start.size()}, {end.data(), end.size()}));
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

// Measures that are a program, with the names of their queries and columns. The GIL is held all the time, and results
// are made of Python's objects only when all values are there.
class PythonProgram {
public:
    // `layouts`: key, order, gains, all, needs_order; `code`: operation and four numbers; `policy`: counted queries,
    // undefined values, lists, most rows, most bytes; `sums`: 0 for columns that are averaged, 1 for those that are
    // summed, 2 for others.
    PythonProgram(nb::object index, const nb::sequence& keys, bool by_id, const Integers& policy, const Doubles& grade,
                  const nb::list& gains, const IntegerRows& layouts, const nb::list& weights,
                  const nb::list& constants, const IntegerRows& code, const Doubles& literals,
                  const Integers& results, nb::tuple queries, nb::tuple labels, const Integers& sums)
        : owner_(std::move(index)), queries_(std::move(queries)), labels_(std::move(labels)),
          row_(named(labels_)), all_rows_(named(queries_)), sums_(sums.data(), sums.data() + sums.size()),
          core_(nb::cast<PythonIndex&>(owner_).core, settings_of(keys, by_id, 0, Faults::usual), policy_of(policy),
                vector(grade), vectors(gains), layouts_of(layouts), weights_of(weights), vectors(constants),
                code_of(code, literals), std::vector<std::size_t>(results.data(), results.data() + results.size())) {
        if (queries_.size() != core_.queries() || labels_.size() != core_.measures() || sums_.size() != labels_.size()) {
            throw nb::value_error("every query and every measure needs a name");
        }
    }

    PythonProgram(const PythonProgram&) = delete;
    PythonProgram& operator=(const PythonProgram&) = delete;

    // Each of these is None where the run is not one that the program can read.
    nb::object means(const nb::object& run) {
        const Borrowed<Program::Scratch> scratch;
        if (std::count(sums_.begin(), sums_.end(), other_summary) != 0 || !score(run, *scratch)) return nb::none();
        const std::optional<std::vector<double>> means = summaries(*scratch);
        return means ? nb::object(row(means->data())) : nb::none();
    }

    nb::object per_query(const nb::object& run) {
        const Borrowed<Program::Scratch> scratch;
        if (!score(run, *scratch)) return nb::none();
        // Kept before anything else is made: making objects may run code that empties the run.
        std::vector<nb::object> unjudged;
        for (const auto& segment : scratch->segments) {
            if (segment.query == core_.queries() && counted() == Counted::run) unjudged.push_back(nb::borrow(segment.name));
        }
        nb::dict nested = counted() == Counted::judged ? copy_of(all_rows_) : nb::dict();
        const double* const unanswered = counted() == Counted::judged ? core_.unanswered(*scratch) : nullptr;
        if (counted() == Counted::judged && unanswered == nullptr) return nb::none();
        std::vector<double> values(core_.measures());
        std::size_t next = 0, others = 0;
        const auto add_until = [&](std::size_t query) {
            for (; unanswered != nullptr && next < query; ++next) {
                for (std::size_t m = 0; m < values.size(); ++m) values[m] = unanswered[m * core_.queries() + next];
                add(nested, queries_[next], values.data());
            }
        };
        for (std::size_t s = 0; s < scratch->segments.size(); ++s) {
            const std::size_t query = scratch->segments[s].query;
            const double* const of_segment = scratch->values.data() + s * values.size();
            add_until(query);
            next = query + 1;
            if (query < core_.queries()) add(nested, queries_[query], of_segment);
            if (query == core_.queries() && counted() == Counted::run) add(nested, unjudged[others++], of_segment);
        }
        add_until(core_.queries());
        return nested;
    }

    // Those of all judged queries, (measure, query).
    nb::object values(const nb::object& run) {
        const Borrowed<Program::Scratch> scratch;
        if (!score(run, *scratch)) return nb::none();
        const double* const unanswered = core_.unanswered(*scratch);
        if (unanswered == nullptr) return nb::none();
        const std::size_t judged = core_.queries(), measures = core_.measures();
        const NewArray<double> table(nb::make_tuple(measures, judged));
        std::copy(unanswered, unanswered + measures * judged, table.data());
        for (std::size_t s = 0; s < scratch->segments.size() && scratch->segments[s].query < judged; ++s) {
            for (std::size_t m = 0; m < measures; ++m) {
                table.data()[m * judged + scratch->segments[s].query] = scratch->values[s * measures + m];
            }
        }
        return table.object();
    }

private:
    static constexpr std::int64_t other_summary = 2;

    Counted counted() const { return core_.policy().counted; }

    // A run is a dict; an opener of TREC text; or a tuple of what has been joined: the columns of each key, and the
    // documents of judged and of other queries.
    bool score(const nb::object& run, Program::Scratch& scratch) {
        if (PyDict_CheckExact(run.ptr())) return core_.score(run.ptr(), scratch);
        if (!PyTuple_CheckExact(run.ptr())) return score_text(nb::cast<nb::callable>(run), scratch);
        std::vector<Integers> arrays;
        const auto numbers = [&](nb::handle array) {
            arrays.push_back(nb::cast<Integers>(array));
            return Numbers(arrays.back().data(), arrays.back().size());
        };
        std::vector<JoinedColumns> keys;
        for (nb::handle columns : nb::handle(run[0])) {
            JoinedColumns& key = keys.emplace_back();
            for (std::size_t i = 0; i < key.size(); ++i) key[i] = numbers(columns[i]);
        }
        return core_.score(keys, numbers(run[1]), numbers(run[2]), scratch);
    }

    // Large files are left to threads.
    bool score_text(const nb::callable& opener, Program::Scratch& scratch) {
        const std::unique_ptr<Source> source = open_source(opener);
        const std::size_t size = source->size();
        if (size == 0 || size > core_.policy().most_bytes) return false;
        constexpr std::size_t readable = 64;
        if (scratch.text.size() < size + 1 + readable) scratch.text.resize(size + 1 + readable);
        std::size_t read = 0;
        const std::atomic<bool> stop = false;
        while (read < size) {
            const std::size_t more = source->read(scratch.text.data() + read, size - read, stop);
            if (more == 0) return false;  // the file has become shorter
            read += more;
        }
        if (scratch.text[size - 1] != '\n') scratch.text[read++] = '\n';
        return core_.score(Text(scratch.text.data(), read), scratch);
    }

    // The mean or sum of each measure; nothing if a value is infinite.
    std::optional<std::vector<double>> summaries(Program::Scratch& scratch) {
        const std::size_t measures = core_.measures(), judged = core_.queries();
        const double* const unanswered = counted() == Counted::judged ? core_.unanswered(scratch) : nullptr;
        if (counted() == Counted::judged && unanswered == nullptr) return std::nullopt;
        const Undefined undefined = core_.policy().undefined;
        std::vector<double> means(measures);
        ExactSum sum;
        for (std::size_t m = 0; m < measures; ++m) {
            sum.clear();
            std::size_t many = 0, next = 0;
            bool finite = true;
            const auto add = [&](double value) {
                if (std::isnan(value)) {
                    if (undefined == Undefined::skip) return;
                    value = undefined == Undefined::one ? 1 : 0;
                }
                finite &= std::isfinite(value);
                sum.add(value);
                ++many;
            };
            const auto add_until = [&](std::size_t query) {
                for (; unanswered != nullptr && next < query; ++next) add(unanswered[m * judged + next]);
            };
            for (std::size_t s = 0; s < scratch.segments.size(); ++s) {
                const std::size_t query = scratch.segments[s].query;
                add_until(query);
                next = query + 1;
                if (query < judged || counted() == Counted::run) add(scratch.values[s * measures + m]);
            }
            add_until(judged);
            if (!finite) return std::nullopt;
            const double mean = sum.value() / static_cast<double>(many);
            means[m] = sums_[m] == 1 ? sum.value() : many == 0 ? std::numeric_limits<double>::quiet_NaN() : mean;
        }
        return means;
    }

    // A dict with these keys. A copy of one that has them all grows no more, and its keys are in order already.
    static nb::dict named(const nb::tuple& keys) {
        nb::dict dict;
        for (nb::handle key : keys) set(dict, key, nb::none());
        return dict;
    }

    static nb::dict copy_of(const nb::dict& dict) {
        PyObject* const copied = PyDict_Copy(dict.ptr());
        if (copied == nullptr) nb::raise_python_error();
        return nb::steal<nb::dict>(copied);
    }

    nb::dict row(const double* values) const {
        nb::dict row = copy_of(row_);
        for (std::size_t m = 0; m < core_.measures(); ++m) set(row, labels_[m], nb::float_(values[m]));
        return row;
    }

    void add(nb::dict& nested, nb::handle name, const double* values) const { set(nested, name, row(values)); }

    static void set(nb::dict& dict, nb::handle key, const nb::object& value) {
        if (PyDict_SetItem(dict.ptr(), key.ptr(), value.ptr()) != 0) nb::raise_python_error();
    }

    static std::vector<double> vector(const Doubles& values) { return {values.data(), values.data() + values.size()}; }

    static std::vector<std::vector<double>> vectors(const nb::list& arrays) {
        std::vector<std::vector<double>> copies;
        for (nb::handle array : arrays) copies.push_back(vector(nb::cast<Doubles>(array)));
        return copies;
    }

    static const std::int64_t* row_of(const IntegerRows& table, std::size_t row, std::size_t columns) {
        if (table.shape(1) != columns) throw nb::value_error("a row of a program has another length");
        return table.data() + row * columns;
    }

    static ProgramPolicy policy_of(const Integers& numbers) {
        if (numbers.size() != 5) throw nb::value_error("a policy has five numbers");
        const std::int64_t* const n = numbers.data();
        return {static_cast<Counted>(n[0]), static_cast<Undefined>(n[1]), n[2] != 0, static_cast<std::size_t>(n[3]),
                static_cast<std::size_t>(n[4])};
    }

    static std::vector<Layout> layouts_of(const IntegerRows& table) {
        std::vector<Layout> layouts;
        for (std::size_t i = 0; i < table.shape(0); ++i) {
            const std::int64_t* const n = row_of(table, i, 5);
            layouts.push_back({static_cast<std::size_t>(n[0]), static_cast<TieOrder>(n[1]),
                               static_cast<std::size_t>(n[2]), n[3] != 0, n[4] != 0});
        }
        return layouts;
    }

    static std::vector<WeightTables> weights_of(const nb::list& tables) {
        std::vector<WeightTables> weights;
        for (nb::handle table : tables) {
            auto columns = vectors(nb::cast<nb::list>(table));
            if (columns.size() != 3) throw nb::value_error("weights have three tables");
            weights.push_back({std::move(columns[0]), std::move(columns[1]), std::move(columns[2])});
        }
        return weights;
    }

    static std::vector<Instruction> code_of(const IntegerRows& table, const Doubles& literals) {
        if (literals.size() != table.shape(0)) throw nb::value_error("every step needs a literal");
        std::vector<Instruction> code;
        for (std::size_t i = 0; i < table.shape(0); ++i) {
            const std::int64_t* const n = row_of(table, i, 5);
            code.push_back({static_cast<Operation>(n[0]), n[1], n[2], n[3], n[4], literals.data()[i]});
        }
        return code;
    }

    const nb::object owner_;  // of the index
    const nb::tuple queries_, labels_;
    const nb::dict row_, all_rows_;
    const std::vector<std::int64_t> sums_;
    Program core_;
};

}  // namespace
}  // namespace cranfield

NB_MODULE(_core, m) {
#ifdef __GLIBC__
    // The allocator hands freed memory at its end back to the system, page by page, and asks for it again for the next
    // array, until the process has freed a large block once (mallopt(3), M_MMAP_THRESHOLD).
    void* volatile large = std::malloc(std::size_t{4} << 20);
    std::free(large);
#endif
    using namespace cranfield;
    nb::set_leak_warnings(false);  // what another library still holds when Python ends is nothing to tell a user
    m.doc() = "Bytes to columns; ids joined; positions found. The contract is in cranfield.native.";
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
    nb::class_<PythonProgram>(m, "Program")
        .def(nb::init<nb::object, const nb::sequence&, bool, const Integers&, const Doubles&, const nb::list&,
                      const IntegerRows&, const nb::list&, const nb::list&, const IntegerRows&, const Doubles&,
                      const Integers&, nb::tuple, nb::tuple, const Integers&>(),
             "index"_a, "keys"_a, "by_id"_a, "policy"_a, "grade"_a, "gains"_a, "layouts"_a, "weights"_a, "constants"_a,
             "code"_a, "literals"_a, "results"_a, "queries"_a, "labels"_a, "sums"_a)
        .def("means", &PythonProgram::means, "run"_a)
        .def("per_query", &PythonProgram::per_query, "run"_a)
        .def("values", &PythonProgram::values, "run"_a);
    nb::class_<PythonWords>(m, "Words")
        .def(nb::init<const Octets&, bool>(), "kinds"_a, "lower"_a)
        .def("add", &PythonWords::add, "texts"_a, "keep"_a)
        .def("merge", &PythonWords::merge, "other"_a)
        .def("columns", &PythonWords::columns);
    m.def("tabulate", &tabulate, "row"_a, "document"_a, "start"_a, "keep"_a.none(), "grade"_a, "rankings"_a);
    m.def("nest", &nest, "rows"_a, "columns"_a, "values"_a);
    m.def("row_sums", &sum_rows, "table"_a);
    m.def("running_sums", &add_up, "table"_a);
    m.def("weighted_sums", &sum_weighted, "gain"_a, "start"_a, "weights"_a, "k"_a);
    m.def("cumulated_sums", &sum_cumulated, "gain"_a, "start"_a, "weights"_a, "k"_a);
    m.def("preference_sums", &sum_preferences, "gain"_a, "grade"_a, "limit"_a, "pairs"_a);
    m.def("differences_at_least", &differences_at_least, "table"_a, "first"_a, "second"_a, "limit"_a);
    m.def("differences_below", &differences_below, "table"_a, "first"_a, "second"_a, "limits"_a);
    m.def("keep_freed_memory", &keep_freed_memory);
    m.def("ranked_differences", &ranked_differences, "table"_a, "first"_a, "second"_a, "ranks"_a);
    m.def("scan_qrels", &scan_qrels, "opener"_a, "most"_a = Faults::usual);
    m.def("scan_run", &scan_run, "opener"_a, "most"_a = Faults::usual);
    m.def("scan_nested", &scan_nested, "mapping"_a);
    m.def("scan_passages", &scan_passages, "mapping"_a);
    m.def("name_passages", &name_passages, "names"_a, "document"_a, "start"_a, "end"_a);
    m.def("join_text", &join_text, "opener"_a, "index"_a, "keys"_a, "by_id"_a, "top"_a,
          "most"_a = Faults::usual);
    m.def("join_table", &join_table, "query"_a, "document"_a, "score"_a, "rank"_a.none(), "index"_a, "keys"_a,
          "by_id"_a, "top"_a, "most"_a = Faults::usual);
    m.def("join_dict", &join_dict, "mapping"_a, "index"_a, "keys"_a, "by_id"_a, "top"_a, "most"_a = Faults::usual);
    m.def("split_fields", &split_columns, "lines"_a, "delimiter"_a, "width"_a, "longest"_a);
    m.def("parse_numbers", &numbers_of, "column"_a);
    m.def("first_rows", &first_rows, "group"_a, "ids"_a);
    m.def("locate", &locate, "document"_a, "begin"_a, "row"_a, "judged"_a, "score"_a, "rank"_a.none(), "keys"_a,
          "by_id"_a);
}
