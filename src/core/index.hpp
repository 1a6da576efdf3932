// The judged ids, hashed once and used for any number of runs.
#pragma once

#include "ids.hpp"

namespace cranfield {

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
        }
        hashes_.reserve(documents_.size());
        for (std::size_t row = 0; row < documents_.size(); ++row) hashes_.push_back(hash(documents_[row]));
    }

    std::size_t queries() const { return queries_.size(); }
    std::size_t documents() const { return documents_.size(); }
    std::uint32_t find(Text query) const { return queries_.find(query); }

    std::size_t begin(std::size_t query) const { return static_cast<std::size_t>(begin_[query]); }
    std::size_t end(std::size_t query) const { return static_cast<std::size_t>(begin_[query + 1]); }
    Text document(std::size_t row) const { return documents_[row]; }
    std::uint64_t hash_of(std::size_t row) const { return hashes_[row]; }

private:
    Ids queries_;
    std::vector<std::int64_t> begin_;
    Strings documents_;
    std::vector<std::uint64_t> hashes_;
};

}  // namespace cranfield
