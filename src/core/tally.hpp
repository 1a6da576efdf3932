// What a join has found so far, from whichever worker and in whichever order.
#pragma once

#include <mutex>

#include "bytes.hpp"
#include "faults.hpp"
#include "spans.hpp"

namespace cranfield {

// Consecutive rows of one query. What is found in them follows on what was found in the segment before.
struct Segment {
    Text query;
    std::uint32_t number;  // of the index, or Ids::none
    std::uint64_t line;
    std::size_t length;
    std::size_t hits_end;
    std::array<std::size_t, most_keys> tops_end;
};

// Whether the rank column agrees with the scores, as far as the first and the last of consecutive rows show it.
struct RankCheck {
    std::uint64_t compared = 0, contradicted = 0;

    void add(double first_rank, double first_score, double last_rank, double last_score) {
        // The highest score has the lowest rank. What is equal or NaN says nothing.
        const bool rises = first_rank < last_rank, falls = first_rank > last_rank;
        if (!(rises || falls) || first_score == last_score) return;
        ++compared;
        contradicted += rises == (first_score < last_score);
    }
};

// What one worker found in one block.
struct Part {
    explicit Part(std::size_t most_faults = Faults::usual) : faults(most_faults), most_faults_(most_faults) {}

    std::vector<Segment> segments;
    std::array<Found, most_keys> found;  // by key
    Faults faults;
    std::uint64_t rows = 0;
    std::uint64_t tag_line = ~std::uint64_t{0};
    Text tag;
    RankCheck ranks;

    void clear() {
        segments.clear();
        for (Found& each : found) {
            each.hits.clear();
            each.tops.clear();
        }
        faults = Faults(most_faults_);
        rows = 0;
        tag_line = ~std::uint64_t{0};
        ranks = RankCheck();
    }

    // To be called when all of the segment is found: every key has as many hits, but not as many tops.
    void close_segment(Text query, std::uint32_t number, std::uint64_t line, std::size_t length) {
        segments.push_back({query, number, line, length, found[0].hits.size(), {}});
        for (std::size_t k = 0; k < most_keys; ++k) segments.back().tops_end[k] = found[k].tops.size();
    }

    std::size_t size() const {
        std::size_t total = 0;
        for (const Found& each : found) total += each.hits.size() + each.tops.size();
        return total;
    }

    std::size_t weight() const {
        std::size_t total = 0;
        for (const Found& each : found) {
            total += each.hits.capacity() * sizeof(Hit) + each.tops.capacity() * sizeof(Top);
        }
        return total;
    }

private:
    std::size_t most_faults_;
};

class Tally {
public:
    Tally(const Index& index, const Settings& settings)
        : index_(index), settings_(settings), known_(index.queries()), known_tops_(settings.top ? index.queries() : 0),
          faults_(settings.most_faults) {
        store_->clear();
    }

    void add(const Part& part) {
        const std::lock_guard lock(mutex_);
        std::size_t hits_begin = 0;
        std::array<std::size_t, most_keys> tops_begin{};
        for (const Segment& segment : part.segments) {
            const bool known = segment.number != Ids::none;
            const std::size_t code = known ? segment.number : other(segment.query);
            State& state = known ? known_[code] : other_[code];
            state.line = std::min(state.line, segment.line);
            if (state.length < 0) {
                state.length = 0;
                state.hits = keep_hits(part, hits_begin, segment.hits_end);
                if (settings_.top != 0) {
                    (known ? known_tops_ : other_tops_)[code] = keep_tops(part, tops_begin, segment.tops_end);
                }
            } else {
                state.split = split_ = true;
            }
            state.length += static_cast<std::int64_t>(segment.length);
            hits_begin = segment.hits_end;
            tops_begin = segment.tops_end;
        }
        faults_.merge(part.faults);
        rows_ += part.rows;
        ranks_.compared += part.ranks.compared;
        ranks_.contradicted += part.ranks.contradicted;
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
        faults_ = Faults(settings_.most_faults);
    }

    Faults& faults() { return faults_; }
    std::uint64_t rows() const { return rows_; }
    const RankCheck& ranks() const { return ranks_; }
    const std::string& tag() const { return tag_; }

    std::vector<std::int64_t> lengths() const {
        std::vector<std::int64_t> lengths;
        lengths.reserve(known_.size());
        for (const State& state : known_) lengths.push_back(state.length);
        return lengths;
    }

    // Ids and lengths of the queries that the index does not have, in order of appearance.
    std::pair<Strings, std::vector<std::int64_t>> others() const {
        std::pair<Strings, std::vector<std::int64_t>> found;
        for (const std::size_t code : others_in_order()) {
            found.first.add(others_.texts()[code]);
            found.second.push_back(other_[code].length);
        }
        return found;
    }

    static constexpr std::size_t columns = 6;

    // How many hits there are; with every key the same.
    std::size_t hits() const {
        std::size_t total = 0;
        for (const State& state : known_) total += state.hits.count;
        return total;
    }

