// Threads that share a piece of work: how they end early, how they stay, and how they listen for interrupts.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>


// How work ends before it is done.
namespace cranfield {

// Thrown through a worker whose work nobody waits for any more.
struct Stopped : std::runtime_error {
    Stopped() : std::runtime_error("stopped") {}
};

}  // namespace cranfield

// Threads that stay: starting one and letting it touch fresh memory costs as much as reading a small file.
#ifndef _WIN32
#endif

namespace cranfield {

class Pool {
public:
    // Work that some threads are to do once each. It must not throw.
    struct Job {
        std::function<void()> work;
        unsigned wanted = 0;  // threads that have not begun yet
        unsigned running = 0;
    };

    // The pool of this process, never destroyed: its threads may outlive every static object.
    static Pool& shared() {
        static std::atomic<Pool*> current = nullptr;
        Pool* pool = current.load();
        // A fork leaves the threads behind, and the mutex perhaps locked: the child starts with a pool of its own.
        while (pool == nullptr || pool->process_ != this_process()) {
            auto* const fresh = new Pool();
            if (current.compare_exchange_strong(pool, fresh)) return *fresh;
            delete fresh;
        }
        return *pool;
    }

    // Has up to `count` threads do the job, each one that no other job waits for; how many there will be.
    unsigned post(Job& job, unsigned count) {
        const std::lock_guard lock(mutex_);
        while (free_ < count && start()) ++free_;
        job.wanted = std::min(count, free_);
        free_ -= job.wanted;
        if (job.wanted != 0) jobs_.push_back(&job);
        for (unsigned i = 0; i < job.wanted; ++i) wake_.notify_one();
        return job.wanted;
    }

    // Threads that have not begun need not begin any more.
    void withdraw(Job& job) {
        const std::lock_guard lock(mutex_);
        if (job.wanted == 0) return;
        free_ += std::exchange(job.wanted, 0);
        std::erase(jobs_, &job);
    }

    // True once all threads are through with the job, false if that takes longer than `patience`.
    bool wait(const Job& job, std::chrono::milliseconds patience) {
        std::unique_lock lock(mutex_);
        return done_.wait_for(lock, patience, [&] { return job.wanted == 0 && job.running == 0; });
    }

private:
#ifdef _WIN32
    static int this_process() { return 0; }
#else
    static int this_process() { return static_cast<int>(::getpid()); }
#endif

    bool start() {
        try {
            std::thread([this] { serve(); }).detach();
            return true;
        } catch (const std::system_error&) {
            return false;  // the system gives no more threads; those there are will do
        }
    }

    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return !jobs_.empty(); });
            Job& job = *jobs_.front();
            if (--job.wanted == 0) jobs_.pop_front();
            ++job.running;
            lock.unlock();
            job.work();
            lock.lock();
            ++free_;
            if (--job.running == 0) done_.notify_all();
        }
    }

    const int process_ = this_process();
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::deque<Job*> jobs_;  // those with threads still wanted
    unsigned free_ = 0;      // threads that nothing is meant for, if they have not all begun to wait
};

}  // namespace cranfield

// Threads that share a piece of work, with an ear for interrupts.
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
