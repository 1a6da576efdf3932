// Where bytes come from.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#ifdef _WIN32
#include <io.h>
#else
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "bytes.hpp"
#include "threads.hpp"

namespace cranfield {

class Source {
public:
    virtual ~Source() = default;
    // Up to `size` bytes; 0 at the end only. Throws Stopped soon after `stop` is set.
    virtual std::size_t read(char* into, std::size_t size, const std::atomic<bool>& stop) = 0;
    // How many bytes there are, all of them there for the taking; 0 where that is not known.
    virtual std::size_t size() const { return 0; }
};

// A file descriptor, owned.
class File final : public Source {
public:
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    std::size_t size() const override { return size_; }

#ifdef _WIN32
    explicit File(int descriptor) : descriptor_(descriptor) {}

    ~File() override { _close(descriptor_); }

    std::size_t read(char* into, std::size_t size, const std::atomic<bool>& stop) override {
        if (stop) throw Stopped();
        const int count = _read(descriptor_, into, static_cast<unsigned>(std::min(size, std::size_t{1} << 30)));
        if (count < 0) throw std::system_error(errno, std::generic_category());
        return static_cast<std::size_t>(count);
    }
#else
    explicit File(int descriptor) : descriptor_(descriptor) {
        struct stat about;
        if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode)) size_ = static_cast<std::size_t>(about.st_size);
    }

    ~File() override { ::close(descriptor_); }

    std::size_t read(char* into, std::size_t size, const std::atomic<bool>& stop) override {
        for (;;) {
            if (stop) throw Stopped();
            if (size_ == 0) {
                // A pipe may stay silent for ever; waiting in small portions lets an interrupt through.
                pollfd wait{descriptor_, POLLIN, 0};
                const int ready = ::poll(&wait, 1, 50);
                if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
            }
            const ssize_t count = ::read(descriptor_, into, std::min(size, std::size_t{1} << 30));
            if (count >= 0) return static_cast<std::size_t>(count);
            if (errno != EINTR && errno != EAGAIN) throw std::system_error(errno, std::generic_category());
        }
    }
#endif

private:
    int descriptor_;
    std::size_t size_ = 0;
};

}  // namespace cranfield
