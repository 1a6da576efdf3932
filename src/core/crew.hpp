// Threads that share a piece of work while the caller stays free to notice an interrupt.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace cranfield {

class Crew {
public:
    // `pulse` is called from the calling thread every now and then; what it throws ends the work.
    Crew(unsigned size, std::function<void()> pulse) : size_(size), pulse_(std::move(pulse)) {}

    const std::atomic<bool>& stop() const { return stop_; }
    unsigned size() const { return size_; }

    // Runs `work` in every thread, waits for all of them, and passes on the first exception.
    void run(const std::function<void()>& work) {
        stop_ = false;
        running_ = 0;
        error_ = nullptr;
        std::vector<std::thread> threads;
        const auto guarded = [&] {
            try {
                work();
            } catch (...) {
                fail(std::current_exception());
            }
            const std::lock_guard lock(mutex_);
            --running_;
            done_.notify_one();
        };
        for (unsigned i = 0; i < size_; ++i) {
            try {
                const std::lock_guard lock(mutex_);
                threads.reserve(size_);
                threads.emplace_back(guarded);
                ++running_;
            } catch (const std::system_error&) {
                break;  // the system gives no more threads; those there are will do
            }
        }
        if (threads.empty()) {
            work();
            return;
        }
        std::unique_lock lock(mutex_);
        while (running_ != 0) {
            if (done_.wait_for(lock, std::chrono::milliseconds(50)) == std::cv_status::timeout && !stop_) {
                lock.unlock();
                try {
                    pulse_();
                } catch (...) {
                    fail(std::current_exception());
                }
                lock.lock();
            }
        }
        lock.unlock();
        for (std::thread& thread : threads) thread.join();
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }

private:
    void fail(std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(error);
        stop_ = true;
    }

    const unsigned size_;
    const std::function<void()> pulse_;
    std::atomic<bool> stop_ = false;
    std::mutex mutex_;
    std::condition_variable done_;
    unsigned running_ = 0;
    std::exception_ptr error_;
};

// Reading is serial, so more workers than this would only wait for it.
inline unsigned default_crew() {
    const unsigned cores = std::thread::hardware_concurrency();
    return cores == 0 ? 2 : std::min(cores, 8u);
}

}  // namespace cranfield
