// Uses baton::queue of C++ a number of times that the test knows: three queues, of which two have the same address in turn.
#include "check.h"
#include <baton.hpp>
#include <memory>
#include <new>
#include <thread>

enum { ITEMS = 200 };

using baton::queue_status;
using item = std::unique_ptr<int>;

static baton::queue<item, 4> filled;

static void produces() {
    for (int i = 0; i < ITEMS; i++) CHECK(filled.push(std::make_unique<int>(i)) == queue_status::success);
    usleep(20000);
    filled.close();
}

static void consumes() {
    // The producer comes to a full queue.
    usleep(20000);
    for (int i = 0; i < ITEMS; i++) {
        auto found = filled.pop();
        CHECK(found && **found == i);
    }
    // This wait ends as the queue is closed.
    CHECK(!filled.pop() && filled.closed());
}

template <std::size_t N> static void fills(void *memory) {
    auto *queue = new (memory) baton::queue<item, N>;
    auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    for (std::size_t i = 0; i < N; i++) CHECK(queue->try_push(std::make_unique<int>(1)) == queue_status::success);
    auto more = std::make_unique<int>(2);
    CHECK(queue->try_push(std::move(more)) == queue_status::full && more);
    CHECK(queue->push_until(std::move(more), soon) == queue_status::timeout && more && queue->size() == N);
    CHECK(queue->try_pop().second == queue_status::success);
    queue->~queue();
}

int main() {
    alignas(64) static unsigned char memory[sizeof(baton::queue<item, 3>)];
    fills<2>(memory);
    fills<3>(memory);
    std::thread one(produces), other(consumes);
    one.join();
    other.join();
    puts("ok");
}
