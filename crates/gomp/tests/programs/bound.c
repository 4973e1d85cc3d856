#define _GNU_SOURCE
// Prints where LLVM's library binds threads, and which teams it shows.
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static int cpus(void) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
}

int main(void) {
    int all = cpus(), teams[2][2] = {{0}};
    // The library is set up here, and binds nothing yet.
    omp_set_num_threads(2);
    printf("before: all %d\n", cpus() == all);
    int within = 0;
#pragma omp parallel reduction(+ : within)
    within += cpus() == 1;
    printf("within: one %d\n", within);
    printf("behind: all %d one %d\n", cpus() == all, cpus() == 1);
    fflush(stdout);
    omp_set_affinity_format("shown: %L %N");
    omp_set_max_active_levels(3);
    for (int turn = 0; turn < 2; turn++) {
#pragma omp parallel num_threads(1)
        for (int inner = 0; inner < 2; inner++) {
#pragma omp parallel num_threads(1)
            {}
        }
    }
    // LLVM's library shows the teams of a league by a rule of its own.
    if (getenv("OMP_DISPLAY_AFFINITY"))
        return 0;
#pragma omp teams num_teams(2)
    {
        teams[omp_get_team_num()][0] = omp_get_place_num();
        teams[omp_get_team_num()][1] = omp_get_partition_num_places() == omp_get_num_places();
    }
    printf("teams: %d whole %d\n", teams[1][0] != teams[0][0], teams[1][1]);
}
