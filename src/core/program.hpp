// Measures as a small program: a run that is a dict goes in, the values of each query come out, and there is no array in
// between. cranfield/evaluation/recorded.py writes the program; each operation has the bits of the one that it stands for
// in cranfield/ranking/batch.py.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "dict.hpp"
#include "lines.hpp"
#include "numbers.hpp"
#include "row_math.hpp"
#include "spans.hpp"

// Ids found by the hash that Python keeps in each str that has been a key; texts are compared where hashes agree.
namespace cranfield {

// The hash of an exact str, which cannot fail.
inline std::uint64_t python_hash(PyObject* id) {
#if !defined(Py_LIMITED_API) && !defined(PYPY_VERSION)
    const Py_hash_t known = reinterpret_cast<PyASCIIObject*>(id)->hash;
    if (known != -1) return static_cast<std::uint64_t>(known);
#endif
    return static_cast<std::uint64_t>(PyObject_Hash(id));
}

class PythonIds {
public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    PythonIds() { clear(0); }

    void clear(std::size_t rows) {
        std::size_t size = 8;
        while (size < 4 * rows) size *= 2;
        slots_.assign(size, {});
    }

    // The row that has the id already; `none`, and then `row` has it.
    template <class IdOf>
    std::uint32_t add(std::uint64_t hash, Text id, std::uint32_t row, IdOf id_of) {
        Slot* const slot = search(hash, id, id_of);
        if (slot->row != 0) return slot->row - 1;
        *slot = {tag(hash), row + 1};
        return none;
    }

    template <class IdOf>
    std::uint32_t find(std::uint64_t hash, Text id, IdOf id_of) const {
        return const_cast<PythonIds*>(this)->search(hash, id, id_of)->row - 1;
    }

    // The ids of `rows`; ids that are not UTF-8 cannot equal any str.
    template <class Rows>
    void build(const Rows& rows) {
        clear(rows.size());
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const Text id = rows.id(row);
            const auto size = static_cast<Py_ssize_t>(id.size());
            const nb::object text = nb::steal(PyUnicode_DecodeUTF8(id.data(), size, "strict"));
            if (!text.is_valid()) {
                PyErr_Clear();
                continue;
            }
            add(python_hash(text.ptr()), id, static_cast<std::uint32_t>(row), [&](std::size_t r) { return rows.id(r); });
        }
    }

    std::size_t weight() const { return slots_.capacity() * sizeof(Slot); }

private:
    struct Slot {
        std::uint32_t tag = 0;
        std::uint32_t row = 0;  // row + 1; 0 where empty
    };

    static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

    template <class IdOf>
    CRANFIELD_INLINE Slot* search(std::uint64_t hash, Text id, IdOf id_of) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash & mask;
        for (; slots_[at].row != 0; at = (at + 1) & mask) {
            if (slots_[at].tag == tag(hash) && same(id_of(slots_[at].row - 1), id)) break;
        }
        return &slots_[at];
    }

    std::vector<Slot> slots_;
};

}  // namespace cranfield

// Sums that are rounded once, as those of Python's math.fsum are (Shewchuk 1997).
namespace cranfield {

class ExactSum {
public:
    void clear() { partials_.clear(); }

    void add(double x) {
        std::size_t kept = 0;
        for (double y : partials_) {
            if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
            const double high = x + y, low = y - (high - x);
            if (low != 0) partials_[kept++] = low;
            x = high;
        }
        partials_.resize(kept);
        if (x != 0) partials_.push_back(x);
    }

    double value() const {
        std::size_t n = partials_.size();
        if (n == 0) return 0;
        double high = partials_[--n], low = 0;
        while (n > 0) {
            const double x = high, y = partials_[--n];
            high = x + y;
            low = y - (high - x);
            if (low != 0) break;
        }
        // Half-way cases are decided by what is left.
        if (n > 0 && ((low < 0 && partials_[n - 1] < 0) || (low > 0 && partials_[n - 1] > 0))) {
            const double y = low * 2, x = high + y;
            if (y == x - high) high = x;
        }
        return high;
    }

private:
    std::vector<double> partials_;
};

}  // namespace cranfield

// The documents of one query that a measure reads, in rank order.
namespace cranfield {

struct MeasuredRow {
    double gain, grade;
    std::uint32_t start, size;

    bool nonrelevant() const { return grade >= 0 && !(gain > 0); }
};

struct MeasuredRows {
    bool tied = false;  // whether any query of the run has a tie here
    std::size_t length = 0;

    // Empty, with room for so many.
    void clear(std::size_t most = 0) {
        count_ = 0;
        if (rows_.size() < most) rows_.resize(most);
    }

    // Always written, because whether a document is `kept` cannot be predicted.
    void add(const MeasuredRow& row, bool kept = true) {
        rows_[count_] = row;
        count_ += kept;
    }

