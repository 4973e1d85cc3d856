// C++20's atomic waits, and its semaphore: the C++ library sleeps by calling futex itself.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <thread>

static std::atomic<int> stage{0};
static std::counting_semaphore<8> units{0};

int main() {
    std::thread waiter([] {
        stage.wait(0);
        if (stage.load() != 1) std::abort();
        for (int i = 0; i < 5; i++) units.acquire();
        stage = 2;
        stage.notify_all();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stage = 1;
    stage.notify_one();
    for (int i = 0; i < 5; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        units.release();
    }
    stage.wait(1);
    waiter.join();
    std::puts("ok");
}
