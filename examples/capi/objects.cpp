// The classes of baton.hpp under the standard's guards, and a queue of items that can only be moved.
//
//   c++ -std=c++17 objects.cpp $(pkg-config --cflags --libs baton) -lpthread -o objects && ./objects
#include <baton.hpp>

#include <condition_variable>
#include <cstdio>
#include <memory>
#include <shared_mutex>
#include <thread>
#include <vector>

static baton::queue<std::unique_ptr<int>, 3> numbers;  // a constant: no code runs before main
static baton::fast_mutex mutex;
static baton::shared_mutex lock;
static baton::condition_variable changed;
static baton::once_flag begun, named;
static int names = 0;
static void name() { names++; }
static baton::semaphore at_work{2};
static baton::meeting start{4};

int main() {
    using namespace std::chrono_literals;
    std::condition_variable_any any;
    long sum = 0, read = 0;
    int fills = 0, left = 4;
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; id++) {
        threads.emplace_back([&] {
            begun.call([&] { fills++; });
            named.call(name);
            start.arrive_and_wait();
            while (auto number = numbers.pop()) {
                at_work.acquire();
                {
                    std::lock_guard<baton::shared_mutex> guard(lock);
                    sum += **number;
                }
                at_work.release();
                std::shared_lock<baton::shared_mutex> reader(lock);
                if (sum < 0) std::abort();
            }
            std::unique_lock<baton::fast_mutex> guard(mutex);
            if (--left == 0) {
                changed.notify_all();
                any.notify_all();
            }
        });
    }
    for (int n = 0; n < 5000; n++) {
        if (numbers.push(std::make_unique<int>(n)) != baton::queue_status::success) return 2;
    }
    numbers.close();
    auto refused = std::make_unique<int>(7);
    if (numbers.push(std::move(refused)) != baton::queue_status::closed || !refused) return 3;  // not moved from
    {
        std::unique_lock<baton::fast_mutex> guard(mutex);
        changed.wait(guard, [&] { return left == 0; });
        if (changed.wait_for(guard, 1ms, [] { return false; })) return 4;
        if (any.wait_for(guard, 1ms, [] { return false; })) return 5;
    }
    for (auto &thread : threads) thread.join();
    if (names != 1) return 12;

    // Items that were not taken out are destroyed once.
    auto alive = std::make_shared<int>(0);
    {
        baton::queue<std::shared_ptr<int>, 2> queue;
        queue.push(alive);
        queue.push(alive);
        if (queue.try_push(alive) != baton::queue_status::full) return 6;
        if (alive.use_count() != 3) return 11;
        if (queue.push_until(alive, std::chrono::system_clock::now()) != baton::queue_status::timeout) return 7;
        if (!queue.try_pop().first || queue.size() != 1) return 8;
    }
    if (alive.use_count() != 1) return 9;

    {
        std::shared_lock<baton::shared_mutex> reader(lock);
        std::unique_lock<baton::shared_mutex> writer(lock, 1ms);
        if (writer.owns_lock() || at_work.try_acquire_for(0ms) == false) return 10;
        std::scoped_lock<baton::fast_mutex> guard(mutex);
        std::thread([&] { if (mutex.try_lock_for(1ms)) read = -1; }).join();
        read += sum;
    }
    std::printf("sum %ld, filled %d time\n", read, fills);
    return read == 5000L * 4999 / 2 && fills == 1 ? 0 : 1;
}
