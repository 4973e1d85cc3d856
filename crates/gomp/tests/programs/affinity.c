/* With an argument: on how many CPUs the thread may run before anything of OpenMP is called, and behind that.
 * Without: with OMP_DISPLAY_AFFINITY each region of several threads is shown, where its number of threads or its places are not those
 * of the last one. What is shown goes to stderr, as do the marks between. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

static int cpus(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
}

int main(int count, char **arguments)
{
    (void)arguments;
    if (count > 1) {
        int before = cpus(), place = omp_get_place_num();
        printf("%d %d %d\n", before, place, cpus());
        return 0;
    }
    static const int sizes[] = {1, 2, 2, 3, 2, 3, 1};
    for (int i = 0; i < 7; i++) {
#pragma omp parallel num_threads(sizes[i])
        __asm__ volatile(""); /* An empty region would be left out. */
        fprintf(stderr, "%d\n", sizes[i]);
    }
#pragma omp parallel num_threads(3) proc_bind(master)
    __asm__ volatile("");
    fprintf(stderr, "master\n");
    omp_display_affinity("%n of %N on %A");
    return 0;
}
