// What users complain of: workers that burn CPU after a region, regions beside another program, and teams that change their size.
#include "bench.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int met;

static void region(int threads) {
#pragma omp parallel num_threads(threads)
    met = 1;
}

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

// CPU time that a worker takes in the 50 ms behind a region, in which its master sleeps.
static double idle_worker(void) {
    int threads = omp_get_max_threads();
    struct timespec pause = {0, 50000000};
    region(threads);
    double start = cpu_ns();
    nanosleep(&pause, NULL);
    return (cpu_ns() - start) / (threads > 1 ? threads - 1 : 1);
}

// An empty region with a thread a CPU, beside a process that takes one CPU.
static double beside_a_load(void) {
    enum { REGIONS = 20 };
    int threads = omp_get_num_procs();
    pid_t load = fork();
    if (load == 0)
        for (;;) delay(1000);
    struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
    double start = now_ns();
    for (int i = 0; i < REGIONS; i++) region(threads);
    double took = now_ns() - start;
    kill(load, SIGKILL);
    waitpid(load, NULL, 0);
    return took / REGIONS;
}

static double regions(int small, int large) {
    enum { REGIONS = 100 };
    region(large);
    double start = now_ns();
    for (int i = 0; i < REGIONS; i++) region(i % 2 ? small : large);
    return (now_ns() - start) / REGIONS;
}

static double constant_team(void) { return regions(4, 4); }

static double teams_by_turns(void) { return regions(2, 4); }

const struct manner manners[] = {
    {"CPU time of an idle worker", idle_worker},
    {"region beside a busy process", beside_a_load},
    {"region of 4 threads", constant_team},
    {"regions of 2 and 4 by turns", teams_by_turns},
    {0},
};
