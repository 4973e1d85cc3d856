// Many small parallel regions, each with a loop and a barrier: shows what starting and joining a team costs.
#include <omp.h>
#include <stdio.h>

enum { CELLS = 4096, ROUNDS = 30000 };
static double now[CELLS], next[CELLS];

int main(void) {
    for (int i = 0; i < CELLS; i++) now[i] = i % 7;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
        {
#pragma omp for
            for (int i = 1; i < CELLS - 1; i++) next[i] = (now[i - 1] + now[i] + now[i + 1]) / 3;
#pragma omp for
            for (int i = 1; i < CELLS - 1; i++) now[i] = next[i];
        }
    }
    double sum = 0;
    for (int i = 0; i < CELLS; i++) sum += now[i];
    printf("%.6f\n", sum);
    return 0;
}
