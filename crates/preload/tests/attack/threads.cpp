// C++: mutexes of every kind that the library has, conditions, call_once, exceptions that leave locks, thread-local objects that
// lock as they end, and a pool of many short threads.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex plain;
static std::recursive_timed_mutex nested;
static std::shared_timed_mutex shared;
static std::condition_variable changed;
static std::condition_variable_any any_changed;
static long total, ended;

struct AtEnd {
    ~AtEnd() {
        std::lock_guard<std::mutex> guard(plain);
        ended++;
    }
    void touch() {}
};
static thread_local AtEnd at_end;

static void down(int depth) {
    std::lock_guard<std::recursive_timed_mutex> guard(nested);
    if (depth == 0) throw std::runtime_error("from below");
    down(depth - 1);
}

int main() {
    std::once_flag once;
    std::atomic<int> onces{0}, caught{0};
    for (int round = 0; round < 5; round++) {
        std::vector<std::thread> pool;
        for (int i = 0; i < 8; i++)
            pool.emplace_back([&] {
                at_end.touch();
                std::call_once(once, [&] { onces++; });
                try {
                    down(5);
                } catch (const std::runtime_error &) {
                    caught++;
                }
                auto own = std::make_unique<std::mutex>();
                for (int n = 0; n < 200; n++) {
                    std::scoped_lock both(plain, *own);
                    total++;
                }
                std::shared_lock<std::shared_timed_mutex> reader(shared);
                std::unique_lock<std::mutex> waiter(plain);
                changed.wait_for(waiter, std::chrono::milliseconds(1), [] { return false; });
                any_changed.notify_all();
            });
        for (auto &thread : pool) thread.join();
    }
    std::printf("%ld counted, %ld ended, %d once, %d caught\n", total, ended, onces.load(), caught.load());
    return 0;
}
