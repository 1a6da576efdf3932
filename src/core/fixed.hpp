// Documents that stay the same while their scores change: their ids are joined once, and only their places are found.
#pragma once

#include <optional>
#include <span>
#include <stdexcept>

#include "bytes.hpp"
#include "spans.hpp"
#include "table.hpp"

namespace cranfield {

struct FixedView {
    StringsView document;                  // query by query
    std::span<const std::int64_t> begin;   // the documents of query q are rows begin[q] to begin[q + 1]
    std::span<const std::int64_t> row;     // of each judged document, ascending
    std::span<const std::int64_t> judged;  // its row of the index
    std::span<const double> score;
    std::optional<std::span<const double>> rank;
};

// A hit for each judged document with each key, in columns of row.size() numbers: query, document, start, size, by_id,
// by_input; by query, best first.
inline void locate_fixed(const FixedView& view, const Settings& settings,
                         const std::array<std::int64_t*, most_keys>& into) {
    const Borrowed<Locator> locator;
    std::array<Found, most_keys> found;
    std::vector<double> negated;
    const std::size_t columns = view.row.size(), rows = view.score.size();
    std::size_t next = 0;
    for (std::size_t query = 0; query + 1 < view.begin.size(); ++query) {
        const auto first = static_cast<std::size_t>(view.begin[query]);
        const auto last = static_cast<std::size_t>(view.begin[query + 1]);
        if (first > last || last > rows) throw std::out_of_range("queries must not overlap");
        const std::size_t written = next;
        locator->clear(last - first);
        for (; next < columns && static_cast<std::size_t>(view.row[next]) < last; ++next) {
            const auto row = static_cast<std::size_t>(view.row[next]);
            if (row < first || (next != written && view.row[next - 1] >= view.row[next])) {
                throw std::out_of_range("judged documents must ascend");
            }
            locator->note(row - first, next - written);
        }
        if (next == written) continue;
        if (settings.by_rank() && view.rank) {
            negated.clear();
            for (std::size_t row = first; row < last; ++row) negated.push_back(-(*view.rank)[row]);
        }
        for (Found& each : found) each.hits.clear();
        locator->locate(view.score.subspan(first, last - first), negated, settings,
                        [&](std::size_t row) { return view.document[first + row]; }, found);
        for (std::size_t key = 0; key < settings.keys.size(); ++key) {
            std::int64_t* out = into[key] + written;
            for (const Hit& hit : found[key].hits) {
                out[0] = static_cast<std::int64_t>(query);
                out[columns] = view.judged[written + hit.document];
                out[2 * columns] = hit.start;
                out[3 * columns] = hit.size;
                out[4 * columns] = hit.by_id;
                out[5 * columns] = hit.by_input;
                ++out;
            }
        }
    }
    if (next != columns) throw std::out_of_range("every judged document must belong to a query");
}

}  // namespace cranfield
