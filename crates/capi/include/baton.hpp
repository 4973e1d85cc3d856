/* baton.hpp: the objects of baton.h as C++ classes (C++17), in the forms that the standard's guards take:
 *
 *   - baton::fast_mutex with std::lock_guard, std::unique_lock, std::scoped_lock, std::condition_variable_any;
 *   - baton::shared_mutex with std::shared_lock as well;
 *   - baton::condition_variable, baton::once_flag, baton::semaphore, baton::meeting;
 *   - baton::queue<T, N>: N items of any type that can be moved, in the object itself.
 *
 * No object allocates, moves or is copied. The constructors are constants, so that statics need no start-up code. Link with
 * libbaton (pkg-config --cflags --libs baton; CMake: find_package(Baton)). baton::mutex, a lock of any algorithm, is in
 * baton.h.
 */
#ifndef BATON_HPP
#define BATON_HPP

#include <baton.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace baton {

namespace detail {
/* A time of the steady or the system clock as one of C. A time before the clock's start has passed. */
template <class Clock, class Duration>
std::timespec time_of(const std::chrono::time_point<Clock, Duration> &at) {
    auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch());
    if (since < std::chrono::nanoseconds::zero()) since = std::chrono::nanoseconds::zero();
    std::timespec time{};
    time.tv_sec = static_cast<decltype(time.tv_sec)>(since.count() / 1000000000);
    time.tv_nsec = static_cast<decltype(time.tv_nsec)>(since.count() % 1000000000);
    return time;
}

/* The time `timeout` from now; the clock's last time, if `timeout` reaches further. */
template <class Rep, class Period>
std::chrono::steady_clock::time_point after(const std::chrono::duration<Rep, Period> &timeout) {
    auto now = std::chrono::steady_clock::now();
    auto most = std::chrono::steady_clock::time_point::max() - now;
    if (std::chrono::duration<double>(timeout) >= std::chrono::duration<double>(most)) return now + most;
    return now + std::chrono::ceil<std::chrono::steady_clock::duration>(timeout);
}

/* Calls `until(clock, time)` for a time of any clock. For a clock that is neither steady nor the system's, looks at that
 * clock again when the time seems to have come. Returns 0, ETIMEDOUT, or another result of the call. */
template <class Clock, class Duration, class Call>
int until(const std::chrono::time_point<Clock, Duration> &at, Call call) {
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
        auto time = time_of(at);
        return call(CLOCK_MONOTONIC, &time);
    } else if constexpr (std::is_same_v<Clock, std::chrono::system_clock>) {
        auto time = time_of(at);
        return call(CLOCK_REALTIME, &time);
    } else {
        for (;;) {
            auto time = time_of(after(at - Clock::now()));
            int result = call(CLOCK_MONOTONIC, &time);
            if (result != ETIMEDOUT || Clock::now() >= at) return result;
        }
    }
}

/* As `until`, for a wait that a notification ends. A time of another clock that has not come yet counts as a notification:
 * the caller looks at what it waits for before it waits again, as a notification may have come in between. */
template <class Clock, class Duration, class Call>
int until_notified(const std::chrono::time_point<Clock, Duration> &at, Call call) {
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock> || std::is_same_v<Clock, std::chrono::system_clock>) {
        return until(at, call);
    } else {
        auto time = time_of(after(at - Clock::now()));
        int result = call(CLOCK_MONOTONIC, &time);
        return result == ETIMEDOUT && Clock::now() < at ? 0 : result;
    }
}
} /* namespace detail */

/* A mutex of four bytes: a TimedLockable. */
class fast_mutex {
public:
    constexpr fast_mutex() noexcept = default;
    fast_mutex(const fast_mutex &) = delete;
    fast_mutex &operator=(const fast_mutex &) = delete;

    void lock() noexcept { baton_mutex_lock(&raw_); }
    bool try_lock() noexcept { return baton_mutex_trylock(&raw_) == 0; }
    void unlock() noexcept { baton_mutex_unlock(&raw_); }
    template <class Rep, class Period> bool try_lock_for(const std::chrono::duration<Rep, Period> &timeout) {
        return try_lock_until(detail::after(timeout));
    }
    template <class Clock, class Duration> bool try_lock_until(const std::chrono::time_point<Clock, Duration> &at) {
        return detail::until(at, [this](int clock, const std::timespec *time) {
                   return baton_mutex_timedlock(&raw_, clock, time);
               }) == 0;
    }
    using native_handle_type = baton_mutex *;
    native_handle_type native_handle() noexcept { return &raw_; }

private:
    baton_mutex raw_ = BATON_MUTEX_INIT;
};

/* A reader-writer lock of four bytes: a SharedTimedLockable. */
class shared_mutex {
public:
    constexpr shared_mutex() noexcept = default;
    shared_mutex(const shared_mutex &) = delete;
    shared_mutex &operator=(const shared_mutex &) = delete;

