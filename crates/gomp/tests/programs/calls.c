// Calls of the runtime's functions by themselves, for counting their instructions. usage: calls WHAT COUNT [THREADS]
// Of several threads, the first makes the calls of loops alone; the others come to the loops when it has ended them.
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool GOMP_loop_runtime_start(long, long, long, long *, long *);
bool GOMP_loop_dynamic_start(long, long, long, long, long *, long *);
bool GOMP_loop_dynamic_next(long *, long *);
bool GOMP_loop_guided_start(long, long, long, long, long *, long *);
bool GOMP_loop_guided_next(long *, long *);
bool GOMP_loop_static_start(long, long, long, long, long *, long *);
bool GOMP_loop_static_next(long *, long *);
bool GOMP_loop_ordered_dynamic_start(long, long, long, long, long *, long *);
bool GOMP_loop_ordered_dynamic_next(long *, long *);
void GOMP_loop_end_nowait(void);
void GOMP_ordered_start(void);
void GOMP_ordered_end(void);

static int ends[2];
static omp_lock_t lock;

// The first thread goes ahead, and the others sleep outside of the runtime until it has `left` the loop.
static void others_wait(void) {
    char byte;
    if (omp_get_thread_num() != 0 && read(ends[0], &byte, 1) != 0) abort();
}

static void left(void) {
    if (omp_get_thread_num() == 0) close(ends[1]);
}

static void static_loop(long n) {
    long from, to;
    others_wait();
    for (long i = 0; i < n; i++) {
        GOMP_loop_runtime_start(0, 2, 1, &from, &to);
        GOMP_loop_end_nowait();
    }
    left();
}

static void dynamic_loop(long n) {
    long from, to;
    others_wait();
    for (long i = 0; i < n; i++) {
        GOMP_loop_dynamic_start(0, 2, 1, 1, &from, &to);
        GOMP_loop_end_nowait();
    }
    left();
}

#define CHUNKS(name, in_each)                                   \
    static void name##_chunks(long n) {                         \
        long from, to;                                          \
        others_wait();                                          \
        if (GOMP_loop_##name##_start(0, n, 1, 1, &from, &to))   \
            do {                                                \
                in_each;                                        \
            } while (GOMP_loop_##name##_next(&from, &to));      \
        left();                                                 \
        GOMP_loop_end_nowait();                                 \
    }

CHUNKS(dynamic, )
CHUNKS(static, )
CHUNKS(ordered_dynamic, GOMP_ordered_start(); GOMP_ordered_end())

// The chunks of `n` loops of a million iterations. Only the first thread comes to these loops, which a program may not do: the
// other threads' begins and ends would be counted with the chunks.
static void guided_chunks(long n) {
    long from, to;
    for (long i = 0; omp_get_thread_num() == 0 && i < n; i++) {
        if (GOMP_loop_guided_start(0, 1000000, 1, 1, &from, &to))
            while (GOMP_loop_guided_next(&from, &to));
        GOMP_loop_end_nowait();
    }
}

static void critical(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp critical
        __asm__ volatile("");
    }
}

static void critical_named(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp critical(name)
        __asm__ volatile("");
    }
}

static void locks(long n) {
    for (long i = 0; i < n; i++) {
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
    }
}

static void single(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp single nowait
        __asm__ volatile("");
    }
}

static void barriers(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp barrier
    }
}

static void tasks(long n) {
#pragma omp master
    for (long i = 0; i < n; i++) {
#pragma omp task
        __asm__ volatile("");
#pragma omp taskwait
    }
}

static long fibonacci(long n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tree(long n) {
#pragma omp master
    fibonacci(n);
}

static void nothing(long n) {
    (void)n;
}

static const struct {
    const char *name;
    void (*run)(long);
} CALLS[] = {
    {"static-loop", static_loop}, {"dynamic-loop", dynamic_loop}, {"static-chunk", static_chunks},
    {"dynamic-chunk", dynamic_chunks}, {"guided-chunk", guided_chunks}, {"ordered-chunk", ordered_dynamic_chunks},
    {"critical", critical}, {"critical-named", critical_named}, {"lock", locks}, {"single", single},
    {"barrier", barriers}, {"task", tasks}, {"task-tree", tree}, {"region", nothing},
};

int main(int count, char **words) {
    void (*run)(long) = NULL;
    for (unsigned at = 0; count > 2 && at < sizeof CALLS / sizeof *CALLS; at++)
        if (!strcmp(CALLS[at].name, words[1])) run = CALLS[at].run;
    if (!run) return fprintf(stderr, "usage: calls WHAT COUNT [THREADS]\n"), 2;
    long n = atol(words[2]), regions = run == nothing ? n : 1;
    int threads = count > 3 ? atoi(words[3]) : 1;
    omp_init_lock(&lock);
    if (pipe(ends) != 0) return perror("calls: pipe"), 1;
    omp_set_schedule(omp_sched_static, 0);
    for (long i = 0; i < regions; i++) {
#pragma omp parallel num_threads(threads)
        run(n);
    }
    return 0;
}
