/* baton_queues.hpp: the queues of baton.h without a mutex inside as C++ classes (C++17):
 *
 *   - baton::spsc<T>: one producer and one consumer; items are built, looked at and destroyed in their places;
 *   - baton::unbounded<T>: any number of threads on each side, and no bound;
 *   - baton::choice<T>: an algorithm that the user of the program chooses when it starts;
 *   - baton::process_sender<T> and baton::process_receiver<T>: between processes, for types that are trivially copied.
 *
 * Items may be such as cannot be copied. The objects allocate and cannot be copied or moved; their constructors throw
 * std::runtime_error with a sentence. Link with libbaton, like baton.hpp.
 */
#ifndef BATON_QUEUES_HPP
#define BATON_QUEUES_HPP

#include <baton.hpp>

#include <stdexcept>
#include <string>

namespace baton {

namespace detail {
template <class Pointer> Pointer made(Pointer pointer) {
    if (pointer == nullptr) throw std::runtime_error(baton_last_error());
    return pointer;
}

/* How a queue that copies bytes keeps items: as they are if they can be copied as bytes, else each in memory of its own. */
template <class T> struct copied {
    static constexpr bool bytes = std::is_trivially_copyable_v<T>;
    using kept = std::conditional_t<bytes, T, T *>;

    /* `put` copies the kept item in. If it is not taken in, the item is not moved from. */
    template <class Put> static queue_status in(T &item, Put put) {
        if constexpr (bytes) {
            return status_of(put(&item), queue_status::full);
        } else {
            auto owned = std::make_unique<T>(std::move(item));
            T *raw = owned.get();
            auto status = status_of(put(&raw), queue_status::full);
            if (status == queue_status::success) owned.release();
            else item = std::move(*owned);
            return status;
        }
    }

    /* `take` copies a kept item out. */
    template <class Take> static std::pair<std::optional<T>, queue_status> out(Take take) {
        alignas(kept) unsigned char place[sizeof(kept)];
        auto status = status_of(take(place), queue_status::empty);
        if (status != queue_status::success) return {std::nullopt, status};
        kept *found = std::launder(reinterpret_cast<kept *>(place));
        if constexpr (bytes) {
            return {*found, status};
        } else {
            std::unique_ptr<T> owned(*found);
            return {std::move(*owned), status};
        }
    }
};
} /* namespace detail */

/* A queue for one producer thread and one consumer thread, for exactly as many items as it is asked for. */
template <class T> class spsc {
    static_assert(std::is_nothrow_move_constructible_v<T>, "an item moves without an exception");
    static_assert(alignof(T) <= 16, "places are aligned to 16 bytes");

public:
    explicit spsc(std::size_t capacity) : queue_(detail::made(baton_spsc_new(sizeof(T), capacity))) {}
    spsc(const spsc &) = delete;
    spsc &operator=(const spsc &) = delete;
    ~spsc() {
        while (auto left = try_peek(1024)) left.release(left.size());
        baton_spsc_free(queue_);
    }

    /* Free places, and the items that were built in them. commit() sends the items; a room that is destroyed destroys its items
     * and sends nothing. */
    class room {
    public:
        room(const room &) = delete;
        room &operator=(const room &) = delete;
        ~room() {
            for (std::size_t i = 0; i < built_; ++i) std::destroy_at(at(i));
        }

        explicit operator bool() const noexcept { return status_ == queue_status::success; }
        queue_status status() const noexcept { return status_; } /* why there are no places */
        std::size_t capacity() const noexcept { return baton_places_count(&places_); }
        std::size_t size() const noexcept { return built_; }

        /* Builds the next item in its place. Returns false if all places have an item. */
        template <class... Arguments> bool emplace(Arguments &&...arguments) {
            if (built_ == capacity()) return false;
            new (baton_place(&places_, built_)) T(std::forward<Arguments>(arguments)...);
            ++built_;
            return true;
        }
        /* Sends the items. Returns success, or closed: then nothing was sent, and the room still has its items. */
        queue_status commit() {
            if (!*this) return status_;
            auto status = detail::status_of(baton_spsc_commit(queue_, built_), queue_status::full);
            if (status == queue_status::success) {
                built_ = 0;
                places_ = baton_places{};
            }
            return status;
        }

    private:
        friend class spsc;
        template <class Reserve> room(baton_spsc *queue, Reserve reserve)
            : queue_(queue), status_(detail::status_of(reserve(&places_), queue_status::full)) {}
        T *at(std::size_t i) const noexcept { return std::launder(static_cast<T *>(baton_place(&places_, i))); }

        baton_places places_{};
        baton_spsc *queue_;
        queue_status status_;
        std::size_t built_ = 0;
    };

    /* Items in their places, from the oldest on. release() destroys the first ones and take() moves the oldest one out: these are
     * received. The others stay in the queue. */
    class items {
    public:
        items(const items &) = delete;
        items &operator=(const items &) = delete;
        ~items() {
            if (gone_ != 0) baton_spsc_release(queue_, gone_);
        }

        explicit operator bool() const noexcept { return status_ == queue_status::success; }
        queue_status status() const noexcept { return status_; } /* why there are no items */
        std::size_t size() const noexcept { return baton_places_count(&places_) - gone_; }
        T &operator[](std::size_t i) const noexcept { return *at(gone_ + i); }
        /* Moves the oldest item out. There must be one. */
        T take() {
            T *oldest = at(gone_);
            T item(std::move(*oldest));
            std::destroy_at(oldest);
            ++gone_;
            return item;
        }
        /* Destroys the first `count` items, or all if there are fewer. */
        void release(std::size_t count) {
            for (count = count < size() ? count : size(); count != 0; --count) std::destroy_at(at(gone_++));
        }

    private:
        friend class spsc;
        template <class Peek> items(baton_spsc *queue, Peek peek)
            : queue_(queue), status_(detail::status_of(peek(&places_), queue_status::empty)) {}
        T *at(std::size_t i) const noexcept { return std::launder(static_cast<T *>(baton_place(&places_, i))); }

        baton_places places_{};
        baton_spsc *queue_;
        queue_status status_;
        std::size_t gone_ = 0;
    };

    /* For the producer: lends up to `most` free places. `reserve` waits while there is none. */
    room reserve(std::size_t most) {
        return room(queue_, [this, most](baton_places *places) { return baton_spsc_reserve(queue_, most, places); });
    }
    room try_reserve(std::size_t most) {
        return room(queue_, [this, most](baton_places *places) { return baton_spsc_tryreserve(queue_, most, places); });
    }
    /* For the consumer: lends up to `most` items. `peek` waits while there is none. */
    items peek(std::size_t most) {
        return items(queue_, [this, most](baton_places *places) { return baton_spsc_peek(queue_, most, places); });
    }
    items try_peek(std::size_t most) {
        return items(queue_, [this, most](baton_places *places) { return baton_spsc_trypeek(queue_, most, places); });
    }

    /* Puts an item in, waiting while the queue is full. If it is closed, the item is not moved from. */
    queue_status push(T &&item) { return put(reserve(1), item); }
    queue_status try_push(T &&item) { return put(try_reserve(1), item); }
    /* Takes the oldest item, waiting while the queue is empty. Returns no item if the queue is closed and empty. */
    std::optional<T> pop() {
        auto oldest = peek(1);
        return oldest ? std::optional<T>(oldest.take()) : std::nullopt;
    }

    void close() { baton_spsc_close(queue_); }
    std::size_t size() const { return baton_spsc_length(queue_); }

private:
    static queue_status put(room &&place, T &item) {
        if (!place) return place.status();
        place.emplace(std::move(item));
        auto status = place.commit();
        if (status == queue_status::closed) item = std::move(*place.at(0));
        return status;
    }

    baton_spsc *queue_;
};

/* A queue without a bound, with any number of threads on each side. An item that cannot be copied as bytes is allocated by itself. */
template <class T> class unbounded {
    using copied = detail::copied<T>;

public:
    unbounded() : queue_(detail::made(baton_unbounded_new(sizeof(typename copied::kept)))) {}
    unbounded(const unbounded &) = delete;
    unbounded &operator=(const unbounded &) = delete;
    ~unbounded() {
        while (try_pop().first) {}
        baton_unbounded_free(queue_);
    }

    /* Puts an item in. Returns success or closed; then the item is not moved from. */
    queue_status push(T &&item) {
        return copied::in(item, [this](const void *kept) { return baton_unbounded_put(queue_, kept); });
    }
    queue_status push(const T &item) { return push(T(item)); }

    /* Takes the oldest item, waiting while there is none. Returns no item if the queue is closed and empty. */
    std::optional<T> pop() {
        return copied::out([this](void *item) { return baton_unbounded_get(queue_, item); }).first;
    }
    /* The item, and success, empty or closed. */
    std::pair<std::optional<T>, queue_status> try_pop() {
        return copied::out([this](void *item) { return baton_unbounded_tryget(queue_, item); });
    }
    template <class Clock, class Duration>
    std::pair<std::optional<T>, queue_status> pop_until(const std::chrono::time_point<Clock, Duration> &at) {
        return copied::out([this, &at](void *item) {
            return detail::until(at, [this, item](int clock, const std::timespec *time) {
                return baton_unbounded_timedget(queue_, item, clock, time);
            });
        });
    }

    void close() { baton_unbounded_close(queue_); }
    std::size_t size() const { return baton_unbounded_length(queue_); }

private:
    baton_unbounded *queue_;
};

/* A queue whose algorithm the user of the program chooses: `baton run --queue ring -- ./app`. The kind is BATON_ONE_TO_ONE, for one
 * producer thread and one consumer thread, or BATON_MANY_TO_MANY. An item that cannot be copied as bytes is allocated by itself. */
template <class T> class choice {
    using copied = detail::copied<T>;

public:
    choice(baton_process_kind kind, std::size_t capacity)
        : queue_(detail::made(baton_choice_new(kind, sizeof(typename copied::kept), capacity))) {}
    choice(const choice &) = delete;
    choice &operator=(const choice &) = delete;
    ~choice() {
        while (try_pop().first) {}
        baton_choice_free(queue_);
    }

    /* Puts an item in, waiting while the queue is full. If the item is not taken in, it is not moved from. */
    queue_status push(T &&item) {
        return copied::in(item, [this](const void *kept) { return baton_choice_put(queue_, kept); });
    }
    queue_status push(const T &item) { return push(T(item)); }
    queue_status try_push(T &&item) {
        return copied::in(item, [this](const void *kept) { return baton_choice_tryput(queue_, kept); });
    }
    queue_status try_push(const T &item) { return try_push(T(item)); }
    template <class Clock, class Duration>
    queue_status push_until(T &&item, const std::chrono::time_point<Clock, Duration> &at) {
        return copied::in(item, [this, &at](const void *kept) {
            return detail::until(at, [this, kept](int clock, const std::timespec *time) {
                return baton_choice_timedput(queue_, kept, clock, time);
            });
        });
    }
    template <class Clock, class Duration>
    queue_status push_until(const T &item, const std::chrono::time_point<Clock, Duration> &at) {
        return push_until(T(item), at);
    }

    /* Takes the oldest item, waiting while the queue is empty. Returns no item if the queue is closed and empty. */
    std::optional<T> pop() {
        return copied::out([this](void *item) { return baton_choice_get(queue_, item); }).first;
    }
    /* The item, and success, empty or closed. */
    std::pair<std::optional<T>, queue_status> try_pop() {
        return copied::out([this](void *item) { return baton_choice_tryget(queue_, item); });
    }
    template <class Clock, class Duration>
    std::pair<std::optional<T>, queue_status> pop_until(const std::chrono::time_point<Clock, Duration> &at) {
        return copied::out([this, &at](void *item) {
            return detail::until(at, [this, item](int clock, const std::timespec *time) {
                return baton_choice_timedget(queue_, item, clock, time);
            });
        });
    }

    void close() { baton_choice_close(queue_); }
    std::size_t size() const { return baton_choice_length(queue_); }
    std::size_t capacity() const { return baton_choice_capacity(queue_); }
    /* The algorithm, such as "ring". */
    const char *name() const { return baton_choice_name(queue_); }

private:
    baton_choice *queue_;
};

/* Creates the file of a queue between processes for items of type T. */
template <class T>
void create_process_queue(const std::string &path, baton_process_kind kind, std::size_t capacity) {
    if (baton_process_queue_create(path.c_str(), kind, capacity, sizeof(T)) != 0) throw std::runtime_error(baton_last_error());
}

/* The sending end of a queue between processes, which one thread at a time may use. */
template <class T> class process_sender {
    static_assert(std::is_trivially_copyable_v<T>, "another process gets the bytes of the item");

public:
    explicit process_sender(const std::string &path) : end_(detail::made(baton_process_sender_open(path.c_str()))) {}
    process_sender(const process_sender &) = delete;
    process_sender &operator=(const process_sender &) = delete;
    ~process_sender() { baton_process_sender_free(end_); }

    /* Sends an item. Returns success, closed, and of a try full (another process's call may be in the way). Throws
     * std::runtime_error if the queue has items of another size, or is damaged. */
    queue_status push(const T &item) { return detail::status_of(baton_process_send(end_, &item, sizeof(T)), queue_status::full); }
    queue_status try_push(const T &item) {
        return detail::status_of(baton_process_trysend(end_, &item, sizeof(T)), queue_status::full);
    }
    template <class Clock, class Duration>
    queue_status push_until(const T &item, const std::chrono::time_point<Clock, Duration> &at) {
        return detail::status_of(detail::until(at, [&](int clock, const std::timespec *time) {
            return baton_process_timedsend(end_, &item, sizeof(T), clock, time);
        }), queue_status::full);
    }
    void close() { baton_process_sender_close(end_); }

private:
    baton_process_sender *end_;
};

/* The receiving end of a queue between processes, which one thread at a time may use. */
template <class T> class process_receiver {
    static_assert(std::is_trivially_copyable_v<T>, "another process sends the bytes of the item");

public:
    explicit process_receiver(const std::string &path) : end_(detail::made(baton_process_receiver_open(path.c_str()))) {}
    process_receiver(const process_receiver &) = delete;
    process_receiver &operator=(const process_receiver &) = delete;
    ~process_receiver() { baton_process_receiver_free(end_); }

    /* Takes the oldest item, waiting while there is none. Returns no item if the queue is closed and empty. */
    std::optional<T> pop() {
        return get([this](void *item) { return baton_process_receive(end_, item, sizeof(T)); }).first;
    }
    /* The item, and success, closed or empty (another process's call may be in the way). */
    std::pair<std::optional<T>, queue_status> try_pop() {
        return get([this](void *item) { return baton_process_tryreceive(end_, item, sizeof(T)); });
    }
    template <class Clock, class Duration>
    std::pair<std::optional<T>, queue_status> pop_until(const std::chrono::time_point<Clock, Duration> &at) {
        return get([this, &at](void *item) {
            return detail::until(at, [this, item](int clock, const std::timespec *time) {
                return baton_process_timedreceive(end_, item, sizeof(T), clock, time);
            });
        });
    }
    void close() { baton_process_receiver_close(end_); }

private:
    template <class Get> static std::pair<std::optional<T>, queue_status> get(Get take) { return detail::copied<T>::out(take); }

    baton_process_receiver *end_;
};

} /* namespace baton */

#endif /* BATON_QUEUES_HPP */
