// Tasks. Where threads create tasks side by side, each creates `reps`; where one creates them, it creates as many for each thread.
#include "bench.h"

enum { DEPTH = 6 };

static void all_create(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) {
#pragma omp task
        delay(delay_steps);
    }
}

static void one_creates(long reps) {
#pragma omp parallel
#pragma omp master
    for (long rep = 0; rep < reps * omp_get_num_threads(); rep++) {
#pragma omp task
        delay(delay_steps);
    }
}

static void one_creates_while_others_work(long reps) {
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0)
            for (long rep = 0; rep < reps; rep++) {
#pragma omp task
                delay(delay_steps);
            }
        else
            for (long rep = 0; rep < reps; rep++) delay(delay_steps);
    }
}

static volatile int no;

static void undeferred(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) {
#pragma omp task if (no)
        delay(delay_steps);
    }
}

static void waited_for(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) {
#pragma omp task
        delay(delay_steps);
#pragma omp taskwait
    }
}

static void behind_a_barrier(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) {
#pragma omp task
        delay(delay_steps);
#pragma omp barrier
    }
}

static void nested(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) {
#pragma omp task
        {
#pragma omp task
            delay(delay_steps);
#pragma omp taskwait
        }
    }
}

static void one_creates_nested(long reps) {
#pragma omp parallel
#pragma omp master
    for (long rep = 0; rep < reps * omp_get_num_threads(); rep++) {
#pragma omp task
        {
#pragma omp task
            delay(delay_steps);
#pragma omp taskwait
        }
    }
}

static void branches(int depth) {
    if (depth == 0) return;
    for (int branch = 0; branch < 2; branch++) {
#pragma omp task
        {
            branches(depth - 1);
            delay(delay_steps);
        }
    }
}

static void leaves(int depth) {
    if (depth == 0) {
        delay(delay_steps);
        return;
    }
    for (int branch = 0; branch < 2; branch++) {
#pragma omp task
        leaves(depth - 1);
    }
}

static void branch_trees(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) branches(DEPTH);
}

static void branches_alone(long reps) { delays(reps * ((2l << DEPTH) - 2)); }

static void leaf_trees(long reps) {
#pragma omp parallel
    for (long rep = 0; rep < reps; rep++) leaves(DEPTH);
}

static void leaves_alone(long reps) { delays(reps * (1l << DEPTH)); }

const struct measurement tasks[] = {
    {"task", "parallel task", all_create, delays},
    {"task", "master task", one_creates, delays},
    {"task", "master task, busy others", one_creates_while_others_work, delays},
    {"task", "conditional task", undeferred, delays},
    {"task", "task and taskwait", waited_for, delays},
    {"task", "task and barrier", behind_a_barrier, delays},
    {"task", "nested task", nested, delays},
    {"task", "nested master task", one_creates_nested, delays},
    {"task", "branch task tree", branch_trees, branches_alone},
    {"task", "leaf task tree", leaf_trees, leaves_alone},
    {0},
};
