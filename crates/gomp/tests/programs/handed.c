// Data that one thread writes and another reads, ordered by each construct in turn: a checker of races must not object. With an
// argument, threads also change a variable without order. Prints the number of wrong values.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 3, MANY = 200 };
static int racing, shared, wrong, data[MANY], other[MANY];

static void check(int is, int should) {
    if (is != should) {
#pragma omp atomic
        wrong++;
    }
}

static void fill(int from) {
    for (int i = 0; i < MANY; i++) data[i] = from + i;
}

static void regions_and_barriers(void) {
    for (int round = 0; round < 20; round++) {
        fill(round);
#pragma omp parallel num_threads(THREADS)
        {
            int me = omp_get_thread_num();
            check(data[me], round + me);
#pragma omp for
            for (int i = 0; i < MANY; i++) other[i] = data[i];
#pragma omp for schedule(dynamic)
            for (int i = 0; i < MANY; i++) data[i] = other[MANY - 1 - i];
#pragma omp barrier
            check(data[MANY - 1 - me], round + me);
        }
        check(data[0], round + MANY - 1);
    }
}

static void sections_and_locks(void) {
    static int counted, atomically, locked, nested;
    counted = atomically = locked = nested = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < 50; i++) {
#pragma omp critical
        counted++;
#pragma omp critical(named)
        atomically++;
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
        if (omp_test_lock(&lock)) {
            locked += 0;
            omp_unset_lock(&lock);
        }
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    check(counted + atomically + locked + nested, 4 * 50 * THREADS);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
}

static void single_and_ordered(void) {
    static int last;
    last = 0;
#pragma omp parallel num_threads(THREADS)
    for (int round = 0; round < 10; round++) {
        int own;
#pragma omp single copyprivate(own)
        own = round;
        check(own, round);
#pragma omp single
        data[0] = round;
        check(data[0], round);
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < 20; i++) {
            usleep(20);
#pragma omp ordered
            {
                check(last % 20, i);
                last++;
            }
        }
#pragma omp for ordered(1)
        for (int i = 0; i < 20; i++) {
#pragma omp ordered depend(sink : i - 1)
            other[i] = i == 0 ? round : other[i - 1];
#pragma omp ordered depend(source)
        }
        check(other[19], round);
    }
}

// Tasks sleep, so that other threads than their maker run some of them.
static void nap(void) { usleep(200); }

static void tasks(void) {
    for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(THREADS)
#pragma omp single
        {
            fill(round);
            for (int i = 0; i < 12; i++) {
#pragma omp task firstprivate(i)
                {
                    nap();
                    other[i] = data[i];
                }
            }
#pragma omp taskwait
            for (int i = 0; i < 12; i++) check(other[i], round + i);
#pragma omp taskgroup
            for (int i = 0; i < 6; i++) {
#pragma omp task firstprivate(i)
                {
#pragma omp task
                    {
                        nap();
                        other[i] = round - i;
                    }
                }
            }
            for (int i = 0; i < 6; i++) check(other[i], round - i);
#pragma omp taskloop grainsize(1)
            for (int i = 0; i < 12; i++) {
                nap();
                data[i] = round * i;
            }
            for (int i = 0; i < 12; i++) check(data[i], round * i);
        }
    }
}

static void dependences(void) {
    static int chain, read[4];
    for (int round = 0; round < 10; round++) {
        chain = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
        for (int i = 1; i <= 3; i++) {
#pragma omp task depend(inout : chain)
            {
                nap();
                chain++;
            }
            for (int reader = 0; reader < 4; reader++) {
#pragma omp task depend(in : chain) firstprivate(reader)
                {
                    nap();
                    read[reader] = chain;
                }
            }
#pragma omp task depend(inout : chain)
            for (int reader = 0; reader < 4; reader++) check(read[reader], chain);
#pragma omp task depend(in : chain) if (0)
            check(chain, i);
        }
    }
}

// A task that another thread takes before its maker waits for it, by a task that is not deferred.
static void undeferred(void) {
    static int written;
    for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(THREADS)
#pragma omp single
        {
#pragma omp task depend(out : written)
            {
                usleep(2000);
                written = round;
            }
            usleep(1000);
#pragma omp task depend(in : written) if (0)
            check(written, round);
        }
    }
}

static void events(void) {
    static int before, after, own[2];
    for (int round = 0; round < 10; round++) {
        before = after = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
        for (int late = 0; late < 2; late++) {
            // The event is fulfilled before the task's body ends, or after.
            omp_event_handle_t event;
#pragma omp task detach(event) depend(out : own[late]) firstprivate(late)
            {
                usleep(late ? 0 : 2000);
                own[late] = round;
            }
#pragma omp task firstprivate(event, late)
            {
                usleep(late ? 2000 : 0);
                *(late ? &after : &before) = round;
                omp_fulfill_event(event);
            }
#pragma omp task depend(in : own[late]) firstprivate(late)
            {
                nap();
                check(own[late], round);
                check(late ? after : before, round);
            }
        }
    }
}

// The threads have arrived at the barrier when the tasks are made.
static void tasks_behind_a_barrier(void) {
    for (int round = 0; round < 5; round++) {
#pragma omp parallel num_threads(THREADS)
        {
#pragma omp single nowait
            {
                usleep(2000);
                for (int i = 0; i < 12; i++) {
#pragma omp task firstprivate(i)
                    {
                        usleep(200);
                        data[i] = round + i;
                    }
                }
            }
#pragma omp barrier
            for (int i = 0; i < 12; i++) check(data[i], round + i);
#pragma omp barrier
        }
    }
}

static void reductions(void) {
    for (int round = 0; round < 10; round++) {
        int sum = 0, tasks = 0, last = 0;
#pragma omp parallel for num_threads(THREADS) reduction(+ : sum) schedule(guided) lastprivate(last)
        for (int i = 0; i < MANY; i++) {
            sum += i;
            last = i;
        }
#pragma omp parallel num_threads(THREADS) reduction(task, + : tasks)
#pragma omp single
        for (int i = 0; i < 20; i++) {
#pragma omp task in_reduction(+ : tasks)
            tasks++;
        }
        check(sum + tasks + last, MANY * (MANY - 1) / 2 + 20 + MANY - 1);
    }
}

static void add(void *into, void *from) { **(int **)into += **(int **)from; }

// A reduction by a call that clang's code makes, which GCC's has not: by a tree, if the environment says so.
static void reduction_of_clang(void) {
    static int name[8];
    int (*begin)(void *, int, int, size_t, void *, void (*)(void *, void *), void *) = dlsym(RTLD_DEFAULT, "__kmpc_reduce_nowait");
    void (*end)(void *, int, void *) = dlsym(RTLD_DEFAULT, "__kmpc_end_reduce_nowait");
    if (!begin || !end) return;
    for (int round = 0; round < 20; round++) {
        int sum = 0;
#pragma omp parallel num_threads(THREADS)
        {
            int me = omp_get_thread_num(), own = round + me;
            void *list[] = {&own};
            if (begin(NULL, me, 1, sizeof list, list, add, name) == 1) {
                sum += own;
                end(NULL, me, name);
            }
        }
        check(sum, THREADS * round + THREADS * (THREADS - 1) / 2);
    }
}

int main(int count, char **words) {
    racing = count > 1;
    regions_and_barriers();
    sections_and_locks();
    single_and_ordered();
    tasks();
    dependences();
    undeferred();
    events();
    tasks_behind_a_barrier();
    reductions();
    reduction_of_clang();
    if (racing) {
#pragma omp parallel num_threads(THREADS)
        shared++;
    }
    printf("%d wrong\n", wrong);
    return 0;
}
