// A database, its 16 shards and its statistics have mutexes of one class, taken through one guard. Right answer: the database's own mutex
// limits the program, called by its name (Database), and not "Mutex::Mutex" as all 18. The cure does a tenth of the work under it.
#include "cases.h"

class Mutex {
    pthread_mutex_t *inner = new pthread_mutex_t;

public:
    __attribute__((noinline)) Mutex() { pthread_mutex_init(inner, nullptr); }
    __attribute__((noinline)) void lock() { pthread_mutex_lock(inner); }
    __attribute__((noinline)) void unlock() { pthread_mutex_unlock(inner); }
};

class Guard {
    Mutex &mutex;

public:
    __attribute__((noinline)) explicit Guard(Mutex &mutex) : mutex(mutex) { mutex.lock(); }
    __attribute__((noinline)) ~Guard() { mutex.unlock(); }
};

struct Shard {
    Mutex mutex;
    uint64_t value = 0;
    __attribute__((noinline)) Shard() {}
    __attribute__((noinline)) void touch(uint64_t by)
    {
        Guard guard(mutex);
        value += by;
    }
};

struct Statistics {
    Mutex mutex;
    uint64_t count = 0;
    __attribute__((noinline)) Statistics() {}
    __attribute__((noinline)) void add()
    {
        Guard guard(mutex);
        count++;
    }
};

struct Database {
    Mutex mutex;
    Shard shards[16];
    Statistics statistics;
    uint64_t sequence = 0;
    __attribute__((noinline)) Database() {}
    __attribute__((noinline)) void write(uint64_t value)
    {
        Guard guard(mutex);
#ifdef CURE
        sequence = work(sequence + value, 1500);
#else
        sequence = work(sequence + value, 15000);
#endif
    }
};

static Database *database;

static void *client(void *number)
{
    uint64_t own = (uintptr_t)number + 1;
    for (int i = 0; i < 4000; i++) {
        own = work(own, 1000);
        database->write(own);
        database->shards[own >> 60].touch(own);
        database->statistics.add();
    }
    return nullptr;
}

int main(int argc, char **argv)
{
    database = new Database;
    in_threads(3, client, argc, argv);
    return database->statistics.count != 12000;
}
