// Where the judged documents of one query stand.
#pragma once

#include <bit>

#include "group.hpp"
#include "index.hpp"

namespace cranfield {

struct Hit {
    std::int64_t query;     // of the index
    std::int64_t document;  // row of the index
    std::int64_t start;     // documents ranked strictly above its tie group
    std::int64_t size;      // documents in that group
    std::int64_t by_id;     // its place in the group where ids descend
    std::int64_t by_input;  // its place in the group in input order
};

class Locator {
public:
    explicit Locator(bool by_id) : by_id_(by_id) {}

    // Appends the hits of `query`, best first and tied ones in input order. `lookup` was built from `group`.
    void locate(const Group& group, const Lookup& lookup, const Index& index, std::size_t query,
                std::vector<Hit>& hits) {
        for (std::size_t document = index.begin(query); document != index.end(query); ++document) {
            const std::size_t row = lookup.find(index.hash_of(document), index.document(document));
            if (row != Lookup::none) note(row, document);
        }
        locate(group, query, hits);
    }

    // The same in two steps, for who finds the rows in another way.
    void note(std::size_t row, std::size_t document) {
        noted_.push_back((std::uint64_t{row} << 32) | documents_.size());
        documents_.push_back(document);
    }

    void locate(const Group& group, std::size_t query, std::vector<Hit>& hits) {
        if (noted_.empty()) return;
        std::sort(noted_.begin(), noted_.end());
        for (const std::uint64_t noted : noted_) {
            found_.push_back({static_cast<std::size_t>(noted >> 32), documents_[noted & 0xffffffffu], 0, 0});
        }
        measure(group);
        if (order_ != Order::given) {
            std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
                return a.start != b.start ? a.start < b.start : a.row < b.row;
            });
        }
        for (std::size_t i = 0; i < found_.size();) {
            std::size_t end = i + 1;
            while (end < found_.size() && found_[end].start == found_[i].start) ++end;
            append(group, query, i, end, hits);
            i = end;
        }
        noted_.clear();
        documents_.clear();
        found_.clear();
    }

private:
    struct Found {
        std::size_t row, document, start, size;
    };

    // How the order of the keys is known: they come in order, are counted for each hit, or were sorted.
    enum class Order { given, counted, sorted };

    void measure(const Group& group) {
        const double* keys = group.keys();
        const std::size_t n = group.size();
        order_ = group.descending() ? Order::given : found_.size() <= few ? Order::counted : Order::sorted;
        if (order_ == Order::given) {
            // Nearly every tie group is one row, and its neighbours show that; those of one group share the walk.
            std::size_t start = 0, end = 0;
            for (Found& found : found_) {
                const double key = keys[found.row];
                if (found.row >= end) {
                    for (start = found.row; start != 0 && keys[start - 1] == key;) --start;
                    for (end = found.row + 1; end != n && keys[end] == key;) ++end;
                }
                found.start = start;
                found.size = end - start;
            }
            return;
        }
        if (order_ == Order::counted) {
            for (Found& found : found_) {
                const double key = keys[found.row];
                for (std::size_t i = 0; i < n; ++i) {
                    found.start += keys[i] > key;
                    found.size += keys[i] == key;
                }
            }
            return;
        }
        ranked_.resize(n);
        for (std::size_t i = 0; i < n; ++i) ranked_[i] = {keys[i], i};
        std::sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) {
            return a.key != b.key ? a.key > b.key : a.row < b.row;
        });
        for (Found& found : found_) {
            const double key = keys[found.row];
            const auto above = [](const Ranked& a, double b) { return a.key > b; };
            const auto below = [](double a, const Ranked& b) { return a > b.key; };
            const auto first = std::lower_bound(ranked_.begin(), ranked_.end(), key, above);
            found.start = static_cast<std::size_t>(first - ranked_.begin());
            found.size = static_cast<std::size_t>(std::upper_bound(first, ranked_.end(), key, below) - first);
        }
    }

    // The rows of the tie group of `found`, in input order.
    void gather(const Group& group, const Found& found) {
        members_.clear();
        if (order_ == Order::counted) {
            const double key = group.keys()[found.row];
            for (std::size_t i = 0; i < group.size(); ++i) {
                if (group.keys()[i] == key) members_.push_back(i);
            }
        } else {
            for (std::size_t i = found.start; i < found.start + found.size; ++i) {
                members_.push_back(order_ == Order::given ? i : ranked_[i].row);
            }
        }
    }

    // Hits i up to `end` share a tie group.
    void append(const Group& group, std::size_t query, std::size_t i, std::size_t end, std::vector<Hit>& hits) {
        const std::size_t first = hits.size();
        for (std::size_t k = i; k < end; ++k) {
            const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
            const Found& found = found_[k];
            hits.push_back({number(query), number(found.document), number(found.start), number(found.size), 0, 0});
        }
        if (found_[i].size == 1) return;
        gather(group, found_[i]);
        for (std::size_t k = i; k < end; ++k) {
            const auto place = std::lower_bound(members_.begin(), members_.end(), found_[k].row) - members_.begin();
            hits[first + k - i].by_input = place;
        }
        if (!by_id_) return;
        const auto above = [&](std::size_t a, std::size_t b) { return group[a].id > group[b].id; };
        // Counting costs the group's size for each hit, sorting its logarithm for each member.
        const bool sort = end - i > static_cast<std::size_t>(std::bit_width(members_.size()));
        if (sort) std::sort(members_.begin(), members_.end(), above);
        for (std::size_t k = i; k < end; ++k) {
            const std::size_t row = found_[k].row;
            hits[first + k - i].by_id =
                sort ? std::lower_bound(members_.begin(), members_.end(), row, above) - members_.begin()
                     : std::count_if(members_.begin(), members_.end(), [&](std::size_t m) { return above(m, row); });
        }
    }

    static constexpr std::size_t few = 16;

    struct Ranked {
        double key;
        std::size_t row;
    };

    const bool by_id_;
    Order order_ = Order::given;
    std::vector<std::uint64_t> noted_;  // row in the upper half, place in `documents_` in the lower: quick to sort
    std::vector<std::size_t> documents_;
    std::vector<Found> found_;
    std::vector<Ranked> ranked_;
    std::vector<std::size_t> members_;
};

}  // namespace cranfield
