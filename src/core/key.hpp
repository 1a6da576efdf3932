// What a ranking is ordered by. Keys always descend: what is ranked low first is negated.
#pragma once

namespace cranfield {

enum class Key { score, score32, rank };

// To 32 bits and back, as programs rank that hold their scores in them.
inline double rounded(double score) { return static_cast<double>(static_cast<float>(score)); }

}  // namespace cranfield
