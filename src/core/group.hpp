// The rows of one query, and the search for ids among them.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>

#include "ids.hpp"

namespace cranfield {

struct Row {
    Text id;
    std::uint64_t hash;
    std::uint64_t line;
};

class Group {
public:
    void clear() {
        size_ = 0;
        descending_ = true;
        last_ = std::numeric_limits<double>::infinity();
    }

    void add(Text id, double key, std::uint64_t line) { add(id, hash(id), key, line); }

    void add(Text id, std::uint64_t hash, double key, std::uint64_t line) {
        if (size_ == rows_.size()) grow();
        rows_[size_] = {id, hash, line};
        keys_[size_] = key;
        ++size_;
        descending_ &= key <= last_;
        last_ = key;
    }

    std::size_t size() const { return size_; }
    bool descending() const { return descending_; }
    const Row& operator[](std::size_t i) const { return rows_[i]; }
    const double* keys() const { return keys_.data(); }
    std::size_t weight() const { return rows_.capacity() * (sizeof(Row) + sizeof(double)); }

private:
    void grow() {
        if (size_ >= (std::size_t{1} << 31)) throw std::length_error("more than 2^31 documents for one query");
        rows_.resize(std::max<std::size_t>(1024, 2 * size_));
        keys_.resize(rows_.size());
    }

    std::vector<Row> rows_;
    std::vector<double> keys_;
    std::size_t size_ = 0;
    bool descending_ = true;
    double last_ = std::numeric_limits<double>::infinity();
};

// A hash table of a group's rows. Judged documents are looked up in it, not the other way round: it has to be
// built anyway to find duplicates, and there are mostly far fewer judged documents than retrieved ones.
class Lookup {
public:
    static constexpr std::size_t none = ~std::size_t{0};

    // Calls `duplicate(row, first)` for every row whose id an earlier row has.
    template <class Duplicate>
    void build(const Group& group, Duplicate duplicate) {
        group_ = &group;
        std::size_t size = 64;
        while (size < 4 * group.size()) size *= 2;
        mask_ = size - 1;
        rows_ = static_cast<std::uint32_t>(std::bit_ceil(group.size() + 1) - 1);
        slots_.assign(size, 0);
        for (std::size_t i = 0; i < group.size(); ++i) {
            std::size_t slot = 0;
            const std::size_t first = search(group[i].hash, group[i].id, slot);
            if (first == none) {
                slots_[slot] = tag(group[i].hash) | static_cast<std::uint32_t>(i + 1);
            } else {
                duplicate(i, first);
            }
        }
    }

    std::size_t find(std::uint64_t hash, Text id) const {
        std::size_t slot = 0;
        return search(hash, id, slot);
    }

    std::size_t weight() const { return slots_.capacity() * sizeof(std::uint32_t); }

private:
    std::size_t search(std::uint64_t hash, Text id, std::size_t& slot) const {
        for (slot = hash & mask_; slots_[slot] != 0; slot = (slot + 1) & mask_) {
            if ((slots_[slot] & ~rows_) != tag(hash)) continue;
            const std::size_t i = (slots_[slot] & rows_) - 1;
            if (same((*group_)[i].id, id)) return i;
        }
        return none;
    }

    // The bits of a slot that no row number needs are bits of the hash: rows, which are elsewhere, are looked at
    // only where these agree.
    std::uint32_t tag(std::uint64_t hash) const { return static_cast<std::uint32_t>(hash >> 32) & ~rows_; }

    const Group* group_ = nullptr;
    std::vector<std::uint32_t> slots_;  // row + 1 in the lower bits; 0 where empty
    std::uint32_t rows_ = 0;            // which bits these are
    std::size_t mask_ = 0;
};

}  // namespace cranfield
