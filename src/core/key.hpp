// What rankings are ordered by, and what is asked of a join. Keys descend: what is ranked low first is negated.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace cranfield {

enum class Key { score, score32, rank };
inline constexpr std::size_t most_keys = 3;

struct Settings {
    std::vector<Key> keys;  // each different
    bool by_id = false;     // whether the places by id of tied judged documents are wanted
    std::size_t top = 0;    // documents with fewer than so many ranked above their tie group are wanted, judged or not

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
