// Cuts a source into blocks that workers take one after the other.
//
// A block ends where a query ends, so that a worker sees all consecutive lines of a query together; only a
// query whose lines are longer than a block makes the block grow. The feeder also finds what must be known
// before lines are numbered: line counts, and the line at which reading has to stop.
#pragma once

#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

#include "faults.hpp"
#include "bytes.hpp"
#include "lines.hpp"
#include "source.hpp"

namespace cranfield {

inline constexpr std::size_t longest_line = std::size_t{1} << 20;

// Bytes that grow without being cleared first.
class Buffer {
public:
    static constexpr std::size_t slack = 64;  // readable after the last byte

    char* data() const { return bytes_.get(); }
    std::size_t capacity() const { return capacity_; }

    void reserve(std::size_t size) {
        if (size + slack <= capacity_) return;
        void* const grown = std::realloc(bytes_.get(), size + slack);
        if (grown == nullptr) throw std::bad_alloc();
        (void)bytes_.release();
        bytes_.reset(static_cast<char*>(grown));
        capacity_ = size + slack;
    }

private:
    struct Free {
        void operator()(char* bytes) const { std::free(bytes); }
    };
    std::unique_ptr<char, Free> bytes_;
    std::size_t capacity_ = 0;
};

struct Block {
    Buffer buffer;
    std::size_t size = 0;
    std::uint64_t line = 1;   // number of its first line
    std::uint64_t lines = 0;  // how many there are, unless reading stops in it

    Text text() const { return {buffer.data(), size}; }
    std::size_t weight() const { return buffer.capacity(); }
};

class Feeder {
public:
    enum class Cut { lines, queries };

    Feeder(Source& source, std::size_t block, Cut cut, const std::atomic<bool>& stop)
        : source_(source), block_(block), cut_(cut), stop_(stop) {}

    // Fills `block` with the next lines; false when there are none. For any number of threads.
    bool next(Block& block) {
        const std::lock_guard lock(mutex_);
        block.size = 0;
        try {
            while (block.size == 0 && !done_) fill(block);
        } catch (...) {
            done_ = true;  // what follows a hole must not be read as if it were the next line
            throw;
        }
        return block.size != 0;
    }

    // The fault that ended the reading, if one did; ask after the last block.
    const std::optional<Fault>& fatal() const { return fatal_; }

private:
    struct Survey {
        std::uint64_t newlines = 0;
        bool suspect = false;  // there may be a NUL or an overlong line
    };

    void fill(Block& block) {
        Buffer& buffer = block.buffer;
        std::size_t have = carry_.size();
        std::size_t wanted = have + block_;
        buffer.reserve(wanted);
        if (have != 0) std::memcpy(buffer.data(), carry_.data(), have);
        std::size_t surveyed = 0;  // everything before is whole lines, counted and found harmless
        std::uint64_t lines = 0;
        block.line = line_;
        for (;;) {
            const bool ended = !top_up(buffer, have, wanted);
            char* const text = buffer.data();
            if (ended && have != 0 && text[have - 1] != '\n') text[have++] = '\n';
            std::size_t whole = have;
            while (whole > surveyed && text[whole - 1] != '\n') --whole;
            const Survey survey = look_at({text + surveyed, whole - surveyed});
            lines += survey.newlines;
            // A line that is not yet complete is looked at later, unless it has already become too long.
            const bool overlong = have - whole > longest_line;
            if ((survey.suspect || overlong) && find_fatal({text + surveyed, (overlong ? have : whole) - surveyed},
                                                           line_ + lines - survey.newlines)) {
                finish(block, surveyed + fatal_at_);
                return;
            }
            surveyed = whole;
            std::size_t end = whole;
            // A query that is followed by very many blank lines is finished; if it comes again, it is read twice.
            if (!ended && cut_ == Cut::queries && !ends_blank({text, whole})) end = start_of_last_query({text, whole});
            if (end != 0 || ended) {
                lines -= static_cast<std::uint64_t>(std::count(text + end, text + whole, '\n'));
                carry_.assign(text + end, have - end);
                line_ += lines;
                block.lines = lines;
                block.size = end;
                std::memset(text + end, 0, Buffer::slack);
                done_ = ended;
                return;
            }
            wanted = have + std::max(have, block_);
            buffer.reserve(wanted);
        }
    }

    void finish(Block& block, std::size_t size) {
        block.size = size;
        std::memset(block.buffer.data() + size, 0, Buffer::slack);
        carry_.clear();
        done_ = true;
    }

