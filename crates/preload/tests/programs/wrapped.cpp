// Mutexes behind wrappers. `Made` is initialised by a call in its constructor, `Zero` by nothing; both are taken by one function each.
// Only the callers tell the mutexes of `Red` and `Blue` apart. Both functions have frames of one size, so that a wait of
// the one and of the other has the same depth.
#include "check.h"
#include <new>
#include <thread>
#include <vector>

#define OUT __attribute__((noinline))

struct Made {
    pthread_mutex_t mutex;
    OUT Made() { IS(pthread_mutex_init(&mutex, nullptr), 0); }
    OUT void lock() { IS(pthread_mutex_lock(&mutex), 0); asm volatile(""); }
    OUT void unlock() { IS(pthread_mutex_unlock(&mutex), 0); asm volatile(""); }
};
struct Zero {
    pthread_mutex_t mutex;
    OUT void lock() { IS(pthread_mutex_lock(&mutex), 0); asm volatile(""); }
    OUT void unlock() { IS(pthread_mutex_unlock(&mutex), 0); asm volatile(""); }
};

struct Red {
    Made made;
    Zero zero;
    OUT Red() : zero() { asm volatile(""); }
    OUT void first() { zero.lock(); zero.unlock(); asm volatile(""); }
};
struct Blue {
    Made made;
    Zero zero;
    OUT Blue() : zero() { asm volatile("# blue"); }
    OUT void first() { zero.lock(); zero.unlock(); asm volatile("# blue"); }
};

static Made *shared;
static volatile long n;
OUT static void red_waits() { shared->lock(); usleep(100); shared->unlock(); n = n + 1; }
OUT static void blue_waits() { shared->lock(); usleep(101); shared->unlock(); n = n + 1; }

int main() {
    Red *red = new Red[3];
    Blue *blue = new Blue;
    for (int i = 0; i < 3; i++) red[i].first();
    blue->first();
    shared = &red[0].made;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] { for (int k = 0; k < 50; k++) { red_waits(); blue_waits(); } });
    for (auto &thread : threads) thread.join();
    puts("ok");
}
