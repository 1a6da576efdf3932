// Joins a run that is in memory as columns.
#pragma once

#include <cmath>
#include <optional>
#include <span>

#include "grouped.hpp"
#include "ranking.hpp"
#include "scan.hpp"

namespace cranfield {

// Somebody else's column of texts, in the layout of Strings.
struct StringsView {
    std::span<const std::int64_t> offsets;
    const char* bytes;

    std::size_t size() const { return offsets.size() - 1; }
    Text operator[](std::size_t i) const {
        return {bytes + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

struct TableView {
    StringsView query, document;
    std::span<const double> score;
    std::optional<std::span<const double>> rank;
};

inline void join_columns(const TableView& table, const Index& index, const Settings& settings, Tally& tally,
                         Crew& crew) {
    const std::size_t n = table.score.size();
    const bool ranked = settings.by_rank() && table.rank;
    Coder queries;
    std::vector<std::uint32_t> codes(n);
    Part whole(settings.most_faults);
    whole.rows = n;
    const auto is_fault = [&](std::size_t i) {
        return std::isnan(table.score[i]) || (ranked && std::isnan((*table.rank)[i]));
    };
    std::size_t first = n, last = n;  // of consecutive rows of one query, faulty ones aside
    const auto check_ranks = [&] {
        if (!table.rank || first == last) return;
        whole.ranks.add((*table.rank)[first], table.score[first], (*table.rank)[last], table.score[last]);
    };
    for (std::size_t i = 0; i < n; ++i) {
        codes[i] = static_cast<std::uint32_t>(queries.number(table.query[i]));
        if (is_fault(i)) whole.faults.add(i + 1, std::isnan(table.score[i]) ? "nan" : "rank", table.query[i], "nan");
        if (is_fault(i)) continue;
        if (first == n || codes[i] != codes[first]) {
            check_ranks();
            first = i;
        }
        last = i;
    }
    check_ranks();
    tally.add(whole);
    const auto fill = [&](Group& group, std::size_t i) {
        if (!is_fault(i)) group.add(table.document[i], table.score[i], ranked ? -(*table.rank)[i] : 0, i + 1);
    };
    join_grouped(codes, queries.texts(), index, settings, ranked, fill, tally, crew);
}

}  // namespace cranfield
