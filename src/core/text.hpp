// Joins a run file with the judgments while it streams by.
//
// Queries whose lines are consecutive, as they are in nearly every file, are finished as soon as they have
// passed, and nothing of them is kept but their hits. Where a query comes back later the file is read a
// second time, and only the rows of such queries are held in memory.
#pragma once

#include <cmath>

#include "feeder.hpp"
#include "grouped.hpp"
#include "ranking.hpp"
#include "lines.hpp"
#include "numbers.hpp"

namespace cranfield {

// Rows of queries that come in pieces.
struct Gathered {
    std::uint64_t line = 0;  // of the first row
    std::vector<std::uint32_t> codes;
    Strings ids;
    std::vector<double> scores, ranks;
    std::vector<std::uint64_t> lines;
};

class TextJoin {
public:
    TextJoin(const Index& index, const Settings& settings, std::size_t block)
        : index_(index), settings_(settings), ranked_(settings.by_rank()), block_(block), tally_(index, settings) {}

    void first_pass(Source& source, Crew& crew) { pass(source, crew); }

    bool needs_second_pass() const { return tally_.split(); }

    void second_pass(Source& source, Crew& crew) {
        // A fault of the first pass may be a duplicate in a query that is now read otherwise: all are found anew.
        recheck_ = tally_.faults().total() != 0;
        second_ = true;
        tally_.forget_split();
        pass(source, crew);
        const auto earlier = [](const Gathered& a, const Gathered& b) { return a.line < b.line; };
        std::sort(gathered_.begin(), gathered_.end(), earlier);
        Gathered all;
        for (Gathered& part : gathered_) {
            for (std::size_t i = 0; i < part.codes.size(); ++i) all.ids.add(part.ids[i]);
            all.codes.insert(all.codes.end(), part.codes.begin(), part.codes.end());
            all.scores.insert(all.scores.end(), part.scores.begin(), part.scores.end());
            all.ranks.insert(all.ranks.end(), part.ranks.begin(), part.ranks.end());
            all.lines.insert(all.lines.end(), part.lines.begin(), part.lines.end());
            part = Gathered();
        }
        const auto fill = [&](Group& group, std::size_t i) {
            group.add(all.ids[i], all.scores[i], ranked_ ? all.ranks[i] : 0, all.lines[i]);
        };
        join_grouped(all.codes, split_.texts(), index_, settings_, ranked_, fill, tally_, crew);
    }

    Tally& tally() { return tally_; }

private:
    class Worker {
    public:
        explicit Worker(TextJoin& join) : join_(join), finisher_(join.index_, join.settings_) {}

        void read(const Block& block) {
            part_.clear();
            open_ = false;
            // A large block is one query; all its rows at once need less memory than rows that grow by doubling.
            if (block.size > large) group_->reserve(std::min<std::size_t>(block.lines, block.size / 16));
            read_lines<6>(block.text(), block.line, *this);
            close();
            join_.submit(part_, gathered_);
        }

        void row(std::uint64_t line, const Columns<6>& columns) {
            if (!open_ || !same(columns[0], query_)) {
                close();
                open(columns[0], line);
            }
            if (fate_ == Fate::skip) return;
            double score = 0, rank = 0;
            if (!parse_number(columns[4], score)) {
                part_.faults.add(line, "score", query_, columns[4]);
                return;
            }
            if (std::isnan(score)) {
                part_.faults.add(line, "nan", query_, columns[4]);
                return;
            }
            if (join_.ranked_ && (!parse_number(columns[3], rank) || std::isnan(rank))) {
                part_.faults.add(line, "rank", query_, columns[3]);
                return;
            }
            if (fate_ == Fate::gather) {
                if (gathered_.codes.empty()) gathered_.line = line;
                gathered_.codes.push_back(code_);
                gathered_.ids.add(columns[2]);
                gathered_.scores.push_back(score);
                if (join_.ranked_) gathered_.ranks.push_back(-rank);
                gathered_.lines.push_back(line);
                return;
            }
            if (part_.rows++ == 0) {
                part_.tag_line = line;
                part_.tag = columns[5];
            }
            group_->add(columns[2], score, -rank, line);
            if (group_->size() == 1) first_rank_ = columns[3];
            last_rank_ = columns[3];
        }

        void odd(std::uint64_t line, Text text, std::size_t count) {
            part_.faults.add(line, "columns", {}, text, count);
        }

    private:
        enum class Fate { finish, check, gather, skip };

        void open(Text query, std::uint64_t line) {
            open_ = true;
            query_ = query;
            line_ = line;
            number_ = join_.index_.find(query);
            group_->clear(join_.ranked_);
            if (!join_.second_) {
                fate_ = Fate::finish;
            } else if (join_.tally_.is_split(query, number_)) {
                fate_ = Fate::gather;
                code_ = join_.number_split(query);
            } else {
                fate_ = join_.recheck_ ? Fate::check : Fate::skip;
            }
        }

        void close() {
            if (!open_) return;
            if (fate_ == Fate::finish) {
                check_ranks();
                finisher_.finish(*group_, query_, number_, line_, part_);
            }
            if (fate_ == Fate::check) finisher_.check(*group_, query_, part_.faults);
            open_ = false;
        }

        void check_ranks() {
            double first = 0, last = 0;
            if (group_->size() < 2 || !parse_number(first_rank_, first) || !parse_number(last_rank_, last)) return;
            part_.ranks.add(first, group_->scores().front(), last, group_->scores().back());
        }

        TextJoin& join_;
        Finisher finisher_;
        const Borrowed<Group> group_;
        Part part_{join_.settings_.most_faults};
        Gathered gathered_;
        bool open_ = false;
        Fate fate_ = Fate::finish;
        Text query_;
        Text first_rank_, last_rank_;
        std::uint32_t number_ = Ids::none;
        std::uint32_t code_ = 0;
        std::uint64_t line_ = 0;
    };

    void pass(Source& source, Crew& crew) {
        // Where all is there for the taking the blocks are small enough for everybody to get some of them.
        const std::size_t size = source.size();
        const std::size_t share = std::max(least_share, size / (4 * crew.size()));
        Feeder feeder(source, size == 0 ? block_ : std::min(block_, share), Feeder::Cut::queries, crew.stop());
        const auto work = [&] {
            Worker worker(*this);
            const Borrowed<Block> block;
            while (feeder.next(*block)) {
                worker.read(*block);
                crew.breathe();
            }
        };
        crew.run(work, size != 0 ? Crew::Caller::works : Crew::Caller::listens);
        if (feeder.fatal()) tally_.add(*feeder.fatal());
    }

    void submit(const Part& part, Gathered& gathered) {
        tally_.add(part);
        if (gathered.codes.empty()) return;
        const std::lock_guard lock(mutex_);
        gathered_.push_back(std::exchange(gathered, Gathered()));
    }

    std::uint32_t number_split(Text query) {
        const std::lock_guard lock(mutex_);
        return split_.number(query);
    }

    static constexpr std::size_t least_share = std::size_t{1} << 16;
    static constexpr std::size_t large = std::size_t{1} << 23;

    const Index& index_;
    const Settings& settings_;
    const bool ranked_;
    const std::size_t block_;
    Tally tally_;
    bool second_ = false;
    bool recheck_ = false;
    std::mutex mutex_;
    Ids split_;
    std::vector<Gathered> gathered_;
};

}  // namespace cranfield
