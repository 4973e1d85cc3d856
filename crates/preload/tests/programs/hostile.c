// A program that makes life hard: closes all descriptors, lowers its limits, drops its privileges, uses the smallest stacks.
#define _GNU_SOURCE
#include "check.h"
#include <grp.h>
#include <limits.h>
#include <sys/resource.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long total;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 5000; i++) {
        IS(pthread_mutex_lock(&mutex), 0);
        total++;
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    struct timespec past = {0, 0};
    IS(pthread_mutex_lock(&mutex), 0);
    IS(pthread_cond_timedwait(&cond, &mutex, &past), ETIMEDOUT);
    IS(pthread_mutex_unlock(&mutex), 0);
    return NULL;
}

static void round_of_work(void) {
    pthread_t t[2];
    pthread_attr_t a;
    pthread_attr_init(&a);
    IS(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN), 0);
    for (int i = 0; i < 2; i++) IS(pthread_create(&t[i], &a, work, NULL), 0);
    for (int i = 0; i < 2; i++) IS(pthread_join(t[i], NULL), 0);
}

int main(int argc, char **argv) {
    (void)argv;
    round_of_work();
    int out = dup(1);
    for (int fd = 3; fd < 1100; fd++) if (fd != out) close(fd);
    round_of_work();
    struct rlimit files = {4, 4}, size = {1 << 20, 1 << 20};
    CHECK(setrlimit(RLIMIT_NOFILE, &files) == 0);
    if (argc > 1) CHECK(setrlimit(RLIMIT_FSIZE, &size) == 0);
    round_of_work();
    if (geteuid() == 0) CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    round_of_work();
    struct rlimit threads = {64, 64};
    setrlimit(RLIMIT_NPROC, &threads);
    CHECK(total == 4 * 2 * 5000);
    CHECK(write(out, "ok\n", 3) == 3);
    return 0;
}
