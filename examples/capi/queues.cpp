// The classes of baton_queues.hpp with items that can only be moved, and a queue in a file.
//
//   c++ -std=c++17 queues.cpp $(pkg-config --cflags --libs baton) -lpthread -o queues && ./queues /dev/shm/numbers
#include <baton_queues.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

struct page {
    std::string title;
    std::unique_ptr<int> number;
    page(int n) : title("page " + std::to_string(n)), number(std::make_unique<int>(n)) {
        if (n < 0) throw std::runtime_error("a negative page");
    }
};

int main(int count, char **arguments) {
    using baton::queue_status;
    using namespace std::chrono_literals;
    if (count != 2) return 2;
    constexpr int N = 5000;
    baton::spsc<page> pages(5);
    baton::unbounded<std::unique_ptr<int>> numbers;
    std::thread builds([&] {
        for (int n = 0; n < N;) {
            auto room = pages.reserve(3);
            while (n < N && room.emplace(n)) ++n;
            if (room.commit() != queue_status::success) std::abort();
        }
        pages.close();
    });
    std::thread looks([&] {
        int next = 0;
        while (auto seen = pages.peek(4)) {
            for (std::size_t i = 0; i < seen.size(); ++i) {
                if (seen[i].title != "page " + std::to_string(next + i)) std::abort();
            }
            auto oldest = seen.take();
            if (numbers.push(std::move(oldest.number)) != queue_status::success) std::abort();
            ++next;  // the others stay in the queue
        }
        numbers.close();
    });
    long sum = 0;
    baton::create_process_queue<long>(arguments[1], BATON_MANY_TO_MANY, 8);
    std::thread receives([&] {
        baton::process_receiver<long> end(arguments[1]);
        while (auto number = end.pop()) sum += *number;
    });
    {
        baton::process_sender<long> end(arguments[1]);
        while (auto number = numbers.pop()) end.push(**number);
        end.close();
        if (end.try_push(1) != queue_status::closed) return 3;
    }
    for (auto thread : {&builds, &looks, &receives}) thread->join();

    // Each item is destroyed once, sent or not.
    auto alive = std::make_shared<int>(0);
    {
        baton::spsc<std::shared_ptr<int>> queue(3);
        {
            auto room = queue.reserve(9);
            if (room.capacity() != 3 || !room.emplace(alive) || alive.use_count() != 2) return 4;
        }
        if (alive.use_count() != 1 || queue.size() != 0) return 5;
        for (int i = 0; i < 3; ++i) queue.push(std::shared_ptr<int>(alive));
        if (auto full = queue.try_reserve(1); full || full.status() != queue_status::full) return 6;
        queue.peek(2).release(1);
        if (queue.size() != 2 || alive.use_count() != 3) return 7;
        queue.close();
        auto kept = std::shared_ptr<int>(alive);
        if (queue.push(std::move(kept)) != queue_status::closed || !kept) return 8;
        baton::unbounded<std::shared_ptr<int>> list;
        for (int i = 0; i < 100; ++i) list.push(alive);
        if (list.size() != 100 || list.pop_until(std::chrono::steady_clock::now() + 1s).second != queue_status::success) return 9;
    }
    if (alive.use_count() != 1) return 10;

    // A constructor that throws costs no place.
    baton::spsc<page> one(1);
    for (int lap = 0; lap < 3; ++lap) {
        auto room = one.reserve(1);
        try {
            room.emplace(-1);
            return 11;
        } catch (const std::runtime_error &) {}
        if (room.size() != 0 || !room.emplace(lap) || room.commit() != queue_status::success || !one.pop()) return 12;
    }
    try {
        baton::process_sender<int> wrong(arguments[1]);
        wrong.push(1);
        return 13;
    } catch (const std::runtime_error &why) {
        if (std::string(why.what()).find("4 bytes") == std::string::npos && std::string(why.what()).find("closed") == std::string::npos) return 14;
    }
    unlink(arguments[1]);
    std::printf("sum %ld\n", sum);
    return sum == static_cast<long>(N) * (N - 1) / 2 ? 0 : 1;
}
