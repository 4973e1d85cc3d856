/* The locks of programs that GCC 4.3 and before linked: the same names at the version OMP_1.0. A simple one has four bytes, a nested
   one eight, and belongs to a thread where one of today belongs to a task. */
#include <omp.h>
#include <stdio.h>

typedef struct { int first, second; } old_nest;

#define OLD(name) __asm__(".symver old_" #name ", omp_" #name "@OMP_1.0")
#define OLD_FORTRAN(name) __asm__(".symver fortran_" #name ", omp_" #name "_@OMP_1.0")
#define EACH(do) do(init_lock); do(destroy_lock); do(set_lock); do(unset_lock); do(test_lock); \
    do(init_nest_lock); do(destroy_nest_lock); do(set_nest_lock); do(unset_nest_lock); do(test_nest_lock)
EACH(OLD);
EACH(OLD_FORTRAN);

#define SIMPLE(form) \
    extern void form##_init_lock(int *), form##_destroy_lock(int *), form##_set_lock(int *), form##_unset_lock(int *); \
    extern int form##_test_lock(int *); \
    extern void form##_init_nest_lock(old_nest *), form##_destroy_nest_lock(old_nest *); \
    extern void form##_set_nest_lock(old_nest *), form##_unset_nest_lock(old_nest *); \
    extern int form##_test_nest_lock(old_nest *);
SIMPLE(old)
SIMPLE(fortran)

/* What stands behind a lock stays as it is. */
static struct { int lock, behind; } simple = { 77, 1234567 };
static struct { old_nest lock; int behind; } nest = { { 77, 77 }, 7654321 };

#define ROUNDS 5000

/* Threads count by turns, with both kinds of lock; some of them by trying. */
#define COUNT(form) do { \
    long counted = 0, nested = 0; \
    int wrong = 0; \
    form##_init_lock(&simple.lock); \
    form##_init_nest_lock(&nest.lock); \
    _Pragma("omp parallel") \
    for (int i = 0; i < ROUNDS; i++) { \
        if (i % 3) form##_set_lock(&simple.lock); \
        else while (!form##_test_lock(&simple.lock)) sched(); \
        counted++; \
        form##_unset_lock(&simple.lock); \
        if (i % 3) form##_set_nest_lock(&nest.lock); \
        else while (!form##_test_nest_lock(&nest.lock)) sched(); \
        form##_set_nest_lock(&nest.lock); \
        nested++; \
        int depth = form##_test_nest_lock(&nest.lock); \
        if (depth != 3) { _Pragma("omp atomic") wrong++; } \
        for (int at = 0; at < depth; at++) form##_unset_nest_lock(&nest.lock); \
    } \
    printf(#form ": each thread counted %ld and %ld times, %d wrong\n", \
        counted / omp_get_max_threads(), nested / omp_get_max_threads(), wrong); \
    form##_destroy_lock(&simple.lock); \
    form##_destroy_nest_lock(&nest.lock); \
} while (0)

#include <sched.h>
static void sched(void) { sched_yield(); }

/* One thread holds a lock while another tries it. */
static void others(void) {
    int simple_got = -1, nest_got = -1, after = -1;
    old_init_lock(&simple.lock);
    old_init_nest_lock(&nest.lock);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            old_set_lock(&simple.lock);
            old_set_nest_lock(&nest.lock);
            old_set_nest_lock(&nest.lock);
        }
#pragma omp barrier
        if (omp_get_thread_num() == 1) {
            simple_got = old_test_lock(&simple.lock);
            nest_got = old_test_nest_lock(&nest.lock);
            /* A thread may free what another one holds. */
            old_unset_lock(&simple.lock);
        }
#pragma omp barrier
        if (omp_get_thread_num() == 0) {
            simple_got += 10 * old_test_lock(&simple.lock);
            old_unset_lock(&simple.lock);
            old_unset_nest_lock(&nest.lock);
        }
#pragma omp barrier
        if (omp_get_thread_num() == 1) nest_got += 100 * old_test_nest_lock(&nest.lock);
#pragma omp barrier
        if (omp_get_thread_num() == 0) old_unset_nest_lock(&nest.lock);
#pragma omp barrier
        if (omp_get_thread_num() == 1) {
            after = old_test_nest_lock(&nest.lock);
            old_unset_nest_lock(&nest.lock);
        }
    }
    printf("held by another: simple %d, nested %d, then %d\n", simple_got, nest_got, after);
}

/* A task within the one that holds a lock. */
static void within_a_task(void) {
    omp_nest_lock_t today;
    int now = -1, old = -1;
    omp_init_nest_lock(&today);
#pragma omp parallel num_threads(1)
    {
        omp_set_nest_lock(&today);
        old_set_nest_lock(&nest.lock);
#pragma omp task if(0) shared(today, now, old)
        {
            now = omp_test_nest_lock(&today);
            old = old_test_nest_lock(&nest.lock);
            old_unset_nest_lock(&nest.lock);
        }
        old_unset_nest_lock(&nest.lock);
        omp_unset_nest_lock(&today);
    }
    /* The same thread holds it from one region to the next. */
    old_set_nest_lock(&nest.lock);
    int next = -1;
#pragma omp parallel num_threads(2) shared(next)
    if (omp_get_thread_num() == 0) {
        next = old_test_nest_lock(&nest.lock);
        old_unset_nest_lock(&nest.lock);
    }
    old_unset_nest_lock(&nest.lock);
    printf("nested in a task: now %d, old %d\nin an inner region: %d\n", now, old, next);
    omp_destroy_nest_lock(&today);
    old_destroy_lock(&simple.lock);
    old_destroy_nest_lock(&nest.lock);
}

int main(void) {
    COUNT(old);
    COUNT(fortran);
    others();
    within_a_task();
    printf("behind: %d %d\n", simple.behind, nest.behind);
}
