// A fuzzer for where libFuzzer is not at hand: replays files, or mutates built-in texts. Compiled with
// -fsanitize-coverage=trace-pc it keeps the inputs that reach new code; otherwise one in eight.
//
//     core_fuzz FILE...               replay
//     core_fuzz --seconds S --seed N  mutate
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

// Blocks of code that were reached, by a hash of their address. Threads of the core write here too.
constexpr std::size_t slots = std::size_t{1} << 16;
std::uint8_t reached[slots];
std::size_t blocks = 0;

}  // namespace

extern "C" __attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc() {
    const auto address = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    std::uint8_t* slot = reached + (address ^ (address >> 16)) % slots;
    if (__atomic_load_n(slot, __ATOMIC_RELAXED) != 0) return;
    if (__atomic_exchange_n(slot, std::uint8_t{1}, __ATOMIC_RELAXED) == 0)
        __atomic_fetch_add(&blocks, std::size_t{1}, __ATOMIC_RELAXED);
}

namespace {

void run(const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

const std::vector<std::string> seeds = {
    "1 Q0 a 1 3.5 t\n1 Q0 b 2 3.5 t\n1 Q0 c 3 1 t\n2 Q0 a 1 1e3 t\n2 Q0 d 2 -inf t\n",
    "1 0 a 1\n1 0 b 0\n2 1 a 2\n2 1 a 2\n",
    "\xef\xbb\xbfq1\tQ0\tdoc\t1\t0.25\trun\r\n# comment\r\n\r\nq2 Q0  doc 1 .5 run",
    "1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n1 Q0 b 2 1 t\n2 Q0 b 2 1 t\n3 Q0 a 1 1 t\n1 Q0 c 2 2 t\n",
    "12345678.87654321", "-0.000001", "1e-320", "9007199254740993", "infinity", "1.7976931348623159e308"};

const std::vector<std::string> pieces = {
    " ", "\n", "\t", "\r\n", "#", std::string(1, '\0'), "\xef\xbb\xbf", "nan", "inf", "1e999", "-", ".", "e",
    "0000000000", "123456789", "1 Q0 a 1 2 t\n", "2 Q0 b 1 2 t\n", "1 0 a 1\n",
    std::string(100, 'x'), std::string(5000, 'y'), std::string(70, ' ')};

std::size_t blocks_reached() { return __atomic_load_n(&blocks, __ATOMIC_RELAXED); }

constexpr std::size_t limit = 100000;

std::string mutated(std::string text, std::mt19937_64& random) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (std::size_t times = 1 + below(6); times-- != 0;) {
        const std::size_t at = below(text.size() + 1);
        switch (below(7)) {
            case 0: text.insert(at, pieces[below(pieces.size())]); break;
            case 1: text.erase(at, 1 + below(20)); break;
            case 2: text.insert(at, 1, static_cast<char>(below(256))); break;
            case 3: text.insert(at, text.substr(below(text.size() + 1), 1 + below(60))); break;
            case 4: text.insert(at, seeds[below(seeds.size())]); break;
            case 5:  // many lines, so that blocks end in all places
                if (const std::string tail = text.substr(at); below(8) == 0)
                    for (std::size_t copies = below(limit / (text.size() + 1) + 1); copies-- != 0;) text += tail;
                break;
            default: if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        }
    }
    return text;
}

}  // namespace

int main(int count, char** arguments) {
    double seconds = 10;
    std::uint64_t seed = 1;
    bool replayed = false;
    for (int i = 1; i < count; ++i) {
        if (std::strcmp(arguments[i], "--seconds") == 0 && i + 1 < count) {
            seconds = std::atof(arguments[++i]);
        } else if (std::strcmp(arguments[i], "--seed") == 0 && i + 1 < count) {
            seed = std::strtoull(arguments[++i], nullptr, 10);
        } else {
            std::ifstream file(arguments[i], std::ios::binary);
            run({std::istreambuf_iterator<char>(file), {}});
            replayed = true;
        }
    }
    if (replayed) return 0;
    std::mt19937_64 random(seed);
    std::vector<std::string> corpus = seeds;
    const auto begin = std::chrono::steady_clock::now();
    std::size_t runs = 0, bytes = 0;
    for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds; ++runs) {
        std::string text = mutated(corpus[random() % corpus.size()], random);
        if (text.size() > limit) text.resize(limit);
        std::string input(1, static_cast<char>(random() % 256));
        input += text;
        // Whatever fails must be found again: the last input stays behind.
        std::ofstream("last-input", std::ios::binary) << input;
        const std::size_t before = blocks_reached();
        run(input);
        bytes += input.size();
        if (blocks_reached() > before || random() % (before == 0 ? 8 : 200) == 0) corpus.push_back(std::move(text));
        if (corpus.size() > 4000) corpus.erase(corpus.begin(), corpus.begin() + 2000);
    }
    std::printf("%zu inputs, %zu bytes, %zu blocks of code reached\n", runs, bytes, blocks_reached());
}
