// Constructs that threads meet at.
#include "bench.h"

static void parallel(long reps) {
    for (long rep = 0; rep < reps; rep++) {
#pragma omp parallel
        delay(delay_steps);
    }
}

static void loop(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) {
#pragma omp for
        for (int i = 0; i < omp_get_num_threads(); i++) delay(delay_steps);
    }
}

static void parallel_loop(long reps) {
    int threads = omp_get_max_threads();
    for (long rep = 0; rep < reps; rep++) {
#pragma omp parallel for
        for (int i = 0; i < threads; i++) delay(delay_steps);
    }
}

static void barrier(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) {
        delay(delay_steps);
#pragma omp barrier
    }
}

static void single(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) {
#pragma omp single
        delay(delay_steps);
    }
}

static void critical(long reps) {
#pragma omp parallel for
    for (long rep = 0; rep < reps; rep++) {
#pragma omp critical(bench)
        delay(delay_steps);
    }
}

static void lock(long reps) {
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel for
    for (long rep = 0; rep < reps; rep++) {
        omp_set_lock(&lock);
        delay(delay_steps);
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
}

static void ordered(long reps) {
#pragma omp parallel for ordered schedule(static, 1)
    for (long rep = 0; rep < reps; rep++) {
#pragma omp ordered
        delay(delay_steps);
    }
}

static void atomic(long reps) {
    double sum = 0;
#pragma omp parallel for
    for (long rep = 0; rep < reps; rep++) {
#pragma omp atomic
        sum += 1;
    }
}

static void added(long reps) {
    volatile double sum = 0;
    for (long rep = 0; rep < reps; rep++) sum += 1;
}

static void reduction(long reps) {
    for (long rep = 0; rep < reps; rep++) {
        double sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            delay(delay_steps);
            sum += 1;
        }
    }
}

const struct measurement syncs[] = {
    {"sync", "parallel", parallel, delays},   {"sync", "for", loop, delays},           {"sync", "parallel for", parallel_loop, delays},
    {"sync", "barrier", barrier, delays},     {"sync", "single", single, delays},      {"sync", "critical", critical, delays},
    {"sync", "lock/unlock", lock, delays},    {"sync", "ordered", ordered, delays},    {"sync", "atomic", atomic, added},
    {"sync", "reduction", reduction, delays}, {0},
};
