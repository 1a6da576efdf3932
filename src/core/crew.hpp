// Threads that share a piece of work, with an ear for interrupts.
#pragma once

#include <exception>

#include "pool.hpp"
#include "stopped.hpp"

namespace cranfield {

class Crew {
public:
    // What the calling thread does. Where the work may have to wait for others, it only listens.
    enum class Caller { listens, works };

    // `pulse` is called from the calling thread every now and then; what it throws ends the work.
    Crew(unsigned size, std::function<void()> pulse) : size_(size), pulse_(std::move(pulse)) {}

    const std::atomic<bool>& stop() const { return stop_; }
    unsigned size() const { return size_; }

    // Runs `work` in as many threads as there are to be, waits for all of them, and passes on the first exception.
    void run(const std::function<void()>& work, Caller caller) {
        stop_ = false;
        error_ = nullptr;
        caller_ = std::this_thread::get_id();
        last_pulse_ = Clock::now();
        const auto guarded = [&] {
            try {
                work();
            } catch (...) {
                fail(std::current_exception());
            }
        };
        Pool& pool = Pool::shared();
        Pool::Job job{guarded};
        const unsigned helpers = pool.post(job, caller == Caller::works ? size_ - 1 : size_);
        if (caller == Caller::works || helpers == 0) {
            guarded();
            pool.withdraw(job);
        }
        while (!pool.wait(job, interval)) {
            try {
                if (!stop_) pulse_();
            } catch (...) {
                fail(std::current_exception());
            }
        }
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }

    // To be called by the work now and then; throws when it is to end.
    void breathe() {
        if (stop_) throw Stopped();
        if (std::this_thread::get_id() != caller_ || Clock::now() - last_pulse_ < interval) return;
        pulse_();
        last_pulse_ = Clock::now();
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds interval{50};

    void fail(std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(error);
        stop_ = true;
    }

    const unsigned size_;
    const std::function<void()> pulse_;
    std::atomic<bool> stop_ = false;
    std::thread::id caller_;
    Clock::time_point last_pulse_;
    std::mutex mutex_;
    std::exception_ptr error_;
};

// Reading is serial, so more workers than this would only wait for it. Asked once: the answer is in a file.
inline unsigned default_crew() {
    static const unsigned cores = std::thread::hardware_concurrency();
    return cores == 0 ? 2 : std::min(cores, 8u);
}

}  // namespace cranfield
