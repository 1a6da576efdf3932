// Threads that stay: starting one and letting it touch fresh memory costs as much as reading a small file.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#ifndef _WIN32
#include <unistd.h>
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
