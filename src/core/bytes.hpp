// Bytes: fixed-width loads from text, and memory that the next file can use again.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>


// Fixed-width loads from text. No function reads beyond the bytes that it is given.
// The inner loops call small functions for every row; left to itself the compiler makes real calls of them.
#if defined(__GNUC__)
#define CRANFIELD_INLINE [[gnu::always_inline]] inline
#define CRANFIELD_APART [[gnu::noinline, gnu::cold]] inline
#else
#define CRANFIELD_INLINE inline
#define CRANFIELD_APART inline
#endif

namespace cranfield {

using Text = std::string_view;

template <class Word>
inline Word load(const char* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

// What separates columns: the blanks of C's isspace. Other control characters are part of ids.
CRANFIELD_INLINE bool is_blank(char c) { return c == ' ' || static_cast<unsigned char>(c - '\t') <= '\r' - '\t'; }

inline void prefetch([[maybe_unused]] const void* place) {
#if defined(__GNUC__)
    __builtin_prefetch(place);
#endif
}

// The compiler turns memcmp of unknown length into a call; ids are short, so two words mostly settle it.
CRANFIELD_INLINE bool same(Text a, Text b) {
    const std::size_t n = a.size();
    if (n != b.size()) return false;
    if (n > 16) return std::memcmp(a.data(), b.data(), n) == 0;
    if (n >= 8) {
        return load<std::uint64_t>(a.data()) == load<std::uint64_t>(b.data()) &&
               load<std::uint64_t>(a.data() + n - 8) == load<std::uint64_t>(b.data() + n - 8);
    }
    if (n >= 4) {
        return load<std::uint32_t>(a.data()) == load<std::uint32_t>(b.data()) &&
               load<std::uint32_t>(a.data() + n - 4) == load<std::uint32_t>(b.data() + n - 4);
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

// A text that is compared with many others, bytewise: its first eight bytes as a number mostly settle it.
class OrderedText {
public:
    explicit OrderedText(Text text) : head_(head(text)), text_(text) {}

    bool operator>(const OrderedText& other) const {
        return head_ != other.head_ ? head_ > other.head_ : text_ > other.text_;
    }

private:
    // With zeros after the end of a shorter text.
    static std::uint64_t head(Text text) {
        const char* const p = text.data();
        const std::size_t n = text.size();
        if (n >= 8) return number<8>(p);
        if (n >= 4) return (number<4>(p) << 32) | ((number<4>(p + n - 4) << (64 - 8 * n)) & 0xffffffffu);
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < n; ++i) value |= std::uint64_t{static_cast<unsigned char>(p[i])} << (56 - 8 * i);
        return value;
    }

    template <std::size_t Size>
    static std::uint64_t number(const char* p) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < Size; ++i) value = (value << 8) | static_cast<unsigned char>(p[i]);
        return value;
    }

    std::uint64_t head_;
    Text text_;
};

}  // namespace cranfield

// Memory that the next file can use again: fresh pages from the system cost more than what is done with them.
namespace cranfield {

// A thing, used before if there is one, that goes back where it came from unless it has grown beyond reason.
template <class Thing>
class Borrowed {
public:
    Borrowed() {
        Shelf& shelf = shared();
        const std::unique_lock lock(shelf.mutex, std::try_to_lock);
        if (!lock || shelf.things.empty()) {
            thing_ = std::make_unique<Thing>();
        } else {
            thing_ = std::move(shelf.things.back());
            shelf.things.pop_back();
        }
    }

    ~Borrowed() {
        if (thing_->weight() > heaviest) return;
        Shelf& shelf = shared();
        const std::unique_lock lock(shelf.mutex, std::try_to_lock);
        if (lock && shelf.things.size() < most) shelf.things.push_back(std::move(thing_));
    }

    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    Thing& operator*() const { return *thing_; }
    Thing* operator->() const { return thing_.get(); }

private:
    static constexpr std::size_t heaviest = std::size_t{1} << 21;
    static constexpr std::size_t most = 8;

    struct Shelf {
        std::mutex mutex;  // only ever tried: in the child of a fork nobody may be left to unlock it
        std::vector<std::unique_ptr<Thing>> things;

        Shelf() { things.reserve(most); }
    };

    static Shelf& shared() {
        static Shelf& shelf = *new Shelf();  // never destroyed, as the threads that come here are not
        return shelf;
    }

    std::unique_ptr<Thing> thing_;
};

}  // namespace cranfield