    std::size_t count() const { return count_; }
    const MeasuredRow& operator[](std::size_t j) const { return rows_[j]; }

private:
    std::vector<MeasuredRow> rows_;
    std::size_t count_ = 0;
};

// The tie that each document is in, for whoever asks document by document from the first on.
class TieWalk {
public:
    explicit TieWalk(const MeasuredRows& rows) : rows_(rows) {}

    // Whether document j is the first of its tie; `first` to `end` is its tie.
    bool enter(std::size_t j) {
        if (j < end) return false;
        first = j;
        end = j + 1;
        while (rows_.tied && end < rows_.count() && rows_[end].start == rows_[j].start) ++end;
        return true;
    }

    std::size_t first = 0, end = 0;

private:
    const MeasuredRows& rows_;
};

// Weights of ranks: `at` a rank, and for the first n ranks their sum and that of weight times rank.
struct WeightTables {
    std::vector<double> at, total, moment;
};

struct Cutoff {
    bool given = false;
    double rank = 0;
};

// The mean weight of a document over the positions of its span.
inline double mean_weight(const MeasuredRows& rows, std::size_t j, const WeightTables& weights, Cutoff k) {
    const std::uint32_t start = rows[j].start, size = rows[j].size;
    if (!rows.tied) return !k.given || start < k.rank ? weights.at[start + 1] : 0;
    const auto end = static_cast<double>(rows.length);
    const double inside = (k.given ? std::min(end, k.rank) : end) - start;
    const auto seen = static_cast<std::uint32_t>(std::clamp(inside, 0.0, static_cast<double>(size)));
    if (size == 1) return seen > 0 ? weights.at[start + 1] : 0;
    return (weights.total[start + seen] - weights.total[start]) / size;
}

inline double gained(const MeasuredRows& rows, const WeightTables& weights, Cutoff k) {
    if (rows.tied) {
        return row_sum(rows.count(), [&](std::size_t j) { return rows[j].gain * mean_weight(rows, j, weights, k); });
    }
    // What is below the cutoff would add zeros.
    std::size_t many = rows.count();
    if (k.given && many != 0 && !(rows[many - 1].start < k.rank)) {
        for (many = 0; rows[many].start < k.rank;) ++many;
    }
    return row_sum(many, [&](std::size_t j) { return rows[j].gain * weights.at[rows[j].start + 1]; });
}

// `simple`: as rankings without ties are summed with a fixed cutoff.
inline double cumulated(const MeasuredRows& rows, const WeightTables& weights, Cutoff k, bool simple,
                        std::vector<double>& running) {
    if (simple && !rows.tied) {
        double met = 0;
        return row_sum(rows.count(), [&](std::size_t j) {
            met += rows[j].gain;
            return rows[j].gain * (met * mean_weight(rows, j, weights, k));
        });
    }
    running.clear();
    double met = 0;
    for (std::size_t j = 0; j < rows.count(); ++j) running.push_back(met += rows[j].gain);
    TieWalk tie(rows);
    return row_sum(rows.count(), [&](std::size_t j) {
        tie.enter(j);
        const double gain = rows[j].gain, size = rows[j].size;
        const double above = running[tie.first] - rows[tie.first].gain;
        const double within = rows.tied ? running[tie.end - 1] - above : gain;
        const double own = mean_weight(rows, j, weights, k) * size;
        const double start = rows[j].start, last = static_cast<double>(rows.length);
        const double seen = std::clamp((k.given ? std::min(last, k.rank) : last) - start, 0.0, size);
        const auto moment = [&](double n) { return weights.moment[static_cast<std::size_t>(n)]; };
        const double later = (moment(start + seen) - moment(start)) - (start + 1) * own;
        const double others = (within - gain) / std::max(size - 1, 1.0);
        return gain * ((above + gain) * own + others * later) / size;
    });
}

inline double preferences(const MeasuredRows& rows, double limit, double pairs) {
    if (!rows.tied) {
        double above = 0;
        return row_sum(rows.count(), [&](std::size_t j) {
            const double value = rows[j].gain;
            const double share = value * (1 - (pairs > 0 ? std::min(above, limit) / pairs : 0));
            above += rows[j].nonrelevant();
            return value == 0 ? 0.0 : share;
        });
    }
    TieWalk tie(rows);
    double above = 0, inside = 0;
    return row_sum(rows.count(), [&](std::size_t j) {
        if (tie.enter(j)) {
            above += inside;
            inside = 0;
            for (std::size_t i = tie.first; i < tie.end; ++i) inside += rows[i].nonrelevant();
        }
        const double room = std::max(std::min(limit - above, inside), 0.0);
        const double total =
            (room + 1) * std::min(above, limit) + room * (room + 1) / 2 + (inside - room) * limit;
        const double misplaced = total / (inside + 1);
        return rows[j].gain * (1 - (pairs > 0 ? misplaced / pairs : 0));
    });
}

}  // namespace cranfield

