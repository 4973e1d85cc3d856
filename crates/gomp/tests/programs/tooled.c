/* A program that a tool follows: two threads, whose events have the same numbers in each run. */
#include <omp.h>
#include <sched.h>
#include <stdio.h>

static volatile int go;
static int sum, x;

int main(void) {
    omp_lock_t lock;
    omp_nest_lock_t nested;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 8; i++)
#pragma omp critical
            sum += i;
#pragma omp single
        {
#pragma omp task depend(out : x)
            {
                while (!go)
                    sched_yield();
                x = 1;
            }
#pragma omp task depend(in : x)
            sum += x;
            go = 1;
#pragma omp taskwait
#pragma omp taskgroup
            {
#pragma omp task
                sum++;
            }
        }
#pragma omp sections nowait
        {
            ;
#pragma omp section
            ;
        }
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 4; i++)
#pragma omp ordered
            sum += i;
        omp_set_lock(&lock);
        omp_set_nest_lock(&nested);
        omp_set_nest_lock(&nested);
        sum++;
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
        omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp master
        sum++;
    }
#pragma omp parallel for schedule(dynamic) num_threads(2)
    for (int i = 0; i < 3; i++)
#pragma omp critical
        sum += i;
#pragma omp task if (0)
    sum++;
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
#ifdef __clang__
    printf("control %d\n", omp_control_tool(omp_control_tool_start, 7, NULL));
#endif
    printf("sum %d\n", sum);
}
