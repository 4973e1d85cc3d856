// What a loop, and a chunk of it, cost by themselves: the iterations do nothing.
#include "bench.h"

// An iteration that no compiler leaves out.
static inline void pass(long i) { __asm__ volatile("" : : "r"(i)); }

static void passes(long reps) {
    for (long rep = 0; rep < reps; rep++) pass(rep);
}

// Loops with `EACH` iterations for each thread, without a barrier between them: a loop is what counts.
#define LOOPS(name, EACH, ...)                                              \
    static void name(long reps) {                                           \
        _Pragma("omp parallel") for (long rep = 0; rep < reps; rep++) {     \
            int all = EACH * omp_get_num_threads();                         \
            __VA_ARGS__                                                     \
            for (int i = 0; i < all; i++) pass(i);                          \
        }                                                                   \
    }
LOOPS(loops_at_run_time, 1, _Pragma("omp for schedule(runtime) nowait"))
LOOPS(dynamic_loops, 1, _Pragma("omp for schedule(dynamic, 1) nowait"))
LOOPS(guided_loops, 16, _Pragma("omp for schedule(guided, 1) nowait"))

// The compiler computes the chunks of `schedule(static)` without the runtime, which is asked where the program sets the schedule.
static void static_loops(long reps) {
    omp_set_schedule(omp_sched_static, 0);
    loops_at_run_time(reps);
}

// One loop whose chunks have one iteration each: a chunk is what counts.
#define CHUNKS(name, ...)                                                   \
    static void name(long reps) {                                           \
        _Pragma("omp parallel") {                                           \
            __VA_ARGS__                                                     \
        }                                                                   \
    }
CHUNKS(chunks_at_run_time, _Pragma("omp for schedule(runtime)") for (long rep = 0; rep < reps; rep++) pass(rep);)
CHUNKS(dynamic_chunks, _Pragma("omp for schedule(dynamic, 1)") for (long rep = 0; rep < reps; rep++) pass(rep);)
CHUNKS(ordered_static, _Pragma("omp for ordered schedule(static, 1)") for (long rep = 0; rep < reps; rep++) {
    _Pragma("omp ordered") pass(rep);
})
CHUNKS(ordered_dynamic, _Pragma("omp for ordered schedule(dynamic, 1)") for (long rep = 0; rep < reps; rep++) {
    _Pragma("omp ordered") pass(rep);
})

static void static_chunks(long reps) {
    omp_set_schedule(omp_sched_static, 1);
    chunks_at_run_time(reps);
}

const struct measurement chunks[] = {
    {"chunk", "static loop", static_loops, passes},
    {"chunk", "dynamic loop", dynamic_loops, passes},
    {"chunk", "guided loop, 16 each", guided_loops, passes},
    {"chunk", "static,1 chunk", static_chunks, passes},
    {"chunk", "dynamic,1 chunk", dynamic_chunks, passes},
    {"chunk", "ordered static,1", ordered_static, passes},
    {"chunk", "ordered dynamic,1", ordered_dynamic, passes},
    {0},
};
