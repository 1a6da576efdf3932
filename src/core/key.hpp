// What a ranking is ordered by. Keys always descend: what is ranked low first is negated.
#pragma once

#include <cstdint>

namespace cranfield {

enum class Key { score, score32, rank };

// To 32 bits and back, as programs rank that hold their scores in them.
inline double rounded(double score) { return static_cast<double>(static_cast<float>(score)); }

// What orders a row whose ranks are the order given.
inline double key_of(Key key, double score, std::uint64_t row) {
    if (key == Key::rank) return -static_cast<double>(row);
    return key == Key::score32 ? rounded(score) : score;
}

}  // namespace cranfield
