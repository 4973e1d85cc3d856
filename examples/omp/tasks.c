// A tree of tasks, each of which enters a critical section. A task that creates others waits for them.
#include <omp.h>
#include <stdio.h>

static volatile unsigned sink;
static long leaves;

static void compute(long steps) {
    unsigned x = 1;
    for (long i = 0; i < steps; i++) x = x * 1664525u + 1013904223u;
    sink = x;
}

static void tree(int depth) {
    if (depth == 0) {
        compute(20000);
#pragma omp critical(count)
        leaves++;
        return;
    }
    for (int branch = 0; branch < 3; branch++) {
#pragma omp task firstprivate(depth)
        tree(depth - 1);
    }
#pragma omp taskwait
}

int main(void) {
    for (int round = 0; round < 25; round++) {
#pragma omp parallel
#pragma omp single
        tree(6);
    }
    printf("%ld\n", leaves);
    return 0;
}