// The program of all measures of an evaluator.
namespace cranfield {

// How tied documents are ordered: as tie_rules.py says.
enum class TieOrder : std::int64_t { by_id, by_input, none, best, worst };

// The documents that measures read: ranked by a key of the settings, with the gains of a mapping; without gain or not.
struct Layout {
    std::size_t key;
    TieOrder order;
    std::size_t gains;
    bool all;         // documents without gain, too
    bool needs_order;  // not for rankings with ties
};

enum class Operation : std::int64_t {
    constant, literal, length, add, subtract, multiply, divide, minimum, maximum, negative, floor, truncate,
    greater, greater_equal, less, less_equal, equal, not_equal, choose,
    gained, cumulated, preferences, nonrelevant, judged, ideal, first, total
};

struct Instruction {
    Operation operation;
    std::int64_t a, b, c, d;
    double literal;
};

enum class Counted : std::int64_t { judged, both, run };
enum class Undefined : std::int64_t { skip, zero, one };

struct ProgramPolicy {
    Counted counted;
    Undefined undefined;
    bool lists;  // whether lists of ids can be nothing but rankings, if their keys are judged queries
    std::size_t most_rows, most_bytes;  // of the longer rankings of a dict, and of a file
};

using Numbers = std::span<const std::int64_t>;
using JoinedColumns = std::array<Numbers, 6>;  // query, document, start, size, by_id, by_input: one row for each hit

class Program {
public:
    Program(const Index& index, Settings settings, ProgramPolicy policy, std::vector<double> grade,
            std::vector<std::vector<double>> gains, std::vector<Layout> layouts, std::vector<WeightTables> weights,
            std::vector<std::vector<double>> constants, std::vector<Instruction> code,
            std::vector<std::size_t> results)
        : index_(index), settings_(std::move(settings)), policy_(policy), grade_(std::move(grade)),
          gains_(std::move(gains)), layouts_(std::move(layouts)), weights_(std::move(weights)),
          constants_(std::move(constants)), code_(std::move(code)), results_(std::move(results)),
          documents_(index.queries()) {
        check();
    }

    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    // A ranking that has been read. `query` is the number of judged queries where it is not one of them.
    struct Segment {
        PyObject* name;
        std::uint32_t query, length;
        std::array<std::pair<std::size_t, std::size_t>, most_keys> hits;  // where they begin and end
    };

    struct Item {
        PyObject *id, *score;
    };

    // What one run needs; used again for the next.
    struct Scratch {
        std::vector<Item> items;
        std::vector<Text> ids;
        std::vector<double> scores, registers, running, sorted, values;
        PythonIds distinct;
        std::vector<char> text;
        Group group;
        Lookup lookup;
        Locator locator;
        std::array<Found, most_keys> found;
        std::vector<Segment> segments;
        std::vector<MeasuredRows> rows;
        std::vector<Hit> tie;

        std::size_t weight() const {
            std::size_t hits = 0;
            for (const Found& of_key : found) hits += of_key.hits.capacity();
            return text.capacity() + group.weight() + lookup.weight() + ids.capacity() * (sizeof(Item) + sizeof(Text)) + hits * sizeof(Hit) + segments.capacity() * sizeof(Segment) +
                   (scores.capacity() + values.capacity()) * sizeof(double) + distinct.weight() + locator.weight();
        }
    };

    std::size_t measures() const { return results_.size(); }
    std::size_t queries() const { return index_.queries(); }
    const ProgramPolicy& policy() const { return policy_; }

    // Reads a run and leaves the values of each of its queries: judged ones first, in the order of the judgments.
    // False where anything is not as expected. No code of Python's runs meanwhile.
    bool score(PyObject* run, Scratch& scratch) {
        return read(run, scratch) && score_segments(scratch);
    }

    // The same for TREC text, which ends with a newline; 64 bytes after it are readable.
    bool score(Text text, Scratch& scratch) {
        return read(text, scratch) && score_segments(scratch);
    }

    // The same for a run that has been joined. `length`: the documents of each judged query, -1 where the run does not
    // answer it; `others`: those of the other queries.
    bool score(std::span<const JoinedColumns> keys, Numbers length, Numbers others, Scratch& scratch) {
        return copy(keys, length, others, scratch) && score_segments(scratch);
    }

