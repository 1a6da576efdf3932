// Where the documents of one query stand: those that are judged, and the first ones.
#pragma once

#include "index.hpp"
#include "ranking.hpp"

namespace cranfield {

struct Hit {
    std::uint32_t document;  // counted from the first judged document of its query
    std::uint32_t start;     // documents ranked strictly above its tie group
    std::uint32_t size;      // documents in that group
    std::uint32_t by_id;     // its place in the group where ids descend
    std::uint32_t by_input;  // its place in the group in input order
};

// A document among the first of its query.
struct Top {
    static constexpr std::uint32_t unjudged = ~std::uint32_t{0};

    Text id;
    Hit place;  // its document is `unjudged` where nobody judged it
};

// What is found with one key.
struct Found {
    std::vector<Hit> hits;
    std::vector<Top> tops;
};

class Locator {
public:
    // Up to so many rows are to come.
    void clear(std::size_t most) {
        if (judged_.size() < most) judged_.resize(most);
        many_ = 0;
    }

    // Says that row `row` is the judged document `document`, both of the query at hand.
    void note(std::size_t row, std::size_t document) {
        judged_[many_++] = {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(document)};
    }

    // Appends, for each key of the settings, a hit for each row noted, best first and tied ones in input order, and the
    // first documents likewise. Row i has scores[i], ranks[i], if there are ranks, and the id id_of(i).
    template <class IdOf>
    void locate(std::span<const double> scores, std::span<const double> ranks, const Settings& settings, IdOf id_of,
                std::array<Found, most_keys>& found) {
        if (many_ == 0 && settings.top == 0) return;
        const auto before = [](const Judged& a, const Judged& b) { return a.at < b.at; };
        const std::span<Judged> judged(judged_.data(), many_);
        if (!std::is_sorted(judged.begin(), judged.end(), before)) {
            // A bit for each row sorts faster than comparisons, unless few of very many rows are judged.
            if (scores.size() / 256 <= many_) {
                place_judged(scores.size(), [](const Judged& each) { return each.at; });
                judged_.swap(placed_);
            } else {
                std::sort(judged.begin(), judged.end(), before);
            }
        }
        for (std::size_t k = 0; k < settings.keys.size(); ++k) {
            locate(keys_.of(settings.keys[k], scores, ranks), settings, id_of, found[k]);
        }
    }

    std::size_t weight() const {
        return ranking_.weight() + document_at_.capacity() * sizeof(std::uint32_t) +
               (judged_.capacity() + placed_.capacity()) * sizeof(Judged);
    }

private:
    // A judged document and its row, or its place in the ranking.
    struct Judged {
        std::uint32_t at, document;
    };

    std::span<const Judged> noted() const { return {judged_.data(), many_}; }

    template <class IdOf>
    void locate(std::span<const double> keys, const Settings& settings, IdOf id_of, Found& found) {
        const auto level = std::adjacent_find(keys.begin(), keys.end(), std::less_equal<double>());
        if (level == keys.end() && settings.top == 0) {
            append_untied(found.hits);
        } else if (std::is_sorted(level, keys.end(), std::greater<double>())) {
            append(AsGiven{keys}, noted(), settings, id_of, found);
        } else if (many_ <= few && settings.top == 0) {
            count(keys, settings.by_id, id_of, found.hits);
        } else {
            ranking_.rank(keys);
            ranking_.sort_first(settings.top);
            place_judged(keys.size(), [&](const Judged& judged) { return ranking_.place(judged.at); });
            append(ranking_, placed_, settings, id_of, found);
        }
    }

    // The judged documents by their places, all below n, in `placed_`.
    template <class PlaceOf>
    void place_judged(std::size_t n, PlaceOf place_of) {
        is_judged_.assign(n / 64 + 1, 0);
        if (document_at_.size() < n) document_at_.resize(n);
        for (const Judged& judged : noted()) {
            const std::size_t place = place_of(judged);
            is_judged_[place / 64] |= std::uint64_t{1} << (place % 64);
            document_at_[place] = judged.document;
        }
        placed_.clear();
        for (std::size_t word = 0; word < is_judged_.size(); ++word) {
            for (std::uint64_t bits = is_judged_[word]; bits != 0; bits &= bits - 1) {
                const std::size_t place = 64 * word + static_cast<std::size_t>(std::countr_zero(bits));
                placed_.push_back({static_cast<std::uint32_t>(place), document_at_[place]});
            }
        }
    }

    template <class Order, class IdOf>
    void append(const Order& order, std::span<const Judged> placed, const Settings& settings, IdOf id_of,
                Found& found) {
        append_hits(order, placed, settings.by_id, id_of, found.hits);
        append_tops(order, placed, settings.top, id_of, found.tops);
    }

    // Of rows in the order given, none of them tied.
    void append_untied(std::vector<Hit>& hits) const {
        const std::size_t begin = hits.size();
        hits.resize(begin + many_);
        for (std::size_t i = 0; i < many_; ++i) hits[begin + i] = {judged_[i].document, judged_[i].at, 1, 0, 0};
    }

