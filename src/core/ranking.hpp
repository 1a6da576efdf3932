// What rankings are ordered by, and rows from best to worst.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>


// What rankings are ordered by, and what is asked of a join. Keys descend: what is ranked low first is negated.
namespace cranfield {

enum class Key { score, score32, rank };
inline constexpr std::size_t most_keys = 3;

struct Settings {
    std::vector<Key> keys;  // each different
    bool by_id = false;     // whether the places by id of tied judged documents are wanted
    std::size_t top = 0;    // documents with fewer than so many ranked above their tie group are wanted, judged or not
    std::size_t most_faults = 20;

    bool by_rank() const { return std::find(keys.begin(), keys.end(), Key::rank) != keys.end(); }
};

// The keys of one query's rows.
class KeyColumn {
public:
    // `ranks` are negated; where there are none, rows are ranked as given. The span is good until the next one.
    std::span<const double> of(Key key, std::span<const double> scores, std::span<const double> ranks) {
        if (key == Key::score) return scores;
        if (key == Key::rank && !ranks.empty()) return ranks;
        values_.resize(scores.size());
        for (std::size_t row = 0; row < scores.size(); ++row) {
            values_[row] = key == Key::rank ? -static_cast<double>(row) : rounded(scores[row]);
        }
        return values_;
    }

private:
    // To 32 bits and back, as programs rank that hold their scores in them.
    static double rounded(double score) { return static_cast<double>(static_cast<float>(score)); }

    std::vector<double> values_;
};

}  // namespace cranfield

// Rows from best to worst.
namespace cranfield {

struct RankedRow {
    double key;
    std::uint32_t row;
};

// Rows in the order given.
struct AsGiven {
    std::span<const double> keys;

    std::size_t size() const { return keys.size(); }
    RankedRow operator[](std::size_t row) const { return {keys[row], static_cast<std::uint32_t>(row)}; }
};

// Rows by descending key, equal ones in input order. They are put into buckets of equal width, about as many as there
// are rows, over which most scores spread; and a bucket is sorted when somebody asks for one of its rows.
class Ranking {
public:
    // There is no NaN. The keys must stay until the last question.
    void rank(std::span<const double> keys) {
        keys_ = keys;
        if (rows_.size() < keys.size()) {
            rows_.resize(keys.size());
            place_of_.resize(keys.size());
        }
        const std::span<RankedRow> all(rows_.data(), keys.size());
        in_buckets_ = keys.size() > longest_insertion && distribute(AsGiven{keys}, all, 0);
        if (in_buckets_) {
            sorted_.assign(buckets_[0].ends.size(), false);
            return;
        }
        for (std::size_t row = 0; row < all.size(); ++row) all[row] = AsGiven{keys}[row];
        sort_by_comparison(all);
        note_places(0, all.size());
    }

    // Where a row is. All rows with its key are then next to it.
    std::size_t place(std::size_t row) {
        if (in_buckets_) sort_bucket(buckets_[0].of(keys_[row]));
        return place_of_[row];
    }

    // Puts the first `count` rows in their places, and all rows with the key of one of them.
    void sort_first(std::size_t count) {
        if (!in_buckets_) return;
        for (std::size_t bucket = 0, begin = 0; begin < std::min(count, size()); begin = buckets_[0].ends[bucket++]) {
            sort_bucket(bucket);
        }
    }

    std::size_t size() const { return keys_.size(); }
    const RankedRow& operator[](std::size_t place) const { return rows_[place]; }
    std::size_t weight() const {
        return (rows_.capacity() + spare_.capacity()) * sizeof(RankedRow) +
               place_of_.capacity() * sizeof(std::uint32_t);
    }

private:
    struct Buckets {
        double highest = 0, scale = 0;
        std::vector<std::uint32_t> ends{};

        std::size_t of(double key) const {
            return static_cast<std::size_t>(static_cast<std::int64_t>((highest - key) * scale));
        }
    };

    void sort_bucket(std::size_t bucket) {
        if (sorted_[bucket]) return;
        sorted_[bucket] = true;
        const std::size_t begin = bucket == 0 ? 0 : buckets_[0].ends[bucket - 1], end = buckets_[0].ends[bucket];
        sort({rows_.data() + begin, end - begin}, 1);
        note_places(begin, end);
    }

    void note_places(std::size_t begin, std::size_t end) {
        for (std::size_t place = begin; place < end; ++place) {
            place_of_[rows_[place].row] = static_cast<std::uint32_t>(place);
        }
    }

    // Rows come in input order.
    void sort(std::span<RankedRow> rows, std::size_t depth) {
        if (rows.size() > longest_insertion && depth < deepest) {
            spare_.assign(rows.begin(), rows.end());
            if (distribute(spare_, rows, depth)) {
                // Some keys are far from all others; these are sorted by their own width.
                std::uint32_t begin = 0;
                for (const std::uint32_t end : buckets_[depth].ends) {
                    if (end - begin > 1) sort(rows.subspan(begin, end - begin), depth + 1);
                    begin = end;
                }
                return;
            }
        }
        sort_by_comparison(rows);
    }

    static void sort_by_comparison(std::span<RankedRow> rows) {
        if (rows.size() > longest_insertion) {
            std::sort(rows.begin(), rows.end(), [](const RankedRow& a, const RankedRow& b) {
                return a.key != b.key ? a.key > b.key : a.row < b.row;
            });
            return;
        }
        for (std::size_t next = 1; next < rows.size(); ++next) {
            const RankedRow moved = rows[next];
            std::size_t gap = next;
            for (; gap != 0 && rows[gap - 1].key < moved.key; --gap) rows[gap] = rows[gap - 1];
            rows[gap] = moved;
        }
    }

    // Fills `into` bucket by bucket, in input order within each; false where the keys have no width to divide.
    template <class Source>
    bool distribute(const Source& source, std::span<RankedRow> into, std::size_t depth) {
        const std::size_t n = source.size();
        // Several of each: one alone would wait for itself at every step.
        std::array<double, 4> high, low;
        high.fill(source[0].key);
        low = high;
        for (std::size_t i = 0; i < n; ++i) {
            const double key = source[i].key;
            high[i % 4] = key > high[i % 4] ? key : high[i % 4];
            low[i % 4] = key < low[i % 4] ? key : low[i % 4];
        }
        Buckets& buckets = buckets_[depth];
        const std::size_t count = std::size_t{1} << std::min(static_cast<int>(std::bit_width(n)), most_bits);
        buckets.highest = *std::max_element(high.begin(), high.end());
        buckets.scale = static_cast<double>(count - 1) / (buckets.highest - *std::min_element(low.begin(), low.end()));
        if (!std::isnormal(buckets.scale)) return false;
        buckets.ends.assign(count, 0);
        for (std::size_t i = 0; i < n; ++i) ++buckets.ends[buckets.of(source[i].key)];
        std::uint32_t begin = 0;
        for (std::uint32_t& end : buckets.ends) begin += std::exchange(end, begin);
        for (std::size_t i = 0; i < n; ++i) into[buckets.ends[buckets.of(source[i].key)]++] = source[i];
        return true;
    }

    static constexpr std::size_t longest_insertion = 24;
    static constexpr std::size_t deepest = 4;
    static constexpr int most_bits = 16;

    std::span<const double> keys_;
    std::vector<RankedRow> rows_, spare_;
    std::vector<std::uint32_t> place_of_;
    bool in_buckets_ = false;
    std::array<Buckets, deepest> buckets_;  // by depth
    std::vector<std::uint8_t> sorted_;      // whether a bucket is
};

}  // namespace cranfield