    // The values of each judged query where nothing is retrieved for it, (measure, query); null if they are not known.
    const double* unanswered(Scratch& scratch) {
        if (!unanswered_.empty()) return unanswered_.data();
        std::vector<double> values(measures()), table(measures() * queries());
        make_room(scratch);
        for (MeasuredRows& rows : scratch.rows) rows.clear();
        for (std::uint32_t q = 0; q < queries(); ++q) {
            const Segment segment{nullptr, q, 0, {}};
            if (!evaluate(scratch, {&segment, 1}, values.data())) return nullptr;
            for (std::size_t m = 0; m < measures(); ++m) table[m * queries() + q] = values[m];
        }
        unanswered_ = std::move(table);
        return unanswered_.data();
    }

private:
    bool score_segments(Scratch& scratch) {
        auto& segments = scratch.segments;
        if (segments.empty()) return false;
        const auto before = [](const Segment& a, const Segment& b) { return a.query < b.query; };
        if (!std::is_sorted(segments.begin(), segments.end(), before)) {
            std::stable_sort(segments.begin(), segments.end(), before);
        }
        const bool none_judged = segments.front().query == queries();
        if (none_judged && policy_.counted != Counted::run) return false;  // an error
        make_room(scratch);
        if (!find_ties(scratch)) return false;
        scratch.values.resize(segments.size() * measures());
        for (std::size_t s = 0; s < segments.size(); s += together) {
            const std::span<const Segment> some(&segments[s], std::min(together, segments.size() - s));
            for (std::size_t i = 0; i < layouts_.size(); ++i) {
                MeasuredRows* rows = &scratch.rows[i * together];
                for (const Segment& segment : some) lay_out(layouts_[i], segment, scratch, *rows++);
            }
            if (!evaluate(scratch, some, scratch.values.data() + s * measures())) return false;
        }
        return true;
    }

    void make_room(Scratch& scratch) const {
        scratch.rows.resize(layouts_.size() * together);
        scratch.registers.resize(code_.size() * together);
    }

    bool copy(std::span<const JoinedColumns> keys, Numbers length, Numbers others, Scratch& scratch) const {
        const auto require = [](bool right) {
            if (!right) throw std::out_of_range("positions must be those of the judged queries");
        };
        require(length.size() == queries() && keys.size() == settings_.keys.size());
        if (!others.empty() && policy_.counted == Counted::run) return false;  // their names are not kept
        clear(scratch);
        for (std::size_t q = 0; q < queries(); ++q) {
            if (length[q] < 0) continue;
            if (static_cast<std::size_t>(length[q]) >= ranks_) return false;
            scratch.segments.push_back({nullptr, static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(length[q]), {}});
        }
        for (std::size_t k = 0; k < keys.size(); ++k) {
            const auto& [query, document, start, size, by_id, by_input] = keys[k];
            const std::size_t rows = query.size();
            for (const Numbers& column : keys[k]) require(column.size() == rows);
            std::vector<Hit>& hits = scratch.found[k].hits;
            hits.resize(rows);
            std::size_t row = 0;
            for (Segment& segment : scratch.segments) {
                const auto first = static_cast<std::int64_t>(index_.begin(segment.query));
                const auto end = static_cast<std::int64_t>(index_.begin(segment.query + 1));
                segment.hits[k].first = row;
                for (; row < rows && query[row] == segment.query; ++row) {
                    const auto number = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
                    require(document[row] >= first && document[row] < end && start[row] >= 0 && size[row] > 0);
                    require(start[row] + size[row] <= static_cast<std::int64_t>(segment.length));
                    hits[row] = {number(document[row] - first), number(start[row]), number(size[row]),
                                 number(by_id[row]), number(by_input[row])};
                    require(hits[row].by_id < hits[row].size && hits[row].by_input < hits[row].size);
                }
                segment.hits[k].second = row;
            }
            require(row == rows);
        }
        return true;
    }

    void clear(Scratch& scratch) const {
        scratch.segments.clear();
        for (Found& found : scratch.found) found.hits.clear();
    }

    // Rows of TREC text, gathered query by query.
    struct Lines {
        const Program& program;
        Scratch& scratch;
        std::unordered_set<Text> queries{};
        Text query{};
        bool good = true;

        void row(std::uint64_t line, const Columns<6>& columns) {
            if (scratch.group.size() == 0 || !same(columns[0], query)) {
                close();
                query = columns[0];
                good &= queries.insert(query).second && !query.starts_with("\xef\xbb\xbf");  // a byte order mark
            }
            double score = 0;
            good &= parse_number(columns[4], score) && !std::isnan(score);
            scratch.group.add(columns[2], score, 0, line);
        }

        void odd(std::uint64_t, Text, std::size_t) { good = false; }

        void close() {
            Group& group = scratch.group;
            if (group.size() != 0 && good) good = program.add(query, scratch);
            group.clear(false);
        }
    };

    bool read(Text text, Scratch& scratch) const {
        if (settings_.by_rank() || text.find('\0') != Text::npos) return false;
        clear(scratch);
        scratch.group.clear(false);
        Lines lines{*this, scratch};
        read_lines<6>(text, 1, lines);
        lines.close();
        return lines.good;
    }

