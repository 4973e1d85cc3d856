// Mutexes by the hundred thousand that are used once and never destroyed, as std::mutex is; and, with an argument, many held
// at once when there is no memory left.
#include "check.h"
#include <sys/resource.h>

static long status(const char *key) {
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0) value = atol(line + strlen(key));
    fclose(file);
    CHECK(value >= 0);
    return value;
}

enum { MANY = 300000, HELD = 100000 };
static pthread_mutex_t mutexes[MANY];

static void *uses(void *arg) {
    for (int i = 0; i < MANY; i++) {
        IS(pthread_mutex_lock(&mutexes[i]), 0);
        IS(pthread_mutex_unlock(&mutexes[i]), 0);
    }
    return arg;
}

static void *holds(void *arg) {
    for (int i = 0; i < HELD; i++) IS(pthread_mutex_lock(&mutexes[i]), 0);
    for (int i = 0; i < HELD; i++) IS(pthread_mutex_trylock(&mutexes[i]), EBUSY);
    for (int i = 0; i < HELD; i++) IS(pthread_mutex_unlock(&mutexes[i]), 0);
    return arg;
}

static long shared;

// More threads than have their storage in one piece.
enum { LATE = 80, ADDS = 5 };

static void *adds(void *arg) {
    for (int i = 0; i < ADDS; i++) {
        IS(pthread_mutex_lock(&mutexes[HELD]), 0);
        shared++;
        IS(pthread_mutex_unlock(&mutexes[HELD]), 0);
    }
    return arg;
}

// These threads take their first locks when no memory is left.
static int begin, added;
static pthread_t late[LATE];

static void *waits_and_adds(void *arg) {
    while (!__atomic_load_n(&begin, __ATOMIC_ACQUIRE)) usleep(100);
    adds(arg);
    // So that all of them have their storage at one time.
    __atomic_add_fetch(&added, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&added, __ATOMIC_ACQUIRE) != LATE) usleep(100);
    return arg;
}

int main(int argc, char **argv) {
    (void)argv;
    pthread_t t[2];
    memset(mutexes, 0, sizeof mutexes);
    long before = status("VmHWM:");
    for (int i = 0; i < 2; i++) IS(pthread_create(&t[i], NULL, uses, NULL), 0);
    for (int i = 0; i < 2; i++) IS(pthread_join(t[i], NULL), 0);
    // In KiB. It took 600 MB when each mutex kept what it once had needed.
    CHECK(status("VmHWM:") - before < 8 << 10);
    if (argc > 1) {
        pthread_attr_t small;
        IS(pthread_attr_init(&small), 0);
        IS(pthread_attr_setstacksize(&small, 64 << 10), 0);
        for (int i = 0; i < LATE; i++) IS(pthread_create(&late[i], &small, waits_and_adds, NULL), 0);
        struct rlimit limit = {(rlim_t)status("VmSize:") << 10, RLIM_INFINITY};
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        holds(NULL);
        __atomic_store_n(&begin, 1, __ATOMIC_RELEASE);
        adds(NULL);
        for (int i = 0; i < LATE; i++) IS(pthread_join(late[i], NULL), 0);
        CHECK(shared == (LATE + 1) * ADDS);
    }
    puts("ok");
    return 0;
}
