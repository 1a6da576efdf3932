// Where bytes come from.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#ifdef _WIN32
#include <io.h>
#else
#include <poll.h>
#include <unistd.h>
#endif

#include "bytes.hpp"

namespace cranfield {

// Thrown through a worker whose work nobody waits for any more.
struct Stopped : std::runtime_error {
    Stopped() : std::runtime_error("stopped") {}
};

class Source {
public:
    virtual ~Source() = default;
    // Up to `size` bytes; 0 at the end only. Throws Stopped soon after `stop` is set.
    virtual std::size_t read(char* into, std::size_t size, const std::atomic<bool>& stop) = 0;
};

class Memory final : public Source {
public:
    explicit Memory(Text text) : rest_(text) {}

    std::size_t read(char* into, std::size_t size, const std::atomic<bool>&) override {
        const Text part = rest_.substr(0, size);
        if (!part.empty()) std::memcpy(into, part.data(), part.size());
        rest_.remove_prefix(part.size());
        return part.size();
    }

private:
    Text rest_;
};

// A file descriptor, owned.
class File final : public Source {
public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;

#ifdef _WIN32
    ~File() override { _close(descriptor_); }

    std::size_t read(char* into, std::size_t size, const std::atomic<bool>& stop) override {
        if (stop) throw Stopped();
        const int count = _read(descriptor_, into, static_cast<unsigned>(std::min(size, std::size_t{1} << 30)));
        if (count < 0) throw std::system_error(errno, std::generic_category());
        return static_cast<std::size_t>(count);
    }
#else
    ~File() override { ::close(descriptor_); }

    std::size_t read(char* into, std::size_t size, const std::atomic<bool>& stop) override {
        for (;;) {
            if (stop) throw Stopped();
            // A pipe may stay silent for ever; waiting in small portions lets an interrupt through.
            pollfd wait{descriptor_, POLLIN, 0};
            const int ready = ::poll(&wait, 1, 50);
            if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
            const ssize_t count = ::read(descriptor_, into, std::min(size, std::size_t{1} << 30));
            if (count >= 0) return static_cast<std::size_t>(count);
            if (errno != EINTR && errno != EAGAIN) throw std::system_error(errno, std::generic_category());
        }
    }
#endif

private:
    int descriptor_;
};

}  // namespace cranfield
