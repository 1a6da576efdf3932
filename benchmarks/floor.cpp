// The physical floor: a run file to six means, and nothing that this does not need. No faults are reported,
// separators are single bytes, a query's lines stand together, grades are whole numbers.
//   g++ -O3 -march=native -std=c++20 -pthread floor.cpp -o floor;  floor QRELS RUN [threads]
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>
#ifdef __AVX2__
#include <immintrin.h>
#endif

using std::string_view;
constexpr size_t PIECE = 4 << 20;  // bytes that a thread takes at a time
constexpr int MEANS = 6;
constexpr const char* NAMES[] = {"AP", "nDCG@10", "RR", "P@10", "R@1000", "bpref"};

// A file in memory, with a page of zeros after it so that wide loads may run over its end.
string_view mapped(const char* path) {
  int fd = open(path, O_RDONLY);
  struct stat about;
  if (fd < 0 || fstat(fd, &about) != 0) { perror(path); exit(1); }
  size_t size = about.st_size;
  void* room = mmap(nullptr, size + 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (size) mmap(room, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
  close(fd);
  return {static_cast<const char*>(room), size};
}

// Which of 64 bytes are white space.
inline uint64_t blanks(const char* p) {
#ifdef __AVX2__
  const __m256i space = _mm256_set1_epi8(' ');
  auto half = [&](const char* at) {
    __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(bytes, space), space)));
  };
  return half(p) | static_cast<uint64_t>(half(p + 32)) << 32;
#else
  uint64_t found = 0;
  for (int i = 0; i < 64; i++) found |= static_cast<uint64_t>(static_cast<unsigned char>(p[i]) <= ' ') << i;
  return found;
#endif
}

inline uint64_t word(const char* p) {
  uint64_t value;
  memcpy(&value, p, 8);
  return value;
}

inline uint64_t hashed(string_view s) {
  uint64_t h = s.size(), n = h;
  const char* p = s.data();
  for (; n > 8; p += 8, n -= 8) h = std::rotl((h ^ word(p)) * 0x9E3779B97F4A7C15u, 29);
  if (n) h = (h ^ word(p) << (64 - 8 * n)) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 32;
}

inline double number(const char* p, const char* end) {
  static constexpr double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const char *begin = p, *point = end - 1;
  if (end - begin > 16) return strtod(begin, nullptr);
  bool negative = *p == '-';
  uint64_t digits = 0;
  for (p += negative; p < end; p++) {
    unsigned digit = static_cast<unsigned char>(*p) - '0';
    if (digit < 10) digits = digits * 10 + digit;
    else if (*p == '.') point = p;
    else return strtod(begin, nullptr);
  }
  double value = static_cast<double>(digits) / tens[end - 1 - point];
  return negative ? -value : value;
}

// Calls line(fields) for each line, where fields[i] .. fields[i + 1] - 1 is column i.
template <int COLUMNS, class Line>
void lines(const char* begin, const char* end, Line line) {
  const char* field[COLUMNS + 1];
  field[0] = begin;
  int column = 0;
  for (const char* block = begin; block < end; block += 64) {
    uint64_t mask = blanks(block);
    if (end - block < 64) mask &= (uint64_t{1} << (end - block)) - 1;
    for (; mask; mask &= mask - 1) {
      const char* at = block + std::countr_zero(mask);
      field[++column] = at + 1;
      if (column < COLUMNS) continue;
      if (*at != '\n') { fputs("not as simple a file as this program needs\n", stderr); exit(1); }
      line(field);
      field[0] = at + 1;
      column = 0;
    }
  }
}

struct Judged { string_view document; uint64_t hash; int grade; };
struct Pool { std::vector<Judged> judged; int relevant = 0, other = 0; double ideal = 0; };
std::unordered_map<string_view, Pool> pools;

void read_pools(string_view file) {
  lines<4>(file.data(), file.data() + file.size(), [](const char** f) {
    Pool& pool = pools[string_view(f[0], f[1] - f[0] - 1)];
    string_view document(f[2], f[3] - f[2] - 1);
    pool.judged.push_back({document, hashed(document), atoi(f[3])});
    (pool.judged.back().grade > 0 ? pool.relevant : pool.other)++;
  });
  for (auto& [query, pool] : pools) {
    std::vector<int> grades;
    for (const Judged& one : pool.judged) grades.push_back(one.grade);
    std::sort(grades.rbegin(), grades.rend());
    for (size_t i = 0; i < grades.size() && i < 10 && grades[i] > 0; i++) pool.ideal += grades[i] / std::log2(i + 2);
  }
}

struct Ranked { double score; const char* document; uint32_t size; uint32_t hash; };
struct Slot { uint32_t hash, row; };  // row counts from 1; 0 is empty

struct Worker {
  double sums[MEANS] = {};
  long queries = 0, repeated = 0;
  std::vector<Ranked> ranking;
  std::vector<Slot> slots;
  std::vector<std::pair<uint32_t, int>> found;  // position and grade

