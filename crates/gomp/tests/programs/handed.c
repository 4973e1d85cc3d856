// Data that one thread writes and another reads, ordered by each construct in turn: a checker of races must not object. With an
// argument, threads also change a variable without order. Prints the number of wrong values.
#include <omp.h>
#include <stdio.h>

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

static void tasks(void) {
    static int sum, chain, left, right, group, late;
    for (int round = 0; round < 20; round++) {
        sum = chain = group = late = 0;
        fill(round);
#pragma omp parallel num_threads(THREADS)
#pragma omp single
        {
            for (int i = 0; i < MANY; i++) {
#pragma omp task firstprivate(i)
                other[i] = data[i];
            }
#pragma omp taskwait
            for (int i = 0; i < MANY; i++) check(other[i], round + i);
#pragma omp taskgroup
            {
#pragma omp task
                {
#pragma omp task
                    group = 1;
                }
            }
            check(group, 1);
            for (int i = 0; i < 20; i++) {
#pragma omp task depend(inout : chain)
                chain++;
            }
#pragma omp task depend(in : chain) depend(out : left)
            left = chain;
#pragma omp task depend(in : chain) depend(out : right)
            right = chain;
#pragma omp task depend(in : left, right) depend(inout : chain)
            chain = left + right;
#pragma omp task depend(in : chain) if (0)
            check(chain, 40);
            omp_event_handle_t event;
#pragma omp task detach(event) depend(out : late)
            late = 1;
#pragma omp task firstprivate(event)
            {
                sum = 1;
                omp_fulfill_event(event);
            }
#pragma omp task depend(in : late)
            check(late + sum, 2);
#pragma omp taskwait
#pragma omp taskloop
            for (int i = 0; i < MANY; i++) data[i] = other[i] + 1;
            check(data[7], round + 8);
#pragma omp task
            sum = 2;
        }
        check(sum, 2);
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

int main(int count, char **words) {
    racing = count > 1;
    regions_and_barriers();
    sections_and_locks();
    single_and_ordered();
    tasks();
    reductions();
    if (racing) {
#pragma omp parallel num_threads(THREADS)
        shared++;
    }
    printf("%d wrong\n", wrong);
    return 0;
}
