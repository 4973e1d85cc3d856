// A cache of 32 shards, each with a mutex of one class. Each time, every thread looks up key 7, and some other key. Right answer: the mutex
// of one shard limits the program, told apart from the 31 others, taken in Cache::look_up. A split does not help, because all want one key.
// The cure looks key 7 up once in 32 times.
#include "cases.h"

class Mutex {
    pthread_mutex_t inner;

public:
    Mutex() { pthread_mutex_init(&inner, nullptr); }
    __attribute__((noinline)) void lock() { pthread_mutex_lock(&inner); }
    __attribute__((noinline)) void unlock() { pthread_mutex_unlock(&inner); }
};

struct Shard {
    Mutex mutex;
    uint64_t uses = 0;
};

class Cache {
    Shard shards[32];

public:
    __attribute__((noinline)) uint64_t look_up(uint64_t key)
    {
        Shard &shard = shards[key % 32];
        shard.mutex.lock();
        uint64_t found = shard.uses = work(shard.uses + key, 5000);
        shard.mutex.unlock();
        return found;
    }
};

static Cache *cache;

static void *read_table(void *number)
{
    uint64_t own = (uintptr_t)number + 1;
    for (int i = 0; i < 6000; i++) {
        own = work(own, 500);
#ifdef CURE
        if (i % 32 == 0)
#endif
            cache->look_up(7);
        cache->look_up(own >> 32);
    }
    return nullptr;
}

int main(int argc, char **argv)
{
    cache = new Cache;
    in_threads(4, read_table, argc, argv);
    return 0;
}
