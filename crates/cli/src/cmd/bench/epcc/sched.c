// Loops of 128 iterations a thread, under each schedule.
#include "bench.h"

enum { EACH = 128 };

static void alone(long reps) {
    for (long rep = 0; rep < reps; rep++)
        for (int i = 0; i < EACH; i++) delay(iteration_steps);
}

#define SCHEDULE(name, ...)                                         \
    static void name(long reps) {                                   \
        _Pragma("omp parallel") for (long rep = 0; rep < reps; rep++) { \
            int all = EACH * omp_get_num_threads();                 \
            __VA_ARGS__                                             \
            for (int i = 0; i < all; i++) delay(iteration_steps);   \
        }                                                           \
    }
SCHEDULE(whole, _Pragma("omp for schedule(static)"))
SCHEDULE(static_1, _Pragma("omp for schedule(static, 1)"))
SCHEDULE(static_8, _Pragma("omp for schedule(static, 8)"))
SCHEDULE(static_64, _Pragma("omp for schedule(static, 64)"))
SCHEDULE(dynamic_1, _Pragma("omp for schedule(dynamic, 1)"))
SCHEDULE(dynamic_8, _Pragma("omp for schedule(dynamic, 8)"))
SCHEDULE(dynamic_64, _Pragma("omp for schedule(dynamic, 64)"))
SCHEDULE(guided_1, _Pragma("omp for schedule(guided, 1)"))
SCHEDULE(guided_8, _Pragma("omp for schedule(guided, 8)"))
SCHEDULE(guided_64, _Pragma("omp for schedule(guided, 64)"))

const struct measurement scheds[] = {
    {"sched", "static", whole, alone},         {"sched", "static,1", static_1, alone},     {"sched", "static,8", static_8, alone},
    {"sched", "static,64", static_64, alone},  {"sched", "dynamic,1", dynamic_1, alone},   {"sched", "dynamic,8", dynamic_8, alone},
    {"sched", "dynamic,64", dynamic_64, alone}, {"sched", "guided,1", guided_1, alone},    {"sched", "guided,8", guided_8, alone},
    {"sched", "guided,64", guided_64, alone},  {0},
};
