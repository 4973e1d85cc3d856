// Overheads of OpenMP by EPCC's method: a construct around a delay takes so long, the delay alone so long, and what is between them is
// the construct's. The measurements are EPCC's; the code is Baton's own.
#ifndef BENCH_H
#define BENCH_H

#include <omp.h>

// A measurement: `test` runs `reps` constructs, `reference` the same work without them. Work of threads that run side by side counts once.
struct measurement {
    const char *group, *name;
    void (*test)(long reps);
    void (*reference)(long reps);
};

// A number of a runtime's manners that is no overhead: nanoseconds, once a call.
struct manner {
    const char *name;
    double (*once)(void);
};

extern const struct measurement syncs[], scheds[], chunks[], arrays[], tasks[];
extern const struct manner manners[];

// Steps of a delay around a construct of sync, array and task, and of an iteration of a scheduled loop.
extern long delay_steps, iteration_steps;

double now_ns(void);
void delay(long steps);
// `reps` delays, one after another.
void delays(long reps);

#endif