    // Adds the rows of a query.
    bool add(Text name, Scratch& scratch) const {
        const Group& group = scratch.group;
        if (group.size() >= ranks_) return false;
        bool distinct = true;
        scratch.lookup.build(group, [&](std::size_t, std::size_t) { distinct = false; });
        const std::uint32_t number = index_.find(name);
        if (!distinct || (number == Ids::none && policy_.counted == Counted::run)) return false;
        const auto query = number == Ids::none ? static_cast<std::uint32_t>(queries()) : number;
        scratch.segments.push_back({nullptr, query, static_cast<std::uint32_t>(group.size()), {}});
        scratch.locator.clear(0);
        if (number != Ids::none) {
            const JudgedRows judged = index_.judged(number);
            scratch.locator.clear(judged.size());
            for (std::size_t document = 0; document != judged.size(); ++document) {
                const std::size_t row = scratch.lookup.find(group, judged.hash(document), judged.id(document));
                if (row != Lookup::none) scratch.locator.note(row, document);
            }
        }
        locate(group.scores(), [&](std::size_t row) { return group.id(row); }, scratch, scratch.segments.back());
        return true;
    }

    template <class IdOf>
    void locate(std::span<const double> scores, IdOf id_of, Scratch& scratch, Segment& segment) const {
        for (std::size_t k = 0; k < settings_.keys.size(); ++k) segment.hits[k].first = scratch.found[k].hits.size();
        scratch.locator.locate(scores, {}, settings_, id_of, scratch.found);
        for (std::size_t k = 0; k < settings_.keys.size(); ++k) segment.hits[k].second = scratch.found[k].hits.size();
    }

    bool read(PyObject* run, Scratch& scratch) {
        if (!PyDict_CheckExact(run) || PyDict_Size(run) == 0) return false;
        PyObject *name, *ranking;
        constexpr std::size_t brief = 32;  // threads gain nothing from rankings that are as short as this
        std::size_t total = 0, lists = 0;
        for (Py_ssize_t position = 0; PyDict_Next(run, &position, &name, &ranking);) {
            const bool list = PyList_CheckExact(ranking);
            if (!list && !PyDict_CheckExact(ranking)) return false;
            lists += list;
            const std::size_t length = length_of(ranking);
            if (length > brief) total += length;
            if (length >= ranks_ || total > policy_.most_rows) return false;
        }
        if (lists != 0 && (!policy_.lists || lists != static_cast<std::size_t>(PyDict_Size(run)))) return false;
        clear(scratch);
        for (Py_ssize_t position = 0; PyDict_Next(run, &position, &name, &ranking);) {
            Text text;
            if (!read_id<false>(name, text) || text == "hits" || text == "error") return false;
            const std::uint32_t number = index_.find(text);
            if (lists != 0 && number == Ids::none) return false;
            const auto query = number == Ids::none ? static_cast<std::uint32_t>(queries()) : number;
            scratch.segments.push_back({name, query, static_cast<std::uint32_t>(length_of(ranking)), {}});
            if (!read_ranking(ranking, lists != 0, scratch, scratch.segments.back())) return false;
        }
        return true;
    }

    bool read_ranking(PyObject* ranking, bool list, Scratch& scratch, Segment& segment) {
        const std::size_t length = segment.length;
        if (scratch.items.size() <= length) {  // one more, at which the end of a dict is found
            scratch.items.resize(length + 1);
            scratch.ids.resize(length);
            scratch.scores.resize(length);
        }
        // The objects lie all over the memory: all are on their way before the first is looked at.
        Item* item = scratch.items.data();
        for (Py_ssize_t position = 0; !list && PyDict_Next(ranking, &position, &item->id, &item->score); ++item) {
            prefetch(item->id);
            prefetch(item->score);
        }
        for (std::size_t row = 0; list && row < length; ++row) scratch.items[row].id = list_item(ranking, row);
        if (list) scratch.distinct.clear(length);
        scratch.locator.clear(length);
        const bool judged = segment.query < queries();
        const JudgedRows rows = index_.judged(judged ? segment.query : 0);
        const PythonIds& known = judged ? documents_of(segment.query) : nothing_;
        const auto id_of = [&](std::size_t row) { return scratch.ids[row]; };
        for (std::size_t row = 0; row < length; ++row) {
            const auto [id, score] = scratch.items[row];
            Text& text = scratch.ids[row];
            if (!read_id<false>(id, text)) return false;
            const std::uint64_t hash = python_hash(id);
            if (list) {
                const auto number = static_cast<std::uint32_t>(row);
                if (scratch.distinct.add(hash, text, number, id_of) != PythonIds::none) return false;
                scratch.scores[row] = list_score(row);
            } else if (!read_score(score, scratch.scores[row])) {
                return false;
            }
            const std::uint32_t document = known.find(hash, text, [&](std::size_t d) { return rows.id(d); });
            if (document != PythonIds::none) scratch.locator.note(row, document);
        }
        locate({scratch.scores.data(), length}, id_of, scratch, segment);
        return true;
    }

