// Rows that are all in memory, whose queries may be interleaved.
#pragma once

#include <atomic>

#include "borrowed.hpp"
#include "crew.hpp"
#include "grouping.hpp"
#include "tally.hpp"

namespace cranfield {

// Checks a query's rows for duplicates and finds its judged documents among them.
class Finisher {
public:
    Finisher(const Index& index, bool by_id) : index_(index), by_id_(by_id) {}

    void finish(const Group& group, Text query, std::uint32_t number, Part& part) {
        lookup_->build(group, [&](std::size_t row, std::size_t first) {
            part.faults.add(group.line(row), "duplicate", query, group.id(row), group.line(first));
        });
        if (number == Ids::none) return;
        locator_->clear();
        const JudgedRows judged = index_.judged(number);
        for (std::size_t document = 0; document != judged.size(); ++document) {
            const std::size_t row = lookup_->find(group, judged.hash(document), judged.id(document));
            if (row != Lookup::none) locator_->note(row, document);
        }
        locator_->locate(group.keys(), by_id_, [&](std::size_t row) { return group.id(row); }, part.hits);
    }

private:
    const Index& index_;
    const bool by_id_;
    const Borrowed<Lookup> lookup_;
    const Borrowed<Locator> locator_;
};

// `codes[i]` numbers the query of row i among `queries`; `fill(group, i)` adds that row to a group. Every
// query becomes one segment of the tally.
template <class Fill>
void join_grouped(const std::vector<std::uint32_t>& codes, const Strings& queries, const Index& index, bool by_id,
                  Fill fill, Tally& tally, Crew& crew) {
    const Grouping rows(codes, queries.size());
    std::atomic<std::size_t> turn = 0;
    constexpr std::size_t portion = 16;
    const auto work = [&] {
        Finisher finisher(index, by_id);
        const Borrowed<Group> group;
        Part part;
        for (;;) {
            const std::size_t first = turn.fetch_add(portion);
            if (first >= queries.size()) break;
            part.clear();
            for (std::size_t code = first; code < std::min(first + portion, queries.size()); ++code) {
                crew.breathe();
                group->clear();
                rows.visit(code, [&](std::size_t row) { fill(*group, row); });
                const std::uint32_t number = index.find(queries[code]);
                const std::size_t first = part.hits.size();
                finisher.finish(*group, queries[code], number, part);
                const std::uint64_t line = group->size() == 0 ? 0 : group->line(0);
                part.segments.push_back({queries[code], number, line, group->size(), part.hits.size() - first});
            }
            tally.add(part);
        }
    };
    crew.run(work, Crew::Caller::works);
}

}  // namespace cranfield
