// Prints what LLVM's library does and libgomp does not. Each line starts with the name of its test.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void __kmpc_push_num_threads_list(void *at, int thread, unsigned length, int *list);
void __kmpc_push_num_threads_strict(void *at, int thread, int threads, int severity, const char *text);
void __kmpc_dispatch_init_4(void *at, int thread, int schedule, int from, int to, int step, int chunk);
int __kmpc_dispatch_next_4(void *at, int thread, int *last, int *from, int *to, int *step);
int __kmpc_global_thread_num(void *at);
int __kmpc_get_target_offload(void);

static int threads(void) {
    int n = 0;
#pragma omp parallel
#pragma omp single
    n = omp_get_num_threads();
    return n;
}

// The threads of three nested regions, by a list of two numbers, and after it.
static void lists(void) {
    int list[2] = {3, 2}, seen[3] = {0};
    omp_set_max_active_levels(3);
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 0)
            __kmpc_push_num_threads_list(NULL, __kmpc_global_thread_num(NULL), 2, list);
#pragma omp parallel
        if (omp_get_thread_num() == 0) {
            seen[0] = omp_get_num_threads();
#pragma omp parallel
            if (omp_get_thread_num() == 0) {
                seen[1] = omp_get_num_threads();
                seen[2] = threads();
            }
        }
        printf("lists: %d %d %d\n", seen[0], seen[1], seen[2]);
    }
}

// A region that must have more threads than OMP_THREAD_LIMIT allows.
static void strict(void) {
    __kmpc_push_num_threads_strict(NULL, __kmpc_global_thread_num(NULL), 64, 1, "too few");
    printf("strict: %d\n", threads() < 64);
}

// The first chunks of loops that one thread runs, and how many iterations all chunks have.
static void chunks(const char *name, int schedule, int chunk) {
    int last, from, to, step, all = 0, shown = 0;
    __kmpc_dispatch_init_4(NULL, 0, schedule, 0, 99, 1, chunk);
    printf("%s:", name);
    while (__kmpc_dispatch_next_4(NULL, 0, &last, &from, &to, &step)) {
        all += to - from + 1;
        if (shown++ < 3)
            printf(" %d-%d", from, to);
    }
    printf(" all %d\n", all);
}

// Tasks that wait until all of them are made, which needs a queue without a limit.
static void queue(void) {
    int made = 0, early = 0;
#pragma omp parallel num_threads(2)
#pragma omp master
    for (int i = 0; i < 1000; i++) {
        made++;
#pragma omp task shared(made, early)
        if (omp_get_thread_num() == 0 && made < 1000)
#pragma omp atomic write
            early = 1;
    }
    printf("queue: early %d\n", early);
}

int main(void) {
    // The library reads its variables when the program calls it first.
    setenv("OMP_NUM_THREADS", "2", 1);
    int chunk;
    omp_sched_t kind;
    omp_get_schedule(&kind, &chunk);
    printf("schedule: %d %d\n", (int)kind, chunk);
    printf("late: %d\n", threads());
    lists();
    strict();
    chunks("trapezoidal", 39, 1);
    chunks("guided in vectors", 46, 8);
    chunks("as said, in vectors", 47, 4);
    queue();
    kmp_set_defaults("OMP_TARGET_OFFLOAD=Disabled");
    printf("offload: %d\n", __kmpc_get_target_offload());
}