    // Subclasses of float, as NumPy's, hold their number where float does; no code of theirs runs.
    static bool read_score(PyObject* score, double& value) {
        if (read_number<false>(score, value)) return !std::isnan(value);
        if (!PyFloat_Check(score)) return false;
        value = PyFloat_AsDouble(score);
        return !std::isnan(value);
    }

    const PythonIds& documents_of(std::uint32_t query) {
        std::unique_ptr<PythonIds>& ids = documents_[query];
        if (!ids) {
            ids = std::make_unique<PythonIds>();
            ids->build(index_.judged(query));
        }
        return *ids;
    }

    // False if there are ties where a measure cannot have them.
    bool find_ties(Scratch& scratch) const {
        for (std::size_t i = 0; i < layouts_.size(); ++i) {
            const Layout& layout = layouts_[i];
            bool tied = false;
            for (const Segment& segment : scratch.segments) {
                if (layout.order != TieOrder::none || tied) break;
                const std::size_t first = segment.query < queries() ? index_.begin(segment.query) : 0;
                for (const Hit& hit : hits_of(scratch, layout, segment)) {
                    tied |= hit.size > 1 && (layout.all || gains_[layout.gains][first + hit.document] > 0);
                }
            }
            if (tied && layout.needs_order) return false;
            for (std::size_t q = 0; q < together; ++q) scratch.rows[i * together + q].tied = tied;
        }
        return true;
    }

    static std::span<const Hit> hits_of(const Scratch& scratch, const Layout& layout, const Segment& segment) {
        const auto [first, end] = segment.hits[layout.key];
        return {scratch.found[layout.key].hits.data() + first, end - first};
    }

    void lay_out(const Layout& layout, const Segment& segment, Scratch& scratch, MeasuredRows& rows) const {
        const std::span<const Hit> hits = hits_of(scratch, layout, segment);
        rows.clear(hits.size());
        rows.length = segment.length;
        if (hits.empty()) return;
        const std::size_t row = index_.begin(segment.query);
        const double *const gain = gains_[layout.gains].data() + row, *const grade = grade_.data() + row;
        for (std::size_t i = 0, end = 0; i < hits.size(); i = end) {
            end = i + 1;
            const Hit& hit = hits[i];
            if (hit.size > 1) {
                while (end < hits.size() && hits[end].start == hit.start) ++end;
                lay_out_tie(layout, hits.subspan(i, end - i), gain, grade, scratch.tie, rows);
            } else {
                const double gained = gain[hit.document];
                rows.add({gained, grade[hit.document], hit.start, 1}, layout.all | (gained > 0));
            }
        }
    }

    static void lay_out_tie(const Layout& layout, std::span<const Hit> hits, const double* gain, const double* grade,
                            std::vector<Hit>& tie, MeasuredRows& rows) {
        tie.assign(hits.begin(), hits.end());
        const auto sort = [&](auto before) { std::stable_sort(tie.begin(), tie.end(), before); };
        const auto kept = [&](const Hit& hit) { return layout.all || gain[hit.document] > 0; };
        if (layout.order == TieOrder::by_id || layout.order == TieOrder::by_input) {
            const bool by_id = layout.order == TieOrder::by_id;
            const auto place = [&](const Hit& hit) { return by_id ? hit.by_id : hit.by_input; };
            if (by_id) sort([](const Hit& a, const Hit& b) { return a.by_id < b.by_id; });
            for (const Hit& hit : tie) {
                if (kept(hit)) rows.add({gain[hit.document], grade[hit.document], hit.start + place(hit), 1});
            }
            return;
        }
        sort([&](const Hit& a, const Hit& b) {
            const double first = grade[a.document], second = grade[b.document];
            return first != second ? first > second : a.by_id < b.by_id;
        });
        std::erase_if(tie, [&](const Hit& hit) { return !kept(hit); });
        const auto unjudged = [&](const Hit& hit) { return !(grade[hit.document] >= 0); };
        if (layout.order == TieOrder::best) {
            sort([&](const Hit& a, const Hit& b) {
                const double first = gain[a.document], second = gain[b.document];
                return first != second ? first > second : unjudged(a) < unjudged(b);
            });
        } else if (layout.order == TieOrder::worst) {
            sort([&](const Hit& a, const Hit& b) {
                const double first = gain[a.document], second = gain[b.document];
                return first != second ? first < second : unjudged(a) > unjudged(b);
            });
        }
        const auto many = static_cast<std::uint32_t>(tie.size());
        for (std::uint32_t place = 0; place < many; ++place) {
            const Hit& hit = tie[place];
            const bool tied = layout.order == TieOrder::none;
            const std::uint32_t others = layout.order == TieOrder::worst ? hit.size - many : 0;
            rows.add({gain[hit.document], grade[hit.document], tied ? hit.start : hit.start + others + place,
                      tied ? hit.size : 1});
        }
    }

