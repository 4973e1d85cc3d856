// What the test programs share: a check that ends the program with the place that failed.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(x)                                                                        \
    do {                                                                                \
        if (!(x)) {                                                                     \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #x);             \
            _exit(1);                                                                   \
        }                                                                               \
    } while (0)

#define IS(call, want)                                                                  \
    do {                                                                                \
        int got_ = (call);                                                              \
        if (got_ != (want)) {                                                           \
            fprintf(stderr, "%s:%d: %s is %d (%s), not %d\n", __FILE__, __LINE__, #call, got_, strerror(got_), (want)); \
            _exit(1);                                                                   \
        }                                                                               \
    } while (0)

__attribute__((unused)) static struct timespec after(clockid_t clock, long ms) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

__attribute__((unused)) static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
