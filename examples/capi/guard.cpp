// Shows baton::mutex, which std::lock_guard can take: threads move money between accounts, and the sum must stay the same.
//
//   c++ guard.cpp $(pkg-config --cflags --libs baton) -lpthread -o guard && ./guard
#include <baton.h>

#include <cstdio>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

int main() {
    baton::mutex lock(BATON_MCS, "spin-park");
    if (!lock.valid()) {
        std::fprintf(stderr, "guard: %s\n", baton_last_error());
        return 2;
    }
    std::vector<long> accounts(8, 1000);
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < 4; id++) {
        threads.emplace_back([&, id] {
            for (unsigned i = 0; i < 5000; i++) {
                std::lock_guard<baton::mutex> guard(lock);
                accounts[(id + i) % 8] -= 1;
                accounts[(id + 3 * i + 1) % 8] += 1;
            }
        });
    }
    for (auto &thread : threads) thread.join();
    long sum = std::accumulate(accounts.begin(), accounts.end(), 0L);
    std::printf("sum %ld\n", sum);
    return sum == 8000 ? 0 : 1;
}