    // The program for up to `together` queries; false if it needs a weight beyond the tables.
    bool evaluate(Scratch& scratch, std::span<const Segment> segments, double* values) const {
        double* const x = scratch.registers.data();
        for (std::size_t i = 0, steps = code_.size(); i < steps; ++i) {
            const Instruction& step = code_[i];
            const auto each = [&](auto value_of) {
                for (std::size_t q = 0; q < segments.size(); ++q) x[i * together + q] = value_of(q);
            };
            const auto value = [&](std::int64_t j, std::size_t q) { return x[static_cast<std::size_t>(j) * together + q]; };
            const auto a = [&](std::size_t q) { return value(step.a, q); };
            const auto b = [&](std::size_t q) { return value(step.b, q); };
            const auto c = [&](std::size_t q) { return value(step.c, q); };
            const auto rows = [&](std::size_t q) -> const MeasuredRows& {
                return scratch.rows[static_cast<std::size_t>(step.a) * together + q];
            };
            const auto weights = [&]() -> const WeightTables& { return weights_[static_cast<std::size_t>(step.b)]; };
            const auto cutoff = [&](std::size_t q) { return step.c < 0 ? Cutoff{} : Cutoff{true, c(q)}; };
            switch (step.operation) {
                case Operation::constant: {
                    const double* const constants = constants_[static_cast<std::size_t>(step.a)].data();
                    each([&](std::size_t q) { return constants[segments[q].query]; });
                    break;
                }
                case Operation::literal: each([&](std::size_t) { return step.literal; }); break;
                case Operation::length: each([&](std::size_t q) { return segments[q].length; }); break;
                case Operation::add: each([&](std::size_t q) { return a(q) + b(q); }); break;
                case Operation::subtract: each([&](std::size_t q) { return a(q) - b(q); }); break;
                case Operation::multiply: each([&](std::size_t q) { return a(q) * b(q); }); break;
                case Operation::divide: each([&](std::size_t q) { return a(q) / b(q); }); break;
                case Operation::minimum: each([&](std::size_t q) { return smaller(a(q), b(q)); }); break;
                case Operation::maximum: each([&](std::size_t q) { return larger(a(q), b(q)); }); break;
                case Operation::negative: each([&](std::size_t q) { return -a(q); }); break;
                case Operation::floor: each([&](std::size_t q) { return std::floor(a(q)); }); break;
                case Operation::truncate: each([&](std::size_t q) { return std::trunc(a(q)); }); break;
                case Operation::greater: each([&](std::size_t q) { return a(q) > b(q); }); break;
                case Operation::greater_equal: each([&](std::size_t q) { return a(q) >= b(q); }); break;
                case Operation::less: each([&](std::size_t q) { return a(q) < b(q); }); break;
                case Operation::less_equal: each([&](std::size_t q) { return a(q) <= b(q); }); break;
                case Operation::equal: each([&](std::size_t q) { return a(q) == b(q); }); break;
                case Operation::not_equal: each([&](std::size_t q) { return a(q) != b(q); }); break;
                case Operation::choose: each([&](std::size_t q) { return a(q) != 0 ? b(q) : c(q); }); break;
                case Operation::gained: each([&](std::size_t q) { return gained(rows(q), weights(), cutoff(q)); }); break;
                case Operation::cumulated:
                    each([&](std::size_t q) {
                        return cumulated(rows(q), weights(), cutoff(q), step.d != 0, scratch.running);
                    });
                    break;
                case Operation::preferences: each([&](std::size_t q) { return preferences(rows(q), b(q), c(q)); }); break;
                case Operation::nonrelevant: each([&](std::size_t q) { return nonrelevant(rows(q)); }); break;
                case Operation::judged:
                    each([&](std::size_t q) { return judged_weight(rows(q), weights(), cutoff(q)); });
                    break;
                case Operation::ideal:
                    each([&](std::size_t q) { return ideal(rows(q), weights(), cutoff(q), scratch.sorted); });
                    break;
                case Operation::first:
                    each([&](std::size_t q) { return first_weight(rows(q), weights(), cutoff(q)); });
                    break;
                case Operation::total: {
                    const std::vector<double>& total = weights().total;
                    for (std::size_t q = 0; q < segments.size(); ++q) {
                        if (!(a(q) >= 0 && a(q) < static_cast<double>(total.size()))) return false;
                    }
                    each([&](std::size_t q) { return total[static_cast<std::size_t>(a(q))]; });
                    break;
                }
            }
        }
        for (std::size_t q = 0; q < segments.size(); ++q) {
            for (const std::size_t result : results_) *values++ = x[result * together + q];
        }
        return true;
    }

    // As those of NumPy: NaN if either is.
    static double smaller(double a, double b) { return a < b || a != a ? a : b; }
    static double larger(double a, double b) { return a > b || a != a ? a : b; }

