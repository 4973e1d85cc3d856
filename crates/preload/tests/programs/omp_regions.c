// OpenMP: regions of each form, their barriers, tasks. What it does is counted by the test that records it.
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

// Thread 1 comes last to whatever follows.
static void late(void) {
    if (omp_get_thread_num() == 1) usleep(50000);
}

static long fibonacci(long n) {
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a) firstprivate(n)
    a = fibonacci(n - 1);
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void *other(void *unused) {
    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
    CHECK(sum == 3);
    return unused;
}

int main(void) {
    long sum = 0, result = 0;
    // Five times a region, thread 1 last.
    for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(3) reduction(+ : sum)
        {
            sum += omp_get_thread_num();
            late();
        }
    }
    CHECK(sum == 15);
    // Regions that are one loop: arguments on the stack.
    long squares = 0;
#pragma omp parallel for num_threads(3) schedule(dynamic, 7) reduction(+ : squares)
    for (long i = 5; i < 1000; i += 5) squares += i;
    CHECK(squares == 5L * 199 * 200 / 2);
    omp_set_schedule(omp_sched_dynamic, 3);
    squares = 0;
#pragma omp parallel for num_threads(3) schedule(runtime) reduction(+ : squares)
    for (long i = 5; i < 1000; i += 5) squares += i;
    CHECK(squares == 5L * 199 * 200 / 2);
    int sections = 0;
#pragma omp parallel sections num_threads(2) reduction(+ : sections)
    {
#pragma omp section
        sections += 1;
#pragma omp section
        sections += 2;
    }
    CHECK(sections == 3);
    // Barriers inside: a loop's end, the copy out of a single, a directive.
    long loops = 0;
    int given;
#pragma omp parallel num_threads(3) private(given) reduction(+ : loops)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 3; i++) {
            usleep(3000);
            loops++;
        }
#pragma omp single copyprivate(given)
        given = 42;
        CHECK(given == 42);
        late();
#pragma omp barrier
    }
    CHECK(loops == 3);
    // Tasks, and waits for them.
#pragma omp parallel num_threads(3)
#pragma omp single
    result = fibonacci(10);
    CHECK(result == 55);
    // A task that runs at its region's end, as its creator does nothing else until it runs, and that creates others there.
    volatile int runs = 0;
    int inner_tasks = 0;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp task shared(runs, inner_tasks)
        {
            runs = 1;
            for (int i = 0; i < 5; i++) {
#pragma omp task shared(inner_tasks)
                {
#pragma omp atomic
                    inner_tasks++;
                }
            }
#pragma omp taskwait
        }
        while (!runs) usleep(1000);
    }
    CHECK(inner_tasks == 5);
    // Data of a task that is larger and more aligned than usual, and a group.
    struct { long n[40]; } many = {{0}};
    many.n[39] = 7;
    long far = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(many) shared(far)
        {
#pragma omp atomic
            far += many.n[39];
        }
    }
    CHECK(far == 28);
    // A task that is completed by an event.
    omp_event_handle_t event;
    int detached = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task detach(event) shared(detached)
        {
            detached = 1;
            omp_fulfill_event(event);
        }
    }
    CHECK(detached == 1);
    // Tasks that depend on each other, and a loop of tasks, which is not recorded.
    int steps = 0;
    long added = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(inout : steps) shared(steps)
        steps = 1;
#pragma omp task depend(inout : steps) shared(steps)
        steps = steps == 1 ? 2 : -1;
#pragma omp taskloop nogroup shared(added, many) num_tasks(5)
        for (long i = 0; i < 50; i++) {
#pragma omp atomic
            added += i + many.n[39];
        }
    }
    CHECK(steps == 2 && added == 49 * 50 / 2 + 50 * 7);
    // Regions that use many variables: for clang arguments in registers and on the stack.
    volatile long a = 1, b = 20, c = 300, d = 4000, e = 50000, f = 600000;
    long five = 0, six = 0;
#pragma omp parallel num_threads(2) firstprivate(a, b, c, d) reduction(+ : five)
    five += a + b + c + d;
#pragma omp parallel num_threads(2) firstprivate(a, b, c, d, e, f) reduction(+ : six)
    six += a + b + c + d + e + f;
    CHECK(five == 2 * 4321 && six == 2 * 654321);
    // A region of one thread, nested regions, and a region that another thread opens.
#pragma omp parallel num_threads(1)
    CHECK(omp_get_num_threads() == 1);
    omp_set_max_active_levels(2);
    int inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
    {
        int mine = 0;
#pragma omp parallel num_threads(2) reduction(+ : mine)
        mine++;
        inner += mine;
    }
    CHECK(inner == 4);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    puts("ok");
    fflush(stdout);
    // The process ends inside of a region.
    if (getenv("INSIDE")) {
#pragma omp parallel num_threads(2)
#pragma omp master
        exit(0);
    }
    return 0;
}
