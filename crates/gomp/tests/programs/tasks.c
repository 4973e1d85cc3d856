/* Tasks: dependences, groups, loops, reductions, events, priorities. What is printed does not depend on timing. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

/* Each task waits for the one before by its dependence: a chain, two at a time, and readers between writers. */
static void depend(void)
{
    enum { N = 200 };
    int x = 0, wrong = 0, seen[N];
    #pragma omp parallel
    #pragma omp single
    for (int i = 0; i < N; i++) {
        #pragma omp task depend(inout : x) firstprivate(i) shared(x, wrong)
        {
            if (x != i) wrong++;
            x = i + 1;
        }
        #pragma omp task depend(in : x) firstprivate(i) shared(x, seen)
        seen[i] = x;
        #pragma omp task depend(in : x) firstprivate(i) shared(x, wrong)
        if (x != i + 1) {
            #pragma omp atomic
            wrong++;
        }
    }
    for (int i = 0; i < N; i++) wrong += seen[i] != i + 1;
    printf("depend: %d wrong, ends at %d\n", wrong, x);

    int a = 0, b = 0, together = 0;
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp task depend(out : a) shared(a)
        a = 1;
        #pragma omp task depend(out : b) shared(b)
        b = 2;
        for (int i = 0; i < 20; i++) {
            #pragma omp task depend(in : a) depend(mutexinoutset : b) shared(a, b)
            b += a;
        }
        #pragma omp taskwait depend(in : b)
        together = a + b;
        omp_depend_t object;
        #pragma omp depobj(object) depend(inout : a)
        #pragma omp task depend(depobj : object) shared(a, b)
        a = b;
        #pragma omp task if (0) depend(in : a) shared(a, b)
        b = a + 1;
        #pragma omp depobj(object) destroy
    }
    printf("depend: %d, %d, %d\n", together, a, b);
}

static long fib(int n)
{
    long x, y;
    if (n < 2) return n;
    #pragma omp task shared(x) firstprivate(n) final(n < 8)
    x = fib(n - 1);
    #pragma omp task shared(y) firstprivate(n)
    y = fib(n - 2);
    #pragma omp taskwait
    return x + y;
}

static void tree(int depth, int *count)
{
    #pragma omp atomic
    (*count)++;
    for (int i = 0; depth > 0 && i < 3; i++) {
        #pragma omp task firstprivate(depth)
        tree(depth - 1, count);
    }
}

static void groups(void)
{
    long result = 0;
    int count = 0, after = 0;
    #pragma omp parallel
    #pragma omp single
    {
        result = fib(18);
        #pragma omp taskgroup
        tree(5, &count);
        after = count;
    }
    printf("tasks: fib %ld, tree %d of %d at its group's end\n", result, after, count);
}

static void loops(void)
{
    static int seen[1000];
    int parts = 0;
    long sum = 0;
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp taskloop grainsize(7) shared(seen)
        for (int i = 0; i < 1000; i += 3) seen[i]++;
        #pragma omp taskloop num_tasks(5) shared(parts)
        for (int i = 0; i < 5; i++) {
            #pragma omp atomic
            parts++;
        }
        #pragma omp taskloop reduction(+ : sum)
        for (long i = 100; i > 0; i--) sum += i;
        #pragma omp taskloop nogroup grainsize(strict : 9) shared(seen)
        for (unsigned long long i = 1; i < 1000; i += 3) seen[i]++;
    }
    int wrong = 0;
    for (int i = 0; i < 1000; i++) wrong += seen[i] != (i % 3 != 2);
    printf("taskloop: %d wrong, %d parts, sum %ld\n", wrong, parts, sum);
}

static void reductions(void)
{
    long group = 0, region = 0, loop = 0, sections = 0, scope = 0;
    #pragma omp parallel
    #pragma omp single
    #pragma omp taskgroup task_reduction(+ : group)
    for (int i = 1; i <= 50; i++) {
        #pragma omp task in_reduction(+ : group) firstprivate(i)
        {
            group += i;
            #pragma omp task in_reduction(+ : group)
            group += 1000;
        }
    }
    #pragma omp parallel reduction(task, + : region)
    {
        region++;
        #pragma omp single
        for (int i = 0; i < 30; i++) {
            #pragma omp task in_reduction(+ : region)
            region += 1000;
        }
    }
    int threads = 1;
    #pragma omp parallel
    {
        #pragma omp single
        threads = omp_get_num_threads();
        #pragma omp for reduction(task, + : loop)
        for (int i = 0; i < 40; i++) {
            loop++;
            #pragma omp task in_reduction(+ : loop)
            loop += 100;
        }
        #pragma omp sections reduction(task, + : sections)
        {
            #pragma omp section
            {
                #pragma omp task in_reduction(+ : sections)
                sections += 7;
            }
            #pragma omp section
            sections += 10;
        }
        #pragma omp scope reduction(task, + : scope)
        {
            #pragma omp task in_reduction(+ : scope)
            scope += 3;
        }
    }
    printf("reductions: %ld %ld %ld %ld %ld\n", group, region - threads, loop, sections, scope - 3 * threads);
}

static void events(void)
{
    int early = 0, done = 0;
    #pragma omp parallel
    #pragma omp single
    for (int i = 0; i < 20; i++) {
        omp_event_handle_t event;
        int x = 0, fulfilled = 0;
        (void)x;
        #pragma omp task detach(event) depend(out : x) firstprivate(i)
        ;
        #pragma omp task depend(in : x) shared(fulfilled, early, done)
        {
            int now;
            #pragma omp atomic read
            now = fulfilled;
            if (!now) early++;
            done++;
        }
        #pragma omp task firstprivate(event) shared(fulfilled)
        {
            #pragma omp atomic write
            fulfilled = 1;
            omp_fulfill_event(event);
        }
        #pragma omp taskwait
    }
    printf("detach: %d early, %d done\n", early, done);
}

/* One thread makes a task that only another one can end, after the others have gone to the region's end. */
static void late(void)
{
    int rounds = 0;
    #pragma omp parallel num_threads(3)
    #pragma omp single nowait
    for (int round = 0; round < 20; round++) {
        int ready = 0;
        #pragma omp task shared(ready)
        {
            #pragma omp atomic write
            ready = 1;
        }
        for (int now = 0; !now;) {
            #pragma omp atomic read
            now = ready;
        }
        rounds++;
    }
    printf("late: %d\n", rounds);
}

static void variables(void)
{
    int inner = 0, outer = 0, icv = 0;
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        omp_set_num_threads(5);
        #pragma omp task shared(inner, icv)
        {
            inner = omp_get_max_threads();
            omp_set_num_threads(7);
            omp_nest_lock_t lock;
            omp_init_nest_lock(&lock);
            omp_set_nest_lock(&lock);
            #pragma omp task if (0) shared(lock, icv)
            icv = omp_test_nest_lock(&lock);
            omp_unset_nest_lock(&lock);
            omp_destroy_nest_lock(&lock);
        }
        #pragma omp taskwait
        outer = omp_get_max_threads();
    }
    printf("variables: %d %d, another task's lock %d\n", inner, outer, icv);
}

int main(void)
{
    depend();
    groups();
    loops();
    reductions();
    events();
    late();
    variables();
    return 0;
}