    static double nonrelevant(const MeasuredRows& rows) {
        std::size_t many = 0;
        for (std::size_t j = 0; j < rows.count(); ++j) many += rows[j].nonrelevant();
        return static_cast<double>(many);
    }

    static double judged_weight(const MeasuredRows& rows, const WeightTables& weights, Cutoff k) {
        return row_sum(rows.count(), [&](std::size_t j) {
            return rows[j].grade >= 0 ? mean_weight(rows, j, weights, k) : 0;
        });
    }

    // The gains of what is retrieved, in the best order.
    static double ideal(const MeasuredRows& rows, const WeightTables& weights, Cutoff k, std::vector<double>& sorted) {
        sorted.clear();
        for (std::size_t j = 0; j < rows.count(); ++j) sorted.push_back(rows[j].gain);
        std::sort(sorted.begin(), sorted.end(), std::greater<double>());
        if (k.given) sorted.resize(std::min(sorted.size(), static_cast<std::size_t>(std::max(k.rank, 0.0))));
        return row_sum(sorted.size(), [&](std::size_t j) { return sorted[j] * weights.at[j + 1]; });
    }

    // The highest weight of a relevant document.
    static double first_weight(const MeasuredRows& rows, const WeightTables& weights, Cutoff k) {
        double highest = 0;
        for (std::size_t j = 0; j < rows.count(); ++j) {
            const bool counts = rows[j].gain > 0 && (!k.given || rows[j].start < k.rank);
            if (counts) highest = std::max(highest, weights.at[rows[j].start + 1]);
        }
        return highest;
    }

    // Programs come from outside: whatever they say, nothing may be read that is not there.
    void check() {
        const auto require = [](bool right) {
            if (!right) throw std::invalid_argument("not a program of measures");
        };
        const std::size_t rows = index_.begin(queries());
        require(queries() > 0 && grade_.size() == rows);
        for (const auto& gain : gains_) require(gain.size() == rows);
        for (const auto& constant : constants_) require(constant.size() == queries() + 1);
        ranks_ = std::size_t{1} << 31;
        for (const WeightTables& table : weights_) {
            require(!table.at.empty() && table.total.size() == table.at.size());
            require(table.moment.empty() || table.moment.size() == table.at.size());
            ranks_ = std::min(ranks_, table.at.size());
        }
        for (const Layout& layout : layouts_) {
            require(layout.key < settings_.keys.size() && layout.gains < gains_.size());
            require(layout.order >= TieOrder::by_id && layout.order <= TieOrder::worst);
            require(layout.order != TieOrder::by_id || settings_.by_id);
        }
        const auto within = [](std::int64_t i, std::size_t size) {
            return i >= 0 && static_cast<std::size_t>(i) < size;
        };
        for (std::size_t i = 0; i < code_.size(); ++i) {
            const Instruction& step = code_[i];
            const Operation operation = step.operation;
            require(operation >= Operation::constant && operation <= Operation::total);
            if (operation == Operation::literal || operation == Operation::length) continue;
            if (operation == Operation::constant) {
                require(within(step.a, constants_.size()));
            } else if (operation == Operation::total) {
                require(within(step.a, i) && within(step.b, weights_.size()));
            } else if (operation >= Operation::gained) {
                require(within(step.a, layouts_.size()));
                const bool weighted = operation != Operation::preferences && operation != Operation::nonrelevant;
                if (weighted) require(within(step.b, weights_.size()) && (step.c == -1 || within(step.c, i)));
                if (operation == Operation::preferences) require(within(step.b, i) && within(step.c, i));
                if (operation == Operation::cumulated) {
                    require(!weights_[static_cast<std::size_t>(step.b)].moment.empty());
                }
            } else {
                const bool unary = operation >= Operation::negative && operation <= Operation::truncate;
                require(within(step.a, i) && (unary || within(step.b, i)));
                require(operation != Operation::choose || within(step.c, i));
            }
        }
        for (const std::size_t result : results_) require(result < code_.size());
    }

    const Index& index_;
    const Settings settings_;
    const ProgramPolicy policy_;
    const std::vector<double> grade_;
    const std::vector<std::vector<double>> gains_;
    const std::vector<Layout> layouts_;
    const std::vector<WeightTables> weights_;
    const std::vector<std::vector<double>> constants_;  // one more than there are queries: of one that is not judged
    const std::vector<Instruction> code_;
    const std::vector<std::size_t> results_;
    // Queries that take each step together: a step alone would wait for the one before it.
    static constexpr std::size_t together = 8;

    std::size_t ranks_ = 0;                              // rankings are shorter
    std::vector<std::unique_ptr<PythonIds>> documents_;  // of each query, once it has been asked for
    const PythonIds nothing_;
    std::vector<double> unanswered_;
};

}  // namespace cranfield