    // Reads until there are `wanted` bytes; false at the end of the source.
    bool top_up(Buffer& buffer, std::size_t& have, std::size_t wanted) {
        while (have < wanted) {
            const std::size_t count = source_.read(buffer.data() + have, wanted - have, stop_);
            if (count == 0) return false;
            have += count;
            if (!begun_ && (have >= 3 || buffer.data()[0] != '\xef')) {
                begun_ = true;
                if (Text(buffer.data(), have).starts_with("\xef\xbb\xbf")) {
                    have -= 3;
                    std::memmove(buffer.data(), buffer.data() + 3, have);
                }
            }
        }
        return true;
    }

    static bool has_nul(Text text) { return !text.empty() && std::memchr(text.data(), 0, text.size()) != nullptr; }

    static Survey look_at(Text text) {
        Survey found;
        const char* p = text.data();
        std::size_t rest = text.size();
#ifdef CRANFIELD_SSE2
        // Newlines are counted in bytes, which hold 255 at most; a window without any may be part of a long line.
        constexpr std::size_t window = 16 * 255;
        const __m128i zero = _mm_setzero_si128();
        const __m128i feed = _mm_set1_epi8('\n');
        __m128i lowest = _mm_set1_epi8('\xff');
        for (; rest >= window; rest -= window) {
            __m128i counts = zero;
            for (const char* const end = p + window; p != end; p += 16) {
                const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
                counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(bytes, feed));
                lowest = _mm_min_epu8(lowest, bytes);
            }
            const __m128i sums = _mm_sad_epu8(counts, zero);
            const auto newlines = static_cast<std::uint64_t>(_mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4));
            found.newlines += newlines;
            found.suspect |= newlines == 0;
        }
        found.suspect |= _mm_movemask_epi8(_mm_cmpeq_epi8(lowest, zero)) != 0;
#endif
        found.newlines += static_cast<std::uint64_t>(std::count(p, p + rest, '\n'));
        found.suspect |= rest > longest_line || has_nul({p, rest});
        return found;
    }

    // Looks line by line. Sets `fatal_` and, from the start of `text`, `fatal_at_`.
    bool find_fatal(Text text, std::uint64_t line) {
        for (std::size_t begin = 0; begin < text.size(); ++line) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            const Text content = text.substr(begin, end - begin);
            const bool binary = has_nul(content.substr(0, longest_line));
            if (binary || content.size() > longest_line) {
                fatal_ = Fault{line, binary ? "binary" : "long", "", std::string(content.substr(0, Faults::cut)), 0};
                fatal_at_ = begin;
                return true;
            }
            begin = end + 1;
        }
        return false;
    }

    // The first column, empty for lines that are passed over.
    static Text first_column(const char* p, const char* end) {
        while (p != end && is_blank(*p)) ++p;
        const char* const first = p;
        while (p != end && !is_blank(*p)) ++p;
        if (first == p || *first == '#') return {};
        return {first, static_cast<std::size_t>(p - first)};
    }

    bool ends_blank(Text text) const {
        const std::size_t enough = std::max<std::size_t>(block_, 4096);
        if (text.size() < enough) return false;
        const Text tail = text.substr(text.size() - enough);
        return std::all_of(tail.begin(), tail.end(), is_blank);
    }

    static std::size_t after_last_newline(Text text) {
        std::size_t end = text.size();
        if (end != 0 && text[end - 1] == '\n') return end;  // a blank line
        for (; end >= 64; end -= 64) {
            const std::uint64_t newlines = masks(text.data() + end - 64).newline;
            if (newlines != 0) return end - static_cast<std::size_t>(std::countl_zero(newlines));
        }
        while (end != 0 && text[end - 1] != '\n') --end;
        return end;
    }

    // Where the lines of the last query begin; 0 if there is no other query in `text`, its end if there is none at all.
    static std::size_t start_of_last_query(Text text) {
        Text query;
        std::size_t start = text.size();
        for (std::size_t end = text.size(); end != 0;) {
            const std::size_t begin = after_last_newline(text.substr(0, end - 1));
            const Text column = first_column(text.data() + begin, text.data() + end - 1);
            if (!column.empty()) {
                if (query.empty()) query = column;
                if (!same(query, column)) return start;
                start = begin;
            }
            end = begin;
        }
        return query.empty() ? text.size() : 0;
    }

    Source& source_;
    const std::size_t block_;
    const Cut cut_;
    const std::atomic<bool>& stop_;
    std::mutex mutex_;
    std::string carry_;  // lines that were read but belong to the next block
    std::uint64_t line_ = 1;
    bool begun_ = false;
    bool done_ = false;
    std::size_t fatal_at_ = 0;
    std::optional<Fault> fatal_;
};

}  // namespace cranfield
