// Rows by code, in their order: which rows have code c.
#pragma once

#include <algorithm>
#include <vector>

#include "bytes.hpp"

namespace cranfield {

class Grouping {
public:
    // Codes are below `distinct`.
    template <class Code>
    Grouping(const std::vector<Code>& codes, std::size_t distinct) : begin_(distinct + 1) {
        for (const Code code : codes) ++begin_[static_cast<std::size_t>(code) + 1];
        for (std::size_t c = 1; c <= distinct; ++c) begin_[c] += begin_[c - 1];
        if (std::is_sorted(codes.begin(), codes.end())) return;  // grouped as they come
        rows_.resize(codes.size());
        std::vector<std::size_t> next(begin_);
        for (std::size_t i = 0; i < codes.size(); ++i) rows_[next[static_cast<std::size_t>(codes[i])]++] = i;
    }

    template <class Visit>
    void visit(std::size_t code, Visit visit) const {
        for (std::size_t k = begin_[code]; k < begin_[code + 1]; ++k) visit(rows_.empty() ? k : rows_[k]);
    }

private:
    std::vector<std::size_t> begin_;
    std::vector<std::size_t> rows_;
};

}  // namespace cranfield
