// The judged ids, hashed once and used for any number of runs.
#pragma once

#include "group.hpp"

namespace cranfield {

// The judged documents of one query.
class JudgedRows {
public:
    JudgedRows(const Strings& ids, const std::vector<std::uint64_t>& hashes, std::size_t begin, std::size_t end)
        : ids_(ids), hashes_(hashes), begin_(begin), end_(end) {}

    std::size_t size() const { return end_ - begin_; }
    Text id(std::size_t document) const { return ids_[begin_ + document]; }
    std::uint64_t hash(std::size_t document) const { return hashes_[begin_ + document]; }

private:
    const Strings& ids_;
    const std::vector<std::uint64_t>& hashes_;
    const std::size_t begin_, end_;
};

class Index {
public:
    // Query q's documents are rows begin[q] up to begin[q + 1].
    Index(const Strings& queries, std::vector<std::int64_t> begin, Strings documents)
        : begin_(std::move(begin)), documents_(std::move(documents)) {
        for (std::size_t q = 0; q < queries.size(); ++q) {
            if (queries_.number(queries[q]) != q) throw std::invalid_argument("the index has a query twice");
        }
        if (begin_.size() != queries.size() + 1 || begin_.front() != 0 ||
            begin_.back() != static_cast<std::int64_t>(documents_.size())) {
            throw std::invalid_argument("begin must go from 0 to the number of documents, one step for each query");
        }
        for (std::size_t q = 0; q < queries.size(); ++q) {
            if (begin_[q] > begin_[q + 1]) throw std::invalid_argument("begin must not descend");
            if (begin_[q + 1] - begin_[q] >= most_judged) {
                throw std::length_error("more than 2^31 judged documents for one query");
            }
        }
        hashes_.reserve(documents_.size());
        for (std::size_t row = 0; row < documents_.size(); ++row) hashes_.push_back(hash(documents_[row]));
    }

    std::size_t queries() const { return queries_.size(); }
    std::uint32_t find(Text query) const { return queries_.find(query); }

    JudgedRows judged(std::size_t query) const { return {documents_, hashes_, begin(query), begin(query + 1)}; }
    // The row of a query's first judged document.
    std::size_t begin(std::size_t query) const { return static_cast<std::size_t>(begin_[query]); }

private:
    static constexpr std::int64_t most_judged = std::int64_t{1} << 31;

    Ids queries_;
    std::vector<std::int64_t> begin_;
    Strings documents_;
    std::vector<std::uint64_t> hashes_;
};

}  // namespace cranfield
