// Rows that are all in memory, whose queries may be interleaved.
#pragma once

#include <atomic>

#include "crew.hpp"
#include "grouping.hpp"
#include "source.hpp"
#include "tally.hpp"

namespace cranfield {

// Checks a query's rows for duplicates and finds its judged documents among them.
class Finisher {
public:
    Finisher(const Index& index, bool by_id) : index_(index), locator_(by_id) {}

    void finish(const Group& group, Text query, std::uint32_t number, Part& part) {
        lookup_.build(group, [&](std::size_t row, std::size_t first) {
            part.faults.add(group[row].line, "duplicate", query, group[row].id, group[first].line);
        });
        if (number != Ids::none) locator_.locate(group, lookup_, index_, number, part.hits);
    }

private:
    const Index& index_;
    Lookup lookup_;
    Locator locator_;
};

// `codes[i]` numbers the query of row i among `queries`; `fill(group, i)` adds that row to a group. Every
// query becomes one segment of the tally.
template <class Fill>
void join_grouped(const std::vector<std::uint32_t>& codes, const Strings& queries, const Index& index, bool by_id,
                  Fill fill, Tally& tally, Crew& crew) {
    const Grouping rows(codes, queries.size());
    std::atomic<std::size_t> turn = 0;
    constexpr std::size_t portion = 16;
    crew.run([&] {
        Finisher finisher(index, by_id);
        Group group;
        Part part;
        for (;;) {
            const std::size_t first = turn.fetch_add(portion);
            if (first >= queries.size()) break;
            part.clear();
            for (std::size_t code = first; code < std::min(first + portion, queries.size()); ++code) {
                if (crew.stop()) throw Stopped();
                group.clear();
                rows.visit(code, [&](std::size_t row) { fill(group, row); });
                const std::uint32_t number = index.find(queries[code]);
                finisher.finish(group, queries[code], number, part);
                part.segments.push_back({queries[code], number, group.size() == 0 ? 0 : group[0].line, group.size()});
            }
            tally.add(part);
        }
    });
}

}  // namespace cranfield
