// What a fuzzer calls: any bytes, read in every way that the core can read text, under the sanitizers.
//
// Beyond not crashing, the ways must agree with each other: small blocks with large ones, one thread with
// several, the streaming join with the columns of a scan joined in memory.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "table.hpp"
#include "text.hpp"
#include "words.hpp"

using namespace cranfield;

namespace {

class Memory final : public Source {
public:
    explicit Memory(Text text) : rest_(text) {}

    std::size_t read(char* into, std::size_t size, const std::atomic<bool>&) override {
        const Text part = rest_.substr(0, size);
        if (!part.empty()) std::memcpy(into, part.data(), part.size());
        rest_.remove_prefix(part.size());
        return part.size();
    }

    std::size_t size() const override { return rest_.size(); }

private:
    Text rest_;
};

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "the core contradicts itself: %s\n", what);
    std::abort();
}

bool equal_faults(const Fault& a, const Fault& b) {
    return a.line == b.line && Text(a.kind) == b.kind && a.query == b.query && a.text == b.text && a.other == b.other;
}

bool equal(Faults& a, Faults& b) {
    return a.total() == b.total() &&
           std::equal(a.shown().begin(), a.shown().end(), b.shown().begin(), b.shown().end(), equal_faults);
}

void require_equal(Tally& a, Tally& b, const Settings& settings, const char* what) {
    require(equal(a.faults(), b.faults()), what);
    if (a.faults().total() != 0) return;
    using Numbers = std::vector<std::int64_t>;
    for (std::size_t key = 0; key < settings.keys.size(); ++key) {
        Numbers hits(Tally::columns * a.hits()), other_hits(Tally::columns * b.hits());
        a.copy_hits(key, hits.data());
        b.copy_hits(key, other_hits.data());
        require(hits == other_hits, what);
        Numbers tops(Tally::columns * a.tops(key)), other_tops(Tally::columns * b.tops(key));
        const Strings ids = a.copy_tops(key, tops.data()), other_ids = b.copy_tops(key, other_tops.data());
        require(tops == other_tops && ids.offsets == other_ids.offsets && ids.bytes == other_ids.bytes, what);
    }
    require(a.lengths() == b.lengths() && a.rows() == b.rows(), what);
    const auto [ids, lengths] = a.others();
    const auto [other_ids, other_lengths] = b.others();
    require(ids.offsets == other_ids.offsets && ids.bytes == other_ids.bytes && lengths == other_lengths, what);
}

void join(TextJoin& work, Text text, unsigned threads) {
    Crew crew(threads, [] {});
    Memory first(text);
    work.first_pass(first, crew);
    if (work.needs_second_pass()) {
        Memory second(text);
        work.second_pass(second, crew);
    }
}

// Judges every third document of every other query: the text decides what there is to find.
Index judged(const RunColumns& columns) {
    Ids queries;
    std::vector<Ids> documents;
    for (std::size_t row = 0; row < columns.query_of.size(); ++row) {
        const auto code = static_cast<std::size_t>(columns.query_of[row]);
        if (code % 2 != 0) continue;
        const std::uint32_t query = queries.number(columns.query.texts()[code]);
        if (query == documents.size()) documents.emplace_back();
        if (row % 3 == 0) documents[query].number(columns.document[row]);
    }
    Strings all;
    std::vector<std::int64_t> begin{0};
    for (const Ids& ids : documents) {
        for (std::size_t i = 0; i < ids.size(); ++i) all.add(ids.texts()[i]);
        begin.push_back(static_cast<std::int64_t>(all.size()));
    }
    return Index(queries.texts(), std::move(begin), std::move(all));
}

StringsView view(const Strings& strings) { return {strings.offsets, strings.bytes.data()}; }

// Every other code point begins words and some only continue them, so that any bytes have words to find.
std::vector<std::uint8_t> kinds() {
    std::vector<std::uint8_t> table(0x110000);
    for (std::size_t point = 0; point < table.size(); ++point) table[point] = static_cast<std::uint8_t>(point % 3);
    return table;
}

void count_words(Text text, bool lower, std::size_t length) {
    static const std::vector<std::uint8_t> table = kinds();
    Strings pieces;
    for (std::size_t begin = 0; begin < text.size(); begin += length) pieces.add(text.substr(begin, length));
    std::vector<std::int64_t> keep;
    for (std::size_t row = 0; row < pieces.size(); row += 2) keep.push_back(static_cast<std::int64_t>(row));
    Words words(table, lower), twice(table, lower);
    KeptWords found, again;
    words.add(view(pieces), keep.data(), keep.data() + keep.size(), found);
    twice.add(view(pieces), nullptr, nullptr, again);
    std::int64_t counted = 0, kept = 0, expected = 0;
    for (const std::int64_t count : words.counts()) counted += count;
    for (const std::int64_t count : found.count) kept += count;
    for (const std::int64_t row : keep) kept -= found.length[static_cast<std::size_t>(row)];
    for (const std::int64_t n : found.length) expected += n;
    require(counted == expected && kept == 0, "words are lost");
    const std::vector<std::int64_t> numbers = twice.merge(words);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = static_cast<std::size_t>(numbers[i]);
        require(number == i && twice.counts()[i] == 2 * words.counts()[i], "merging changes words");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const unsigned choice = data[0];
    const Text text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const bool by_id = (choice & 0x40) == 0;
    Settings settings{{Key::score}, by_id, choice % 5};
    if (choice % 3 != 0) settings.keys.push_back(Key::score32);
    if (choice % 3 == 2) settings.keys.insert(settings.keys.begin(), Key::rank);
    const std::size_t block = std::size_t{1} << (choice % 11);
    Crew one(1, [] {});

    QrelsColumns qrels;
    Memory qrels_text(text);
    scan<4>(qrels_text, block, one, qrels);

    RunColumns run;
    Memory run_text(text);
    scan<6>(run_text, block, one, run);

    const Index index = judged(run);
    TextJoin whole(index, settings, std::size_t{1} << 20);
    join(whole, text, 1);
    TextJoin pieces(index, settings, block);
    join(pieces, text, 1 + choice % 3);
    require_equal(whole.tally(), pieces.tally(), settings, "blocks change the result");

    if (run.faults.total() == 0 && !settings.by_rank()) {
        Strings queries;
        for (const std::int64_t code : run.query_of) queries.add(run.query.texts()[static_cast<std::size_t>(code)]);
        Tally table(index, settings);
        join_columns({view(queries), view(run.document), run.score, std::nullopt}, index, settings, table, one);
        require_equal(whole.tally(), table, settings, "a table gives another result than its text");
        require(whole.tally().tag() == run.tag, "tags differ");
    }

    count_words(text, by_id, 1 + choice % 50);

    // The number parser, held to the C library's; only the grammar is narrower.
    std::vector<char> padded(text.begin(), text.end());
    padded.resize(text.size() + 64);
    double value = 0;
    if (size < 400 && parse_number({padded.data(), text.size()}, value)) {
        char* end = nullptr;
        const double expected = std::strtod(padded.data(), &end);
        require(end == padded.data() + text.size(), "a number that the C library does not know");
        require(std::memcmp(&value, &expected, sizeof value) == 0 || (std::isnan(value) && std::isnan(expected)),
                "a number is rounded wrongly");
    }
    return 0;
}
