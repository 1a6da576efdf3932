// Whole files as columns.
#pragma once

#include <cmath>

#include "threads.hpp"
#include "feeder.hpp"
#include "index.hpp"
#include "lines.hpp"
#include "numbers.hpp"

namespace cranfield {

// Numbers ids of which the same one mostly comes many times in a row.
class Coder {
public:
    std::int64_t number(Text text) {
        if (ids_.size() == 0 || !same(ids_.texts()[last_], text)) last_ = ids_.number(text);
        return last_;
    }

    Strings take() { return ids_.take(); }
    const Strings& texts() const { return ids_.texts(); }

private:
    Ids ids_;
    std::uint32_t last_ = 0;
};

// Calls `again(row, first)` for every row whose text an earlier row with the same code has.
template <class Codes, class Texts, class Again>
void find_repeats(const Codes& codes, std::size_t distinct, const Texts& texts, Again again) {
    const Grouping rows(codes, distinct);
    Group group;
    Lookup lookup;
    for (std::size_t code = 0; code < distinct; ++code) {
        group.clear(false);
        rows.visit(code, [&](std::size_t row) { group.add(texts[row], 0, 0, row); });
        lookup.build(group, [&](std::size_t i, std::size_t first) { again(group.line(i), group.line(first)); });
    }
}

template <std::size_t Width, class Sink>
void scan(Source& source, std::size_t block_size, Crew& crew, Sink& sink) {
    Feeder feeder(source, block_size, Feeder::Cut::lines, crew.stop());
    const auto work = [&] {
        const Borrowed<Block> block;
        while (feeder.next(*block)) {
            read_lines<Width>(block->text(), block->line, sink);
            crew.breathe();
        }
        sink.check();
    };
    crew.run(work, source.size() != 0 ? Crew::Caller::works : Crew::Caller::listens);
    if (const auto& fatal = feeder.fatal()) {
        sink.faults.add(fatal->line, fatal->kind, fatal->query, fatal->text, fatal->other);
    }
}

struct QrelsColumns {
    explicit QrelsColumns(std::size_t most_faults = Faults::usual) : faults(most_faults) {}

    Coder query, iteration;
    std::vector<std::int64_t> query_of, iteration_of, line;
    Strings document;
    std::vector<double> grade;
    Faults faults;

    void row(std::uint64_t at, const Columns<4>& columns) {
        double value = 0;
        if (!parse_number(columns[3], value) || !std::isfinite(value)) {
            faults.add(at, "grade", columns[0], columns[3]);
            return;
        }
        query_of.push_back(query.number(columns[0]));
        iteration_of.push_back(iteration.number(columns[1]));
        document.add(columns[2]);
        grade.push_back(value);
        line.push_back(static_cast<std::int64_t>(at));
    }

    void odd(std::uint64_t at, Text text, std::size_t count) { faults.add(at, "columns", {}, text, count); }

    // A judgment may be given twice, but not with two grades; those of two iterations are two judgments.
    void check() {
        Coder pair;
        std::vector<std::int64_t> pair_of;
        pair_of.reserve(query_of.size());
        for (std::size_t i = 0; i < query_of.size(); ++i) {
            char both[16];
            std::memcpy(both, &query_of[i], 8);
            std::memcpy(both + 8, &iteration_of[i], 8);
            pair_of.push_back(pair.number({both, sizeof both}));
        }
        find_repeats(pair_of, pair.texts().size(), document, [&](std::size_t row, std::size_t first) {
            if (grade[row] == grade[first]) return;
            faults.add(static_cast<std::uint64_t>(line[row]), "conflict",
                       query.texts()[static_cast<std::size_t>(query_of[row])], document[row],
                       static_cast<std::uint64_t>(line[first]));
        });
    }
};

struct RunColumns {
    explicit RunColumns(std::size_t most_faults = Faults::usual) : faults(most_faults) {}

    Coder query;
    std::vector<std::int64_t> query_of, line;
    Strings document;
    std::vector<double> rank, score;
    std::string tag;
    Faults faults;

    void row(std::uint64_t at, const Columns<6>& columns) {
        double value = 0, place = 0;
        const bool is_number = parse_number(columns[4], value);
        if (!is_number || std::isnan(value)) {
            faults.add(at, is_number ? "nan" : "score", columns[0], columns[4]);
            return;
        }
        if (!parse_number(columns[3], place)) place = std::numeric_limits<double>::quiet_NaN();
        if (line.empty()) tag = columns[5];
        query_of.push_back(query.number(columns[0]));
        document.add(columns[2]);
        rank.push_back(place);
        score.push_back(value);
        line.push_back(static_cast<std::int64_t>(at));
    }

    void odd(std::uint64_t at, Text text, std::size_t count) { faults.add(at, "columns", {}, text, count); }

    void check() {
        find_repeats(query_of, query.texts().size(), document, [&](std::size_t row, std::size_t first) {
            faults.add(static_cast<std::uint64_t>(line[row]), "duplicate",
                       query.texts()[static_cast<std::size_t>(query_of[row])], document[row],
                       static_cast<std::uint64_t>(line[first]));
        });
    }
};

}  // namespace cranfield
