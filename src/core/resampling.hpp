// Differences of pairs of systems over resamples: how many are large, and their order statistics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "row_math.hpp"

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
inline void count_large(const double* table, std::size_t width, const Pairs& pairs, std::span<const double> limit,
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
inline void count_below(const double* table, std::size_t width, const Pairs& pairs, std::span<const double> limits,
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

// The differences of each pair at some ranks from the lowest, which ascend.
inline void order_statistics(const double* table, std::size_t width, const Pairs& pairs,
                             std::span<const std::int64_t> ranks, double* out) {
    const std::size_t each = pairs.size() == 0 ? 0 : ranks.size() / pairs.size();
    std::vector<double> sample(width);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const double* const a = pairs.a(table, width, i);
        const double* const b = pairs.b(table, width, i);
        for (std::size_t j = 0; j < width; ++j) sample[j] = a[j] - b[j];
        auto from = sample.begin();
        for (std::size_t r = 0; r < each; ++r) {
            const std::int64_t rank = ranks[i * each + r];
            if (rank < 0 || static_cast<std::size_t>(rank) >= width || sample.begin() + rank < from - (r != 0)) {
                throw std::out_of_range("ranks must ascend within the resamples");
            }
            const auto at = sample.begin() + rank;
            if (at >= from) {
                std::nth_element(from, at, sample.end());
                from = at + 1;
            }
            out[i * each + r] = *at;
        }
    }
}

}  // namespace cranfield
