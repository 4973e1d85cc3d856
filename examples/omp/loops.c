// Loops with uneven parts: later iterations take longer, and each thread gets the same number of iterations.
#include <omp.h>
#include <stdio.h>

static volatile unsigned sink;

static void compute(long steps) {
    unsigned x = 1;
    for (long i = 0; i < steps; i++) x = x * 1664525u + 1013904223u;
    sink = x;
}

int main(void) {
    long sum = 0;
    for (int round = 0; round < 400; round++) {
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (int i = 0; i < 64; i++) {
            compute(200L * i);
            sum += i;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
