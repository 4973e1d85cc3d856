// The C++ library's mutexes and condition variables, thread_local destructors that lock, and exceptions under a lock.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#define CHECK(x)                                                               \
    do {                                                                       \
        if (!(x)) {                                                            \
            std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #x); \
            std::_Exit(1);                                                     \
        }                                                                      \
    } while (0)

using namespace std::chrono_literals;

static std::mutex at_exit;
static int ended;
struct Ending {
    int used = 0;
    ~Ending() {
        std::lock_guard guard(at_exit);
        ended++;
    }
};
static thread_local Ending ending;

int main() {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<int> queue;
    long sum = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([&] {
            ending.used++;
            for (int n = 0; n < 300; n++) {
                std::unique_lock lock(mutex);
                filled.wait(lock, [&] { return !queue.empty(); });
                sum += queue.front();
                queue.pop_front();
            }
        });
    for (int n = 1; n <= 600; n++) {
        {
            std::lock_guard guard(mutex);
            queue.push_back(n);
        }
        filled.notify_one();
    }
    for (auto &thread : threads) thread.join();
    CHECK(sum == 600 * 601 / 2 && ended == 2);

    std::unique_lock lock(mutex);
    CHECK(filled.wait_for(lock, 10ms) == std::cv_status::timeout);
    CHECK(filled.wait_until(lock, std::chrono::system_clock::now() + 10ms) == std::cv_status::timeout);
    CHECK(!filled.wait_for(lock, 1ms, [] { return false; }));
    lock.unlock();
    try {
        std::lock_guard guard(mutex);
        throw std::runtime_error("under the lock");
    } catch (const std::runtime_error &) {
    }
    CHECK(mutex.try_lock());
    mutex.unlock();

    std::recursive_mutex recursive;
    std::timed_mutex timed;
    std::recursive_timed_mutex both;
    recursive.lock(), recursive.lock();
    timed.lock(), both.lock(), both.lock();
    std::thread([&] {
        CHECK(!recursive.try_lock() && !timed.try_lock_for(10ms) && !both.try_lock_until(std::chrono::steady_clock::now() + 5ms));
    }).join();
    recursive.unlock(), recursive.unlock(), timed.unlock(), both.unlock(), both.unlock();
    CHECK(timed.try_lock_for(1ms));
    timed.unlock();

    std::shared_mutex shared;
    std::condition_variable_any any;
    bool ready = false;
    std::thread reader([&] {
        std::shared_lock reading(shared);
        any.wait(reading, [&] { return ready; });
    });
    {
        std::unique_lock writing(shared);
        ready = true;
    }
    any.notify_all();
    reader.join();

    std::mutex a, b;
    std::atomic<int> both_taken{0};
    std::vector<std::future<void>> tasks;
    for (int i = 0; i < 2; i++)
        tasks.push_back(std::async(std::launch::async, [&, i] {
            for (int n = 0; n < 200; n++) {
                std::scoped_lock two(i ? a : b, i ? b : a);
                both_taken++;
            }
        }));
    for (auto &task : tasks) task.get();
    CHECK(both_taken == 400);
    static std::once_flag once;
    std::call_once(once, [] {});
    std::puts("ok");
}