    // Columns of `hits()` numbers each: query, document, start, size, by_id, by_input; by query, best first.
    void copy_hits(std::size_t key, std::int64_t* into) const {
        Writer writer{into, hits()};
        for (std::size_t query = 0; query < known_.size(); ++query) {
            const auto begin = static_cast<std::int64_t>(index_.begin(query));
            for (const Hit& hit : known_[query].hits.of(store_->kept[key].hits)) {
                writer.add(query, begin + hit.document, hit);
            }
        }
    }

    std::size_t tops(std::size_t key) const {
        std::size_t total = 0;
        for (const auto* all : {&known_tops_, &other_tops_}) {
            for (const auto& ranges : *all) total += ranges[key].count;
        }
        return total;
    }

    // The same for the first documents, with -1 for the document where it is not judged; and their ids.
    Strings copy_tops(std::size_t key, std::int64_t* into) const {
        const Kept& kept = store_->kept[key];
        Writer writer{into, tops(key)};
        Strings ids;
        ids.offsets.reserve(tops(key) + 1);
        const auto copy = [&](std::size_t query, std::int64_t begin, const Range& range) {
            for (std::size_t i = range.first; i < range.first + range.count; ++i) {
                const Hit& top = kept.tops[i];
                writer.add(query, top.document == Top::unjudged ? -1 : begin + top.document, top);
                ids.add(kept.ids[i]);
            }
        };
        for (std::size_t query = 0; query < known_tops_.size(); ++query) {
            copy(query, static_cast<std::int64_t>(index_.begin(query)), known_tops_[query][key]);
        }
        std::size_t query = known_.size();
        for (const std::size_t code : others_in_order()) {
            if (settings_.top != 0) copy(query++, 0, other_tops_[code][key]);
        }
        return ids;
    }

private:
    // What was found with one key.
    struct Kept {
        std::vector<Hit> hits, tops;
        Strings ids{};  // of the tops
    };

    struct Store {
        std::array<Kept, most_keys> kept;

        void clear() {
            for (Kept& each : kept) {
                each.hits.clear();
                each.tops.clear();
                each.ids.clear();
            }
        }

        std::size_t weight() const {
            std::size_t total = 0;
            for (const Kept& each : kept) {
                total += (each.hits.capacity() + each.tops.capacity()) * sizeof(Hit) + each.ids.weight();
            }
            return total;
        }
    };

    struct Range {
        std::size_t first = 0, count = 0;

        std::span<const Hit> of(const std::vector<Hit>& list) const { return {list.data() + first, count}; }
    };

    using Ranges = std::array<Range, most_keys>;

    struct State {
        std::int64_t length = -1;
        std::uint64_t line = ~std::uint64_t{0};
        Range hits{};  // of its only segment
        bool split = false;
    };

    struct Writer {
        std::int64_t* next;
        std::size_t length;

        void add(std::size_t query, std::int64_t document, const Hit& hit) {
            next[0] = static_cast<std::int64_t>(query);
            next[length] = document;
            next[2 * length] = hit.start;
            next[3 * length] = hit.size;
            next[4 * length] = hit.by_id;
            next[5 * length] = hit.by_input;
            ++next;
        }
    };

    Range keep_hits(const Part& part, std::size_t begin, std::size_t end) {
        const Range range{store_->kept[0].hits.size(), end - begin};
        for (std::size_t k = 0; k < settings_.keys.size(); ++k) {
            std::vector<Hit>& hits = store_->kept[k].hits;
            hits.insert(hits.end(), part.found[k].hits.data() + begin, part.found[k].hits.data() + end);
        }
        return range;
    }

    Ranges keep_tops(const Part& part, const std::array<std::size_t, most_keys>& begin,
                     const std::array<std::size_t, most_keys>& end) {
        Ranges ranges;
        for (std::size_t k = 0; k < settings_.keys.size(); ++k) {
            Kept& kept = store_->kept[k];
            ranges[k] = {kept.tops.size(), end[k] - begin[k]};
            for (std::size_t i = begin[k]; i < end[k]; ++i) {
                kept.tops.push_back(part.found[k].tops[i].place);
                kept.ids.add(part.found[k].tops[i].id);
            }
        }
        return ranges;
    }

    std::size_t other(Text query) {
        const std::uint32_t code = others_.number(query);
        if (code == other_.size()) {
            other_.emplace_back();
            if (settings_.top != 0) other_tops_.emplace_back();
        }
        return code;
    }

    std::vector<std::size_t> others_in_order() const {
        std::vector<std::size_t> order(other_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        const auto earlier = [&](std::size_t a, std::size_t b) { return other_[a].line < other_[b].line; };
        std::sort(order.begin(), order.end(), earlier);
        return order;
    }

    const Index& index_;
    const Settings& settings_;
    std::mutex mutex_;
    std::vector<State> known_;
    std::vector<Ranges> known_tops_;  // empty where no tops are wanted
    Ids others_;
    std::vector<State> other_;
    std::vector<Ranges> other_tops_;
    const Borrowed<Store> store_;
    Faults faults_;
    std::uint64_t rows_ = 0;
    RankCheck ranks_;
    std::uint64_t tag_line_ = ~std::uint64_t{0};
    std::string tag_;
    bool split_ = false;
};

}  // namespace cranfield
