// What a join has found so far, from whichever worker and in whichever order.
#pragma once

#include <mutex>

#include "borrowed.hpp"
#include "faults.hpp"
#include "spans.hpp"

namespace cranfield {

// Consecutive rows of one query.
struct Segment {
    Text query;
    std::uint32_t number;  // of the index, or Ids::none
    std::uint64_t line;
    std::size_t length;
    std::size_t hits;
};

// What one worker found in one block: the hits of its segments, one after the other.
struct Part {
    std::vector<Segment> segments;
    std::vector<Hit> hits;
    Faults faults;
    std::uint64_t rows = 0;
    std::uint64_t tag_line = ~std::uint64_t{0};
    Text tag;

    void clear() {
        segments.clear();
        hits.clear();
        faults = Faults();
        rows = 0;
        tag_line = ~std::uint64_t{0};
    }
};

class Tally {
public:
    explicit Tally(const Index& index) : index_(index), known_(index.queries()) { hits_->list.clear(); }

    void add(const Part& part) {
        const std::lock_guard lock(mutex_);
        const Hit* hits = part.hits.data();
        for (const Segment& segment : part.segments) {
            State& state = segment.number == Ids::none ? other(segment.query) : known_[segment.number];
            state.line = std::min(state.line, segment.line);
            if (state.length < 0) {
                state.length = 0;
                state.first = hits_->list.size();
                state.hits = segment.hits;
                hits_->list.insert(hits_->list.end(), hits, hits + segment.hits);
            } else {
                state.split = split_ = true;
            }
            state.length += static_cast<std::int64_t>(segment.length);
            hits += segment.hits;
        }
        faults_.merge(part.faults);
        rows_ += part.rows;
        if (part.tag_line < tag_line_) {
            tag_line_ = part.tag_line;
            tag_ = part.tag;
        }
    }

    void add(const Fault& fault) { faults_.add(fault.line, fault.kind, fault.query, fault.text, fault.other); }

    // True if some query was found in more than one segment, so that none of them could be placed.
    bool split() const { return split_; }
    bool is_split(Text query, std::uint32_t number) const {
        if (number != Ids::none) return known_[number].split;
        const std::uint32_t code = others_.find(query);
        return code != Ids::none && other_[code].split;
    }

    // Makes room for the split queries to be added again, each as one segment, and for all faults.
    void forget_split() {
        for (std::vector<State>* states : {&known_, &other_}) {
            for (State& state : *states) {
                if (state.split) state.length = -1;
            }
        }
        faults_ = Faults();
    }

    Faults& faults() { return faults_; }
    std::uint64_t rows() const { return rows_; }
    const std::string& tag() const { return tag_; }

    std::vector<std::int64_t> lengths() const {
        std::vector<std::int64_t> lengths;
        lengths.reserve(known_.size());
        for (const State& state : known_) lengths.push_back(state.length);
        return lengths;
    }

    // Ids and lengths of the queries that the index does not have, in order of appearance.
    std::pair<Strings, std::vector<std::int64_t>> others() const {
        std::vector<std::size_t> order(other_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        const auto earlier = [&](std::size_t a, std::size_t b) { return other_[a].line < other_[b].line; };
        std::sort(order.begin(), order.end(), earlier);
        std::pair<Strings, std::vector<std::int64_t>> found;
        for (const std::size_t i : order) {
            found.first.add(others_.texts()[i]);
            found.second.push_back(other_[i].length);
        }
        return found;
    }

    std::size_t hits() const {
        std::size_t total = 0;
        for (const State& state : known_) total += state.hits;
        return total;
    }

    // Six columns of `hits()` numbers each: query, document, start, size, by_id, by_input; by query, best first.
    void copy_hits(std::int64_t* columns) const {
        const std::size_t total = hits();
        std::size_t row = 0;
        for (std::size_t query = 0; query < known_.size(); ++query) {
            const auto begin = static_cast<std::int64_t>(index_.begin(query));
            for (std::size_t i = 0; i < known_[query].hits; ++i, ++row) {
                const Hit& hit = hits_->list[known_[query].first + i];
                columns[row] = static_cast<std::int64_t>(query);
                columns[row + total] = begin + hit.document;
                columns[row + 2 * total] = hit.start;
                columns[row + 3 * total] = hit.size;
                columns[row + 4 * total] = hit.by_id;
                columns[row + 5 * total] = hit.by_input;
            }
        }
    }

private:
    struct Hits {
        std::vector<Hit> list;

        std::size_t weight() const { return list.capacity() * sizeof(Hit); }
    };

    struct State {
        std::int64_t length = -1;
        std::uint64_t line = ~std::uint64_t{0};
        std::size_t first = 0, hits = 0;  // of its only segment
        bool split = false;
    };

    State& other(Text query) {
        const std::uint32_t code = others_.number(query);
        if (code == other_.size()) other_.emplace_back();
        return other_[code];
    }

    const Index& index_;
    std::mutex mutex_;
    std::vector<State> known_;
    Ids others_;
    std::vector<State> other_;
    const Borrowed<Hits> hits_;
    Faults faults_;
    std::uint64_t rows_ = 0;
    std::uint64_t tag_line_ = ~std::uint64_t{0};
    std::string tag_;
    bool split_ = false;
};

}  // namespace cranfield
