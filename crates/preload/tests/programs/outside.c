// Input, output and sleep, each in a function of its own; and calls that do not block. Cancellation and errno are glibc's.
#define _GNU_SOURCE
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void naps(void) { IS(usleep(20000), 0); __asm__ volatile(""); }
__attribute__((noinline)) static void polls(void) { IS(poll(NULL, 0, 20), 0); __asm__ volatile(""); }
__attribute__((noinline)) static void reads(void) {
    char byte = 0;
    CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x');
}
__attribute__((noinline)) static void writes(void) { CHECK(write(ends[1], "x", 1) == 1); }

static void nothing(int signal) { (void)signal; }

/* A handler cuts the sleep short. */
static void interrupted(void) {
    struct sigaction action = { .sa_handler = nothing };
    IS(sigaction(SIGALRM, &action, NULL), 0);
    struct itimerval soon = { .it_value.tv_usec = 20000 };
    IS(setitimer(ITIMER_REAL, &soon, NULL), 0);
    CHECK(sleep(60) > 0);
}

static void *writer(void *arg) {
    (void)arg;
    naps();
    writes();
    return NULL;
}

static void *sleeper(void *arg) {
    (void)arg;
    for (;;) sleep(1000);
    return NULL;
}

int main(void) {
    IS(pipe(ends), 0);
    pthread_t t;
    IS(pthread_create(&t, NULL, writer, NULL), 0);
    reads();
    IS(pthread_join(t, NULL), 0);
    IS(pthread_mutex_lock(&mutex), 0);
    IS(pthread_mutex_unlock(&mutex), 0);
    polls();

    char byte;
    errno = 0;
    CHECK(read(-1, &byte, 1) == -1 && errno == EBADF);
    struct timespec never = { .tv_nsec = -1 };
    IS(clock_nanosleep(CLOCK_MONOTONIC, 0, &never, NULL), EINVAL);
    CHECK(nanosleep(&never, NULL) == -1 && errno == EINVAL);
    struct timespec none = { .tv_nsec = 0 };
    IS(clock_nanosleep(CLOCK_MONOTONIC, 0, &none, NULL), 0);
    interrupted();

    void *answer = NULL;
    IS(pthread_create(&t, NULL, sleeper, NULL), 0);
    IS(pthread_cancel(t), 0);
    IS(pthread_join(t, &answer), 0);
    CHECK(answer == PTHREAD_CANCELED);
    puts("ok");
    return 0;
}
