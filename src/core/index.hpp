// The judged ids of every query, and the rows of a run that have them.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "bytes.hpp"
#include "ids.hpp"

// Rows by code, in their order: which rows have code c.
namespace cranfield {

class Grouping {
public:
    // Codes are below `distinct`.
    template <class Codes>
    Grouping(const Codes& codes, std::size_t distinct) : begin_(distinct + 1) {
        for (const auto code : codes) ++begin_[static_cast<std::size_t>(code) + 1];
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

// The rows of one query, and the search for ids among rows.
namespace cranfield {

// What is kept of a row: a query may have millions of them.
struct Row {
    const char* id;
    std::uint32_t length;
    std::uint32_t line;  // counted from the first row of its group
    std::uint64_t hash;
};

class Group {
public:
    // Rows to come have ranks, or not.
    void clear(bool ranked) {
        size_ = 0;
        ranked_ = ranked;
        if (ranked) ranks_.resize(rows_.size());
    }

    // Room for so many rows.
    void reserve(std::size_t rows) {
        if (rows > rows_.size() && rows <= most_rows) resize(rows);
    }

    void add(Text id, double score, double rank, std::uint64_t line) {
        if (size_ == rows_.size()) grow();
        if (size_ == 0) first_line_ = line;
        constexpr std::uint64_t most = ~std::uint32_t{0};
        if (id.size() > most || line - first_line_ > most) [[unlikely]] throw std::length_error("a query is too large");
        rows_[size_] = {id.data(), static_cast<std::uint32_t>(id.size()),
                        static_cast<std::uint32_t>(line - first_line_), cranfield::hash(id)};
        scores_[size_] = score;
        if (ranked_) ranks_[size_] = rank;
        ++size_;
    }

    std::size_t size() const { return size_; }
    Text id(std::size_t row) const { return {rows_[row].id, rows_[row].length}; }
    std::uint64_t hash(std::size_t row) const { return rows_[row].hash; }
    std::uint64_t line(std::size_t row) const { return first_line_ + rows_[row].line; }
    std::span<const double> scores() const { return {scores_.data(), size_}; }
    std::span<const double> ranks() const { return {ranks_.data(), ranked_ ? size_ : 0}; }
    std::size_t weight() const {
        return rows_.capacity() * sizeof(Row) + (scores_.capacity() + ranks_.capacity()) * sizeof(double);
    }

private:
    void grow() {
        if (size_ >= most_rows) throw std::length_error("more than 2^31 documents for one query");
        resize(std::max<std::size_t>(1024, 2 * size_));
    }

    void resize(std::size_t rows) {
        rows_.resize(rows);
        scores_.resize(rows);
        if (ranked_) ranks_.resize(rows);
    }

    static constexpr std::size_t most_rows = std::size_t{1} << 31;

    std::vector<Row> rows_;
    std::vector<double> scores_, ranks_;
    std::size_t size_ = 0;
    std::uint64_t first_line_ = 0;
    bool ranked_ = false;
};

// A hash table of rows, which have `size()`, `hash(row)` and `id(row)`: of the documents retrieved where these may
// repeat, which building it finds out, or of the judged documents where they cannot.
class Lookup {
public:
    static constexpr std::size_t none = ~std::size_t{0};

    // Calls `duplicate(row, first)` for every row whose id an earlier row has.
    template <class Rows, class Duplicate>
    void build(const Rows& rows, Duplicate duplicate) {
        std::size_t size = 64;
        // Four slots for each row are fastest; for millions of rows two are enough.
        while (size < (rows.size() > large ? 2 : 4) * rows.size()) size *= 2;
        mask_ = size - 1;
        row_bits_ = static_cast<std::uint32_t>(std::bit_ceil(rows.size() + 1) - 1);
        slots_.assign(size, 0);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            std::size_t slot = 0;
            const std::size_t first = search(rows, rows.hash(row), rows.id(row), slot);
            if (first == none) {
                slots_[slot] = tag(rows.hash(row)) | static_cast<std::uint32_t>(row + 1);
            } else {
                duplicate(row, first);
            }
        }
    }

    // `rows` are those that the table was built from.
    template <class Rows>
    std::size_t find(const Rows& rows, std::uint64_t hash, Text id) const {
        std::size_t slot = 0;
        return search(rows, hash, id, slot);
    }

    std::size_t weight() const { return slots_.capacity() * sizeof(std::uint32_t); }

    // Gives the memory of a large table back; nothing can be found in it any more.
    void release_if_large() {
        if (slots_.size() > large) std::vector<std::uint32_t>().swap(slots_);
    }

private:
    static constexpr std::size_t large = std::size_t{1} << 20;

    template <class Rows>
    CRANFIELD_INLINE std::size_t search(const Rows& rows, std::uint64_t hash, Text id, std::size_t& slot) const {
        for (slot = hash & mask_; slots_[slot] != 0; slot = (slot + 1) & mask_) {
            if ((slots_[slot] & ~row_bits_) != tag(hash)) continue;
            const std::size_t row = (slots_[slot] & row_bits_) - 1;
            if (same(rows.id(row), id)) return row;
        }
        return none;
    }

    // The bits of a slot that no row number needs are bits of the hash: rows, which are elsewhere, are looked at
    // only where these agree.
    std::uint32_t tag(std::uint64_t hash) const { return static_cast<std::uint32_t>(hash >> 32) & ~row_bits_; }

    std::vector<std::uint32_t> slots_;  // row + 1 in the lower bits; 0 where empty
    std::uint32_t row_bits_ = 0;        // which bits these are
    std::size_t mask_ = 0;
};

// Says of nearly every id that no row has that no row has it, by its last bytes.
class Filter {
public:
    // `words` is where the filter keeps its bits.
    template <class Rows>
    Filter(const Rows& rows, std::vector<std::uint64_t>& words) {
        const std::size_t bits = std::bit_ceil(std::max<std::size_t>(1024, 32 * rows.size()));
        words.assign(bits / 64, 0);
        words_ = words.data();
        shift_ = 64 - std::countr_zero(bits);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const std::uint64_t bit = bit_of(rows.id(row));
            words[bit / 64] |= std::uint64_t{1} << (bit % 64);
        }
    }

    // 0 or 1.
    std::size_t passes(Text id) const {
        const std::uint64_t bit = bit_of(id);
        return (words_[bit / 64] >> (bit % 64)) & 1;
    }

private:
    std::uint64_t bit_of(Text id) const {
        const char* const end = id.data() + id.size();
        std::uint64_t tail = 0;
        if (id.size() >= 8) {
            tail = load<std::uint64_t>(end - 8);
        } else if (id.size() >= 4) {
            tail = (std::uint64_t{load<std::uint32_t>(id.data())} << 32) ^ load<std::uint32_t>(end - 4);
        } else {
            for (const char c : id) tail = (tail << 8) | static_cast<unsigned char>(c);
        }
        return (tail * factor_) >> shift_;
    }

    const std::uint64_t* words_;
    std::uint64_t factor_ = seed.c;
    int shift_;
};

}  // namespace cranfield

// The judged ids, hashed once and used for any number of runs.
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