  // Where a document is in the table, or the empty slot where it belongs.
  Slot& slot(string_view document, uint32_t hash) {
    uint32_t mask = slots.size() - 1;
    for (uint32_t s = hash & mask;; s = (s + 1) & mask) {
      Slot& one = slots[s];
      if (!one.row) return one;
      const Ranked& other = ranking[one.row - 1];
      if (one.hash == hash && string_view(other.document, other.size) == document) return one;
    }
  }

  void finish(string_view query, bool ordered) {
    auto at = pools.find(query);
    if (at == pools.end()) return;
    const Pool& pool = at->second;
    if (!ordered) std::sort(ranking.begin(), ranking.end(), [](const Ranked& a, const Ranked& b) {
      return a.score != b.score ? a.score > b.score : string_view(a.document, a.size) > string_view(b.document, b.size);
    });
    slots.assign(std::bit_ceil(2 * ranking.size()), Slot{});
    for (size_t i = 0; i < ranking.size(); i++) {
      Slot& one = slot({ranking[i].document, ranking[i].size}, ranking[i].hash);
      repeated += one.row != 0;
      one = {ranking[i].hash, static_cast<uint32_t>(i + 1)};
    }
    // The table of documents serves both as check for repetition and to find the judged ones, which are few.
    found.clear();
    for (const Judged& one : pool.judged)
      if (uint32_t row = slot(one.document, one.hash).row) found.emplace_back(row, one.grade);
    std::sort(found.begin(), found.end());
    double precision = 0, gain = 0, first = 0, preference = 0;
    int relevant = 0, early = 0, deep = 0, against = 0, bound = std::min(pool.relevant, pool.other);
    for (auto [rank, grade] : found) {
      if (grade <= 0) { against++; continue; }
      precision += ++relevant / static_cast<double>(rank);
      if (relevant == 1) first = 1.0 / rank;
      if (rank <= 10) early++, gain += grade / std::log2(rank + 1);
      deep += rank <= 1000;
      preference += against ? 1 - std::min(against, pool.relevant) / static_cast<double>(bound) : 1;
    }
    double total = std::max(pool.relevant, 1);
    double values[MEANS] = {precision / total, pool.ideal > 0 ? gain / pool.ideal : 0, first, early / 10.0,
                            deep / total, preference / total};
    for (int m = 0; m < MEANS; m++) sums[m] += values[m];
    queries++;
  }

  void piece(const char* begin, const char* end) {
    string_view query(begin, 0);
    bool ordered = true;
    ranking.clear();
    lines<6>(begin, end, [&](const char** f) {
      string_view its(f[0], f[1] - f[0] - 1);
      if (its != query) {
        if (!ranking.empty()) finish(query, ordered);
        query = its, ordered = true;
        ranking.clear();
      }
      string_view document(f[2], f[3] - f[2] - 1);
      double score = number(f[4], f[5] - 1);
      ordered &= ranking.empty() || score < ranking.back().score;
      ranking.push_back({score, document.data(), static_cast<uint32_t>(document.size()),
                         static_cast<uint32_t>(hashed(document))});
    });
    if (!ranking.empty()) finish(query, ordered);
  }
};

// The first line at or after an offset that begins a query.
const char* beginning(string_view file, size_t offset) {
  if (offset == 0) return file.data();
  size_t at = offset >= file.size() ? string_view::npos : file.find('\n', offset);
  for (string_view before; at != string_view::npos && at + 1 < file.size(); at = file.find('\n', at + 1)) {
    string_view query = file.substr(at + 1, file.find(' ', at + 1) - at);
    if (!before.empty() && query != before) return query.data();
    before = query;
  }
  return file.data() + file.size();
}

int main(int count, char** arguments) {
  if (count < 3) { fputs("floor QRELS RUN [threads]\n", stderr); return 2; }
  read_pools(mapped(arguments[1]));
  string_view run = mapped(arguments[2]);
  std::vector<Worker> workers(count > 3 ? std::max(atoi(arguments[3]), 1) : 2);
  std::atomic<size_t> next{0};
  std::vector<std::jthread> threads;
  for (Worker& worker : workers)
    threads.emplace_back([&] {
      for (size_t at; (at = next.fetch_add(PIECE)) < run.size();)
        if (const char *begin = beginning(run, at), *end = beginning(run, at + PIECE); begin < end)
          worker.piece(begin, end);
    });
  threads.clear();
  Worker all;
  for (const Worker& worker : workers) {
    for (int m = 0; m < MEANS; m++) all.sums[m] += worker.sums[m];
    all.queries += worker.queries, all.repeated += worker.repeated;
  }
  if (all.repeated) { fprintf(stderr, "%ld documents are repeated\n", all.repeated); return 1; }
  printf("{\"means\": {");
  for (int m = 0; m < MEANS; m++) printf("%s\"%s\": %.17g", m ? ", " : "", NAMES[m], all.sums[m] / all.queries);
  puts("}}");
}
