/* Half of a program: the half of GCC and the half of clang are compiled from this file, HALF names each one's functions. */
#include <omp.h>
#include <stdio.h>

#define NAME2(half, what) half##_##what
#define NAME1(half, what) NAME2(half, what)
#define NAME(what) NAME1(HALF, what)

int NAME(sum)(int n)
{
    int sum = 0;
    #pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += i;
    return sum;
}

/* Adds to a shared number in the region of the caller: with a lock of the caller's, and by tasks. */
void NAME(inside)(omp_lock_t *lock, int *locked, int *tasks)
{
    omp_set_lock(lock);
    ++*locked;
    omp_unset_lock(lock);
    #pragma omp for schedule(static) nowait
    for (int i = 0; i < 10; i++) {
        #pragma omp task shared(tasks)
        {
            #pragma omp atomic
            ++*tasks;
        }
    }
    #pragma omp barrier
    #pragma omp single
    ++*locked;
}

#ifdef MAIN
int clang_sum(int n);
void clang_inside(omp_lock_t *lock, int *locked, int *tasks);
int clang_nested(void);

static int os_threads(void)
{
    int n = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status)) sscanf(line, "Threads: %d", &n);
    fclose(status);
    return n;
}

int main(void)
{
    int locked = 0, tasks = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    printf("sums: %d %d\n", gcc_sum(100), clang_sum(100));
    printf("threads of the process: %d\n", os_threads());
    #pragma omp parallel
    {
        gcc_inside(&lock, &locked, &tasks);
        clang_inside(&lock, &locked, &tasks);
    }
    int threads = omp_get_max_threads();
    printf("in one region: %d %d\n", locked - 2 * threads, tasks);
    omp_set_num_threads(threads + 1);
    printf("one setting: %d\n", clang_nested() == threads + 1);
    return 0;
}
#else
int NAME(nested)(void)
{
    int n = 0;
    #pragma omp parallel reduction(+ : n)
    n += 1;
    return n;
}
#endif
