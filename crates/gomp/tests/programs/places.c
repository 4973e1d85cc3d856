/* Places and binding: what each thread of outer and inner regions is told, and where the kernel lets it run. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 16 };

static char lines[MOST][MOST][512];

static void put(char *line, const char *what)
{
    int partition[MOST] = {0}, many = omp_get_partition_num_places();
    char cpus[128];
    omp_capture_affinity(cpus, sizeof cpus, "%L %n/%N of %a on %A");
    int at = sprintf(line, "%s bind %d place %d partition", what, omp_get_proc_bind(), omp_get_place_num());
    if (many <= MOST) {
        omp_get_partition_place_nums(partition);
        for (int i = 0; i < many; i++)
            at += sprintf(line + at, " %d", partition[i]);
    }
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    sprintf(line + at, " of %d; %s; %d", many, cpus, CPU_COUNT(&set));
}

static void show(void)
{
    for (int i = 0; i < MOST; i++)
        for (int j = 0; j < MOST; j++)
            if (lines[i][j][0])
                puts(lines[i][j]);
    memset(lines, 0, sizeof lines);
}

int main(void)
{
    char buffer[64];
    printf("%d places:", omp_get_num_places());
    for (int i = 0; i < omp_get_num_places(); i++) {
        int ids[MOST], many = omp_get_place_num_procs(i);
        printf(" %d{", many);
        if (many <= MOST) {
            omp_get_place_proc_ids(i, ids);
            for (int j = 0; j < many; j++)
                printf(" %d", ids[j]);
        }
        printf(" }");
    }
    printf(" %d\n", omp_get_place_num_procs(1000));
    put(lines[0][0], "initial");
    show();

    for (int size = 1; size <= 5; size++) {
#pragma omp parallel num_threads(size)
        put(lines[omp_get_thread_num()][0], "as the variable says");
        show();
#pragma omp parallel num_threads(size) proc_bind(close)
        put(lines[omp_get_thread_num()][0], "close");
        show();
#pragma omp parallel num_threads(size) proc_bind(spread)
        put(lines[omp_get_thread_num()][0], "spread");
        show();
#pragma omp parallel num_threads(size) proc_bind(master)
        put(lines[omp_get_thread_num()][0], "master");
        show();
    }
#pragma omp parallel for num_threads(2) proc_bind(spread) schedule(static, 1)
    for (int i = 0; i < 2; i++)
        put(lines[i][0], "loop");
    show();

    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) proc_bind(spread)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        put(lines[outer][omp_get_thread_num()], "inner");
#pragma omp parallel num_threads(3) proc_bind(close)
        put(lines[outer][4 + omp_get_thread_num()], "inner close");
    }
    show();
    put(lines[0][0], "initial");
    show();
    omp_set_affinity_format("%{nesting_level} %0.4{thread_num}|");
    printf("%zu %s\n", omp_get_affinity_format(buffer, sizeof buffer), buffer);
    return 0;
}