    void lock() noexcept { baton_rwlock_wrlock(&raw_); }
    bool try_lock() noexcept { return baton_rwlock_trywrlock(&raw_) == 0; }
    void unlock() noexcept { baton_rwlock_wrunlock(&raw_); }
    template <class Rep, class Period> bool try_lock_for(const std::chrono::duration<Rep, Period> &timeout) {
        return try_lock_until(detail::after(timeout));
    }
    template <class Clock, class Duration> bool try_lock_until(const std::chrono::time_point<Clock, Duration> &at) {
        return detail::until(at, [this](int clock, const std::timespec *time) {
                   return baton_rwlock_timedwrlock(&raw_, clock, time);
               }) == 0;
    }

    void lock_shared() noexcept { baton_rwlock_rdlock(&raw_); }
    bool try_lock_shared() noexcept { return baton_rwlock_tryrdlock(&raw_) == 0; }
    void unlock_shared() noexcept { baton_rwlock_rdunlock(&raw_); }
    template <class Rep, class Period> bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &timeout) {
        return try_lock_shared_until(detail::after(timeout));
    }
    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &at) {
        return detail::until(at, [this](int clock, const std::timespec *time) {
                   return baton_rwlock_timedrdlock(&raw_, clock, time);
               }) == 0;
    }
    using native_handle_type = baton_rwlock *;
    native_handle_type native_handle() noexcept { return &raw_; }

private:
    baton_rwlock raw_ = BATON_RWLOCK_INIT;
};

/* A condition variable of one word, for std::unique_lock<baton::fast_mutex>. */
class condition_variable {
public:
    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable &) = delete;
    condition_variable &operator=(const condition_variable &) = delete;

    void notify_one() noexcept { baton_cond_signal(&raw_); }
    void notify_all() noexcept { baton_cond_broadcast(&raw_); }
    void wait(std::unique_lock<fast_mutex> &lock) noexcept { baton_cond_wait(&raw_, lock.mutex()->native_handle()); }
    template <class Predicate> void wait(std::unique_lock<fast_mutex> &lock, Predicate holds) {
        while (!holds()) wait(lock);
    }
    /* Returns false if the time came before a notification. */
    template <class Clock, class Duration>
    bool wait_until(std::unique_lock<fast_mutex> &lock, const std::chrono::time_point<Clock, Duration> &at) {
        return detail::until_notified(at, [&](int clock, const std::timespec *time) {
                   return baton_cond_timedwait(&raw_, lock.mutex()->native_handle(), clock, time);
               }) == 0;
    }
    template <class Clock, class Duration, class Predicate>
    bool wait_until(std::unique_lock<fast_mutex> &lock, const std::chrono::time_point<Clock, Duration> &at, Predicate holds) {
        while (!holds()) {
            if (!wait_until(lock, at)) return holds();
        }
        return true;
    }
    template <class Rep, class Period, class... Predicate>
    bool wait_for(std::unique_lock<fast_mutex> &lock, const std::chrono::duration<Rep, Period> &timeout, Predicate... holds) {
        return wait_until(lock, detail::after(timeout), holds...);
    }

private:
    baton_cond raw_ = BATON_COND_INIT;
};

/* An initialization that one thread runs; the function must not throw. */
class once_flag {
public:
    constexpr once_flag() noexcept = default;
    once_flag(const once_flag &) = delete;
    once_flag &operator=(const once_flag &) = delete;

    template <class Function> void call(Function &&function) noexcept {
        if (baton_once_done(&raw_)) return;
        auto *called = std::addressof(function);
        auto run = [](void *argument) noexcept { (**static_cast<decltype(called) *>(argument))(); };
        baton_once_call(&raw_, run, &called);
    }

private:
    baton_once raw_ = BATON_ONCE_INIT;
};

/* A semaphore with up to 2^31 - 1 permits. */
class semaphore {
public:
    constexpr explicit semaphore(std::uint32_t permits) noexcept : raw_{permits} {}
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;

    void acquire() noexcept { baton_semaphore_take(&raw_); }
    bool try_acquire() noexcept { return baton_semaphore_trytake(&raw_) == 0; }
    /* Returns false if there are 2^31 - 1 permits already. */
    bool release() noexcept { return baton_semaphore_post(&raw_) == 0; }
    template <class Clock, class Duration> bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &at) {
        return detail::until(at, [this](int clock, const std::timespec *time) {
                   return baton_semaphore_timedtake(&raw_, clock, time);
               }) == 0;
    }
    template <class Rep, class Period> bool try_acquire_for(const std::chrono::duration<Rep, Period> &timeout) {
        return try_acquire_until(detail::after(timeout));
    }

private:
    baton_semaphore raw_;
};

/* A barrier for a number of threads, at least one. */
class meeting {
public:
    constexpr explicit meeting(std::uint32_t threads) noexcept : raw_ BATON_MEETING_INIT(threads) {}
    meeting(const meeting &) = delete;
    meeting &operator=(const meeting &) = delete;