    template <class Order, class IdOf>
    void append_hits(const Order& order, std::span<const Judged> placed, bool by_id, IdOf id_of,
                     std::vector<Hit>& hits) {
        const auto n = static_cast<std::uint32_t>(order.size());
        const std::size_t begin = hits.size();
        hits.resize(begin + placed.size());
        Hit* hit = hits.data() + begin;
        std::uint32_t start = 0, end = 0;
        Hit* first = hit;  // of the tie group at hand
        for (const Judged& judged : placed) {
            if (judged.at >= end) {
                if (by_id && end - start > 1) order_by_id(order, id_of, {first, hit});
                first = hit;
                // Nearly every tie group is one row, and its neighbours show that.
                const double key = order[judged.at].key;
                for (start = judged.at; start != 0 && order[start - 1].key == key;) --start;
                for (end = judged.at + 1; end != n && order[end].key == key;) ++end;
            }
            *hit++ = {judged.document, start, end - start, 0, judged.at - start};
        }
        if (by_id && end - start > 1) order_by_id(order, id_of, {first, hit});
    }

    template <class Order, class IdOf>
    void append_tops(const Order& order, std::span<const Judged> placed, std::size_t top, IdOf id_of,
                     std::vector<Top>& tops) {
        const auto n = static_cast<std::uint32_t>(order.size());
        auto judged = placed.begin();
        for (std::uint32_t start = 0, end = 0; start < std::min<std::size_t>(top, n); start = end) {
            const double key = order[start].key;
            for (end = start + 1; end != n && order[end].key == key;) ++end;
            hits_of_tie_.clear();
            for (std::uint32_t place = start; place < end; ++place) {
                const bool is_judged = judged != placed.end() && judged->at == place;
                const std::uint32_t document = is_judged ? judged++->document : Top::unjudged;
                hits_of_tie_.push_back({document, start, end - start, 0, place - start});
            }
            if (end - start > 1) order_by_id(order, id_of, hits_of_tie_);
            for (const Hit& hit : hits_of_tie_) tops.push_back({id_of(order[start + hit.by_input].row), hit});
        }
    }

    // The places by id of hits that share a tie group.
    template <class Order, class IdOf>
    void order_by_id(const Order& order, IdOf id_of, std::span<Hit> hits) {
        const std::uint32_t start = hits[0].start, size = hits[0].size;
        members_.clear();
        for (std::uint32_t place = start; place < start + size; ++place) members_.emplace_back(id_of(order[place].row));
        // Counting costs the group's size for each hit, sorting its logarithm for each member.
        if (hits.size() <= static_cast<std::size_t>(std::bit_width(size))) {
            for (Hit& hit : hits) {
                const OrderedText id = members_[hit.by_input];
                for (const OrderedText& other : members_) hit.by_id += other > id;
            }
            return;
        }
        ordered_.assign(members_.begin(), members_.end());
        std::sort(ordered_.begin(), ordered_.end(), std::greater<OrderedText>());
        for (Hit& hit : hits) {
            const OrderedText& id = members_[hit.by_input];
            const auto above = std::lower_bound(ordered_.begin(), ordered_.end(), id, std::greater<OrderedText>());
            hit.by_id = static_cast<std::uint32_t>(above - ordered_.begin());
        }
    }

    // The same for a few, without an order of the others.
    template <class IdOf>
    void count(std::span<const double> keys, bool by_id, IdOf id_of, std::vector<Hit>& hits) {
        const auto first = static_cast<std::ptrdiff_t>(hits.size());
        for (const Judged& judged : noted()) {
            Hit hit{judged.document, 0, 0, 0, 0};
            const double key = keys[judged.at];
            std::uint64_t above = 0, equal = 0;  // as wide as keys, so that several are compared at once
            for (const double other : keys) {
                above += other > key;
                equal += other == key;
            }
            hit.start = static_cast<std::uint32_t>(above);
            hit.size = static_cast<std::uint32_t>(equal);
            if (hit.size > 1) {
                hit.by_input = static_cast<std::uint32_t>(std::count(keys.begin(), keys.begin() + judged.at, key));
                for (std::size_t row = 0; by_id && row < keys.size(); ++row) {
                    hit.by_id += keys[row] == key && id_of(row) > id_of(judged.at);
                }
            }
            hits.push_back(hit);
        }
        std::sort(hits.begin() + first, hits.end(), [](const Hit& a, const Hit& b) {
            return a.start != b.start ? a.start < b.start : a.by_input < b.by_input;
        });
    }

    static constexpr std::size_t few = 8;

    std::vector<Judged> judged_;  // the first `many_` are those of the query at hand
    std::size_t many_ = 0;
    KeyColumn keys_;
    Ranking ranking_;
    std::vector<std::uint64_t> is_judged_;    // a bit for each place
    std::vector<std::uint32_t> document_at_;  // by place
    std::vector<Judged> placed_;              // by place
    std::vector<OrderedText> members_, ordered_;
    std::vector<Hit> hits_of_tie_;
};

}  // namespace cranfield
