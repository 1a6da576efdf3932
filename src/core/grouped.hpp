// Rows that are all in memory, whose queries may be interleaved.
#pragma once

#include <atomic>

#include "bytes.hpp"
#include "threads.hpp"
#include "index.hpp"
#include "tally.hpp"

namespace cranfield {

// Checks a query's rows for duplicates and finds its judged and its first documents among them.
class Finisher {
public:
    Finisher(const Index& index, const Settings& settings) : index_(index), settings_(settings) {}

    void check(const Group& group, Text query, Faults& faults) {
        lookup_->build(group, [&](std::size_t row, std::size_t first) {
            faults.add(group.line(row), "duplicate", query, group.id(row), group.line(first));
        });
    }

    // Adds the group to the part as a segment that begins at `line`.
    void finish(const Group& group, Text query, std::uint32_t number, std::uint64_t line, Part& part) {
        check(group, query, part.faults);
        locator_->clear(0);
        if (number != Ids::none) {
            const JudgedRows judged = index_.judged(number);
            locator_->clear(judged.size());
            for (std::size_t document = 0; document != judged.size(); ++document) {
                const std::size_t row = lookup_->find(group, judged.hash(document), judged.id(document));
                if (row != Lookup::none) locator_->note(row, document);
            }
        }
        lookup_->release_if_large();
        const auto id_of = [&](std::size_t row) { return group.id(row); };
        locator_->locate(group.scores(), group.ranks(), settings_, id_of, part.found);
        part.close_segment(query, number, line, group.size());
    }

private:
    const Index& index_;
    const Settings& settings_;
    const Borrowed<Lookup> lookup_;
    const Borrowed<Locator> locator_;
};

// `codes[i]` numbers the query of row i among `queries`; `fill(group, i)` adds that row to a group, with its rank where
// rows are ranked. Every query becomes one segment of the tally.
template <class Fill>
void join_grouped(const std::vector<std::uint32_t>& codes, const Strings& queries, const Index& index,
                  const Settings& settings, bool ranked, Fill fill, Tally& tally, Crew& crew) {
    const Grouping rows(codes, queries.size());
    std::atomic<std::size_t> turn = 0;
    constexpr std::size_t portion = 16;
    const auto work = [&] {
        Finisher finisher(index, settings);
        const Borrowed<Group> group;
        Part part(settings.most_faults);
        for (;;) {
            const std::size_t first = turn.fetch_add(portion);
            if (first >= queries.size()) break;
            part.clear();
            for (std::size_t code = first; code < std::min(first + portion, queries.size()); ++code) {
                crew.breathe();
                group->clear(ranked);
                rows.visit(code, [&](std::size_t row) { fill(*group, row); });
                const std::uint64_t line = group->size() == 0 ? 0 : group->line(0);
                finisher.finish(*group, queries[code], index.find(queries[code]), line, part);
            }
            tally.add(part);
        }
    };
    crew.run(work, Crew::Caller::works);
}

}  // namespace cranfield