    /* Waits for the other threads. Returns true in one of them. */
    bool arrive_and_wait() noexcept { return baton_meeting_wait(&raw_) == 1; }

private:
    baton_meeting raw_;
};

/* Why an item was not taken in or is not there. */
enum class queue_status { success, full, empty, closed, timeout };

namespace detail {
/* The result of a call of C on a queue. A try that found nothing to do has the status `again`. */
inline queue_status status_of(int code, queue_status again) {
    switch (code) {
    case 0: return queue_status::success;
    case EPIPE: return queue_status::closed;
    case EAGAIN:
    case EBUSY: return again;
    case ETIMEDOUT: return queue_status::timeout;
    default: throw std::runtime_error(baton_last_error());
    }
}
} /* namespace detail */

/* A queue of N items, first in first out, with any number of threads on each side. The items are in the object, are moved in
 * and out, and are destroyed once. If an item is not taken in, it was not moved from. */
template <class T, std::size_t N> class queue {
    static_assert(N > 0, "a queue needs room for an item");
    static_assert(std::is_nothrow_move_constructible_v<T>, "moving an item must not throw");

public:
    constexpr queue() noexcept : raw_ BATON_QUEUE_INIT_AT(places_, sizeof(T), N) {}
    queue(const queue &) = delete;
    queue &operator=(const queue &) = delete;
    ~queue() {
        baton_queue_end(&raw_);
        for (; raw_.count != 0; --raw_.count, raw_.first = (raw_.first + 1) % N)
            std::destroy_at(std::launder(reinterpret_cast<T *>(places_[raw_.first].bytes)));
    }

    static constexpr std::size_t capacity() noexcept { return N; }
    std::size_t size() const { return baton_queue_length(&raw_); }

    /* Puts an item in, waiting while the queue is full. Returns success or closed. */
    queue_status push(T &&item) { return put(baton_queue_put_by(&raw_, std::addressof(item), moves_in)); }
    queue_status push(const T &item) { return push(T(item)); }
    queue_status try_push(T &&item) { return put(baton_queue_tryput_by(&raw_, std::addressof(item), moves_in)); }
    queue_status try_push(const T &item) { return try_push(T(item)); }
    template <class Clock, class Duration>
    queue_status push_until(T &&item, const std::chrono::time_point<Clock, Duration> &at) {
        return put(detail::until(at, [this, &item](int clock, const std::timespec *time) {
            return baton_queue_timedput_by(&raw_, std::addressof(item), moves_in, clock, time);
        }));
    }
    template <class Clock, class Duration>
    queue_status push_until(const T &item, const std::chrono::time_point<Clock, Duration> &at) {
        return push_until(T(item), at);
    }

    /* Takes the oldest item, waiting while the queue is empty. Returns no item if the queue is closed and empty. */
    std::optional<T> pop() {
        std::optional<T> item;
        get(baton_queue_get_by(&raw_, &item, moves_out));
        return item;
    }
    /* The item, and success, empty or closed. */
    std::pair<std::optional<T>, queue_status> try_pop() {
        std::optional<T> item;
        auto status = get(baton_queue_tryget_by(&raw_, &item, moves_out));
        return {std::move(item), status};
    }
    template <class Clock, class Duration>
    std::pair<std::optional<T>, queue_status> pop_until(const std::chrono::time_point<Clock, Duration> &at) {
        std::optional<T> item;
        auto status = get(detail::until(at, [this, &item](int clock, const std::timespec *time) {
            return baton_queue_timedget_by(&raw_, &item, moves_out, clock, time);
        }));
        return {std::move(item), status};
    }

    /* Closes the queue: no further item goes in, the items in it can still be taken, and waiting threads return. */
    void close() { baton_queue_close(&raw_); }
    bool closed() const { return baton_queue_closed(&raw_) != 0; }

private:
    static queue_status put(int code) { return detail::status_of(code, queue_status::full); }
    static queue_status get(int code) { return detail::status_of(code, queue_status::empty); }

    /* Moves an item of the program into a place. */
    static void moves_in(void *place, void *item) noexcept { new (place) T(std::move(*static_cast<T *>(item))); }
    /* Moves the item out of a place into an optional. */
    static void moves_out(void *item, void *place) noexcept {
        T *oldest = std::launder(static_cast<T *>(place));
        static_cast<std::optional<T> *>(item)->emplace(std::move(*oldest));
        std::destroy_at(oldest);
    }

    /* Memory for an item. The byte makes the constructor a constant. */
    union place {
        unsigned char none;
        alignas(T) unsigned char bytes[sizeof(T)];
        constexpr place() noexcept : none() {}
    };
    mutable baton_queue raw_;
    place places_[N];
};

} /* namespace baton */

#endif /* BATON_HPP */
