// Differences of pairs of systems over resamples: how many are large, and their order statistics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "row_math.hpp"

// Loops over all resamples of all pairs run twice as fast with the vectors of newer processors; the result is the same.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define CRANFIELD_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define CRANFIELD_WIDE
#endif

namespace cranfield {

// Two systems, as rows of a table of resampled means or sums.
struct Pairs {
    std::span<const std::int64_t> first, second;

    Pairs(std::span<const std::int64_t> a, std::span<const std::int64_t> b, std::size_t systems) : first(a), second(b) {
        if (a.size() != b.size()) throw std::out_of_range("pairs must have two systems each");
        for (const auto& side : {a, b}) {
            for (const std::int64_t row : side) {
                if (row < 0 || static_cast<std::size_t>(row) >= systems) throw std::out_of_range("an unknown system");
            }
        }
    }

    std::size_t size() const { return first.size(); }
    const double* a(const double* table, std::size_t width, std::size_t i) const {
        return table + static_cast<std::size_t>(first[i]) * width;
    }
    const double* b(const double* table, std::size_t width, std::size_t i) const {
        return table + static_cast<std::size_t>(second[i]) * width;
    }
};

// How many of the differences of each pair are at least as large as its limit, whatever their sign.
CRANFIELD_WIDE inline void count_large(const double* table, std::size_t width, const Pairs& pairs, std::span<const double> limit,
                        std::int64_t* out) {
    constexpr std::size_t block = 512;  // so that rows stay near the processor while all pairs of a block are taken
    std::fill_n(out, pairs.size(), 0);
    for (std::size_t begin = 0; begin < width; begin += block) {
        const std::size_t many = std::min(block, width - begin);
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const double* const a = pairs.a(table, width, i) + begin;
            const double* const b = pairs.b(table, width, i) + begin;
            const double least = limit[i];
            std::int64_t count = 0;
            for (std::size_t j = 0; j < many; ++j) count += std::abs(a[j] - b[j]) >= least ? 1 : 0;
            out[i] += count;
        }
    }
}

// How many of the differences of each pair are below each of two limits.
CRANFIELD_WIDE inline void count_below(const double* table, std::size_t width, const Pairs& pairs, std::span<const double> limits,
                        std::int64_t* out) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const double* const a = pairs.a(table, width, i);
        const double* const b = pairs.b(table, width, i);
        const double low = limits[2 * i], high = limits[2 * i + 1];
        std::int64_t below_low = 0, below_high = 0;
        for (std::size_t j = 0; j < width; ++j) {
            const double difference = a[j] - b[j];
            below_low += difference < low ? 1 : 0;
            below_high += difference < high ? 1 : 0;
        }
        out[2 * i] = below_low;
        out[2 * i + 1] = below_high;
    }
}

// A bound that more than `rank` of the differences are unlikely to exceed: from every 32nd, four standard errors up.
inline double likely_bound(std::vector<double>& drawn, std::size_t width, std::size_t rank) {
    const double share = (static_cast<double>(rank) + 1) / static_cast<double>(width);
    const double many = static_cast<double>(drawn.size());
    const double place = many * share + 4 * std::sqrt(many * share * (1 - share)) + 1;
    const std::size_t at = std::min(drawn.size() - 1, static_cast<std::size_t>(place));
    std::nth_element(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(at), drawn.end());
    return drawn[at];
}

// Two neighbouring order statistics near the lower end of sign x (a - b): the few differences below a bound suffice for both.
// If the bound was too low, all differences are taken.
inline void lowest_two(const double* a, const double* b, double sign, std::size_t width, std::size_t low,
                       std::size_t high, std::vector<double>& kept, double* out) {
    std::size_t many = 0;
    if (width >= 1024) {
        std::vector<double> drawn;
        for (std::size_t j = 0; j < width; j += 32) drawn.push_back(sign * (a[j] - b[j]));
        const double bound = likely_bound(drawn, width, high);
        for (std::size_t j = 0; j < width; ++j) {
            const double value = sign * (a[j] - b[j]);
            kept[many] = value;
            many += value <= bound ? 1 : 0;
        }
    }
    if (many <= high) {
        for (many = 0; many < width; ++many) kept[many] = sign * (a[many] - b[many]);
    }
    const auto at = kept.begin() + static_cast<std::ptrdiff_t>(high);
    std::nth_element(kept.begin(), at, kept.begin() + static_cast<std::ptrdiff_t>(many));
    out[1] = sign * *at;
    out[0] = low == high ? out[1] : sign * *std::max_element(kept.begin(), at);
}

// The differences of each pair at some ranks from the lowest, and at the next ranks: (pair, rank, 2).
inline void order_statistics(const double* table, std::size_t width, const Pairs& pairs,
                             std::span<const std::int64_t> ranks, double* out) {
    const std::size_t each = pairs.size() == 0 ? 0 : ranks.size() / pairs.size();
    std::vector<double> kept(width + 1);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] < 0 || static_cast<std::size_t>(ranks[i]) >= width) {
            throw std::out_of_range("ranks must be within the resamples");
        }
        const auto low = static_cast<std::size_t>(ranks[i]), high = std::min(low + 1, width - 1);
        const double* const a = pairs.a(table, width, i / each);
        const double* const b = pairs.b(table, width, i / each);
        double* const here = out + 2 * i;
        if (high < width / 2) {
            lowest_two(a, b, 1, width, low, high, kept, here);
        } else {
            lowest_two(a, b, -1, width, width - 1 - high, width - 1 - low, kept, here);
            std::swap(here[0], here[1]);
        }
    }
}

}  // namespace cranfield
