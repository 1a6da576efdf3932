// Tables of rankings: laid out from one row a document, and summed along their rows.
//
// Sums are those of NumPy's pairwise summation, to the last bit, whatever zeros follow a row: up to eight values as a
// tree, up to 128 in eight lanes, and blocks of 128 one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "bytes.hpp"

namespace cranfield {

// Tables of up to this many columns are kept column by column.
inline constexpr std::size_t narrow = 8;

inline std::size_t padded(std::size_t width) {
    return width <= narrow ? std::max<std::size_t>(width, 1) : (width + 7) / 8 * 8;
}

// The values of a row come in order; what is missing of the last eight is 0.
template <class Value>
CRANFIELD_INLINE double row_sum(std::size_t width, Value&& value) {
    double total = 0;  // and so the sum is never -0.0
    for (std::size_t block = 0; block < width; block += 128) {
        double lanes[8] = {};
        const std::size_t end = std::min(block + 128, width);
        std::size_t i = block;
        for (; i + 8 <= end; i += 8) {
            for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += value(i + lane);
        }
        for (; i < end; ++i) lanes[i % 8] += value(i);
        total += ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    }
    return total;
}

template <class Element>
struct MatrixView {
    const Element* data;
    std::size_t rows, columns;
    std::int64_t row_step, column_step;

    const Element& operator()(std::size_t row, std::size_t column) const {
        return data[static_cast<std::int64_t>(row) * row_step + static_cast<std::int64_t>(column) * column_step];
    }
};

inline void row_sums(const MatrixView<double>& table, double* out) {
    for (std::size_t q = 0; q < table.rows; ++q) {
        out[q] = row_sum(table.columns, [&](std::size_t j) { return table(q, j); });
    }
}

template <std::size_t Together>
void add_up_rows(const MatrixView<double>& table, std::size_t first, double* out) {
    double sums[Together];
    for (std::size_t j = 0; j < table.columns; ++j) {
        for (std::size_t i = 0; i < Together; ++i) {
            sums[i] = j == 0 ? table(first + i, j) : sums[i] + table(first + i, j);
            out[(first + i) * table.columns + j] = sums[i];
        }
    }
}

// The running sums of each row. Additions of a row wait for each other, so that several rows are summed at a time.
inline void running_sums(const MatrixView<double>& table, double* out) {
    constexpr std::size_t together = 8;
    std::size_t row = 0;
    for (; row + together <= table.rows; row += together) add_up_rows<together>(table, row, out);
    for (; row < table.rows; ++row) add_up_rows<1>(table, row, out);
}

// The weight of each document's rank; 0 from rank k + 1 on, where k is not negative.
class RankWeights {
public:
    RankWeights(std::span<const double> weights, std::int64_t k) : weights_(weights), k_(k) {}

    double operator()(std::int64_t start) const {
        if (k_ >= 0 && start >= k_) return 0;
        const auto rank = static_cast<std::size_t>(start + 1);
        if (start < 0 || rank >= weights_.size()) throw std::out_of_range("a rank beyond the table of weights");
        return weights_[rank];
    }

private:
    std::span<const double> weights_;
    std::int64_t k_;
};

inline void weighted_sums(const MatrixView<double>& gain, const MatrixView<std::int64_t>& start,
                          const RankWeights& weight, double* out) {
    for (std::size_t q = 0; q < gain.rows; ++q) {
        out[q] = row_sum(gain.columns, [&](std::size_t j) { return gain(q, j) * weight(start(q, j)); });
    }
}

inline void cumulated_sums(const MatrixView<double>& gain, const MatrixView<std::int64_t>& start,
                           const RankWeights& weight, double* out) {
    for (std::size_t q = 0; q < gain.rows; ++q) {
        double met = 0;
        out[q] = row_sum(gain.columns, [&](std::size_t j) {
            met = j == 0 ? gain(q, j) : met + gain(q, j);
            return gain(q, j) * (met * weight(start(q, j)));
        });
    }
}

// Each gain times the share of pairs that are in order; of the non-relevant documents above, at most `limit` count.
inline void preference_sums(const MatrixView<double>& gain, const MatrixView<double>& grade,
                            std::span<const double> limit, std::span<const double> pairs, double* out) {
    for (std::size_t q = 0; q < gain.rows; ++q) {
        double above = 0;
        out[q] = row_sum(gain.columns, [&](std::size_t j) {
            const double value = gain(q, j), met = above;
            if (!(value > 0) && grade(q, j) >= 0) ++above;
            if (value == 0) return 0.0;  // most documents: no division
            return value * (1 - (pairs[q] > 0 ? std::min(met, limit[q]) / pairs[q] : 0));
        });
    }
}

// Which rows of documents are kept, and the width of the table that they need. Rows with the same ranking are together.
struct Kept {
    std::vector<std::int64_t> rows;
    std::size_t width;

    Kept(std::span<const std::int64_t> ranking, std::span<const std::int64_t> document,
         std::span<const std::uint8_t> keep, bool keep_all, std::size_t rankings) : rows(ranking.size()) {
        std::int64_t last = 0;
        std::size_t many = 0, first = 0, widest = 0;  // `first` of the kept ones of a ranking
        for (std::size_t i = 0; i < ranking.size(); ++i) {
            if (ranking[i] < last || document[i] < 0) throw std::out_of_range("a row out of order, or no document");
            if (ranking[i] != last) {
                widest = std::max(widest, many - first);
                first = many;
                last = ranking[i];
            }
            if (!keep_all) {
                if (static_cast<std::size_t>(document[i]) >= keep.size()) {
                    throw std::out_of_range("a document beyond the judgments");
                }
                if (keep[static_cast<std::size_t>(document[i])] == 0) continue;
            }
            rows[many++] = static_cast<std::int64_t>(i);
        }
        if (!ranking.empty() && static_cast<std::size_t>(last) >= rankings) {
            throw std::out_of_range("a row beyond the table");
        }
        rows.resize(many);
        width = padded(std::max(widest, many - first));
    }
};

}  // namespace cranfield
