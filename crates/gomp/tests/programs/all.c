/* One construct by name; what is printed does not depend on the number of threads' timing. A result that is wrong says so. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int threads;
static int seen[1000];

static void cleared(void) { memset(seen, 0, sizeof seen); }

static void once(const char *what, int n)
{
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += seen[i] != 1;
    printf("%s: %d of %d wrong\n", what, wrong, n);
}

static void parallel(void)
{
    for (int size = 1; size <= threads; size++) {
        cleared();
        #pragma omp parallel num_threads(size)
        {
            seen[omp_get_thread_num()]++;
            if (omp_get_num_threads() != size) printf("size %d\n", omp_get_num_threads());
            #pragma omp parallel num_threads(3)
            if (omp_get_num_threads() != 1 || omp_get_level() != 2) printf("inner level %d\n", omp_get_level());
        }
        once("parallel", size);
    }
    for (int round = 0; round < 500; round++) {
        int sum = 0;
        #pragma omp parallel num_threads(round % threads + 1) reduction(+ : sum)
        sum += omp_get_thread_num() + 1;
        int n = round % threads + 1;
        if (sum != n * (n + 1) / 2) printf("round %d: %d\n", round, sum);
    }
}

static void barrier(void)
{
    int arrived = 0, early = 0;
    #pragma omp parallel
    for (int round = 1; round <= 200; round++) {
        #pragma omp atomic
        arrived++;
        #pragma omp barrier
        int now;
        #pragma omp atomic read
        now = arrived;
        if (now != round * omp_get_num_threads()) {
            #pragma omp atomic
            early++;
        }
        #pragma omp barrier
    }
    printf("barrier: %d early\n", early);
}

#define LOOP(name, clause)                                  \
    cleared();                                              \
    _Pragma("omp parallel") {                               \
        _Pragma(clause) for (int i = 0; i < 997; i++) {     \
            _Pragma("omp atomic") seen[i]++;                \
        }                                                   \
    }                                                       \
    once(name, 997);

static void loops(void)
{
    LOOP("static", "omp for schedule(static)")
    LOOP("static 7", "omp for schedule(static, 7)")
    LOOP("dynamic", "omp for schedule(dynamic) nowait")
    LOOP("dynamic 10", "omp for schedule(monotonic : dynamic, 10)")
    LOOP("guided", "omp for schedule(guided, 3)")
    LOOP("runtime", "omp for schedule(runtime)")
    LOOP("ordered", "omp for ordered schedule(static, 3)")
    cleared();
    #pragma omp parallel for schedule(dynamic, 3)
    for (long i = 996; i >= 0; i--) {
        #pragma omp atomic
        seen[i]++;
    }
    once("down", 997);
    cleared();
    #pragma omp parallel for schedule(guided)
    for (unsigned long long i = -1ULL - 100; i < -1ULL; i++) {
        #pragma omp atomic
        seen[i - (-1ULL - 100)]++;
    }
    once("unsigned long long", 100);
    int last = 0;
    #pragma omp parallel
    for (int round = 0; round < 50; round++) {
        #pragma omp for schedule(dynamic) lastprivate(last) nowait
        for (int i = 0; i < 20; i++) last = i;
    }
    printf("lastprivate %d\n", last);
}

static void ordered(void)
{
    int next = 0, wrong = 0;
    #pragma omp parallel for ordered schedule(dynamic, 2)
    for (int i = 0; i < 200; i++) {
        #pragma omp ordered
        wrong += next++ != i;
    }
    #pragma omp parallel for ordered schedule(static)
    for (int i = 0; i < 200; i++) {
        #pragma omp ordered
        wrong += next++ != 200 + i;
    }
    printf("ordered: %d wrong, %d\n", wrong, next);
}

static void critical(void)
{
    long a = 0, b = 0, c = 0, d = 0;
    long double e = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    int n = 0;
    #pragma omp parallel
    {
        #pragma omp atomic
        n++;
        for (int i = 0; i < 2000; i++) {
            #pragma omp critical
            a++;
            #pragma omp critical(name)
            b++;
            omp_set_lock(&lock);
            c++;
            omp_unset_lock(&lock);
            omp_set_nest_lock(&nest);
            omp_set_nest_lock(&nest);
            d++;
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
            #pragma omp atomic
            e += 1;
        }
    }
    int free = omp_test_lock(&lock), held = omp_test_lock(&lock);
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    n *= 2000;
    printf("critical: %ld %ld %ld %ld %ld, test %d %d\n", a - n, b - n, c - n, d - n, (long)e - n, free, held);
}

static void single(void)
{
    int runs = 0, wrong = 0, masked = 0, value;
    #pragma omp parallel private(value)
    for (int i = 0; i < 100; i++) {
        #pragma omp single
        runs++;
        #pragma omp single copyprivate(value)
        value = i;
        if (value != i) {
            #pragma omp atomic
            wrong++;
        }
        #pragma omp masked
        masked++;
    }
    printf("single: %d, %d wrong, masked %d\n", runs, wrong, masked);
}

static void sections(void)
{
    cleared();
    #pragma omp parallel sections
    {
        #pragma omp section
        seen[0]++;
        #pragma omp section
        seen[1]++;
        #pragma omp section
        seen[2]++;
    }
    #pragma omp parallel
    {
        #pragma omp sections nowait
        {
            #pragma omp section
            seen[3]++;
            #pragma omp section
            seen[4]++;
        }
    }
    once("sections", 5);
}

static int fib(int n)
{
    int a, b;
    if (n < 2) return n;
    #pragma omp task shared(a) final(n < 5)
    a = fib(n - 1);
    #pragma omp task shared(b)
    b = fib(n - 2);
    #pragma omp taskwait
    return a + b;
}

static void tasks(void)
{
    int result = 0, x = 0;
    cleared();
    #pragma omp parallel
    {
        #pragma omp single nowait
        {
            result = fib(14);
            for (int i = 0; i < 500; i++) {
                #pragma omp task
                {
                    #pragma omp atomic
                    seen[i]++;
                }
            }
            #pragma omp taskgroup
            for (int i = 500; i < 600; i++) {
                #pragma omp task
                {
                    #pragma omp task
                    {
                        #pragma omp atomic
                        seen[i]++;
                    }
                }
            }
            int done = 0;
            for (int i = 500; i < 600; i++) done += seen[i];
            if (done != 100) printf("taskgroup ended with %d\n", done);
            for (int i = 0; i < 20; i++) {
                #pragma omp task depend(inout : x)
                x = x * 2 % 1000 + i;
            }
        }
    }
    once("tasks", 600);
    printf("fib %d, depend %d\n", result, x);
}

int main(int argc, char **argv)
{
    threads = omp_get_max_threads();
    parallel(), barrier(), loops(), ordered(), critical(), single(), sections(), tasks();
    omp_sched_t kind;
    int chunk;
    omp_set_schedule(omp_sched_guided, 5);
    omp_get_schedule(&kind, &chunk);
    printf("%d %d %d %d\n", kind, chunk, omp_in_parallel(), omp_get_ancestor_thread_num(0));
    if (argc > 1) {
        omp_display_env(0);
    }
    return 0;
}
