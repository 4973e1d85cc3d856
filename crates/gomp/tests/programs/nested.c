/* Nested regions: prints what each level sees, which must be the same under each library. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

static int sum, iterations;

static void levels(void) {
    int bad = 0, threads = 0;
    #pragma omp parallel num_threads(2) reduction(+ : bad, threads)
    {
        int outer = omp_get_thread_num();
        for (int again = 0; again < 20; again++) {
            #pragma omp parallel num_threads(3) reduction(+ : bad, threads)
            {
                int middle = omp_get_thread_num();
                bad += omp_get_level() != 2 || omp_get_active_level() != 2;
                bad += omp_get_team_size(0) != 1 || omp_get_team_size(1) != 2 || omp_get_team_size(2) != 3;
                bad += omp_get_team_size(3) != -1 || omp_get_ancestor_thread_num(3) != -1;
                bad += omp_get_ancestor_thread_num(0) != 0 || omp_get_ancestor_thread_num(1) != outer;
                bad += omp_get_ancestor_thread_num(2) != middle;
                #pragma omp barrier
                #pragma omp for schedule(dynamic)
                for (int i = 0; i < 10; i++) {
                    #pragma omp atomic
                    iterations++;
                }
                #pragma omp parallel num_threads(2) reduction(+ : bad, threads)
                {
                    bad += omp_get_level() != 3 || omp_get_ancestor_thread_num(2) != middle;
                    #pragma omp atomic
                    sum += omp_get_thread_num();
                    threads++;
                }
            }
        }
    }
    printf("wrong %d, counted %d, sum %d, iterations %d\n", bad, threads, sum, iterations);
}

/* Threads in inner regions, at most: of all regions, or, where each thread is counted until it leaves, at the same time. */
static int most(int outer, int inner, int leaves) {
    int now = 0, top = 0;
    #pragma omp parallel num_threads(outer)
    {
        #pragma omp parallel num_threads(inner)
        {
            int mine;
            #pragma omp atomic capture
            mine = ++now;
            #pragma omp critical
            if (mine > top) top = mine;
            /* All threads of the region are here at once. */
            #pragma omp barrier
            if (leaves) {
                #pragma omp atomic
                now--;
            }
        }
    }
    return now == (leaves ? 0 : top) ? top : -1;
}

int main(void) {
    printf("max levels %d, supported %d, nested %d, threads %d, limit %d\n", omp_get_max_active_levels(),
           omp_get_supported_active_levels(), omp_get_nested(), omp_get_max_threads(), omp_get_thread_limit());
    #pragma omp parallel
    {
        #pragma omp single
        printf("outer: %d threads, next %d, nested %d\n", omp_get_num_threads(), omp_get_max_threads(), omp_get_nested());
        if (omp_get_thread_num() == 0) {
            #pragma omp parallel
            {
                #pragma omp single
                printf("inner: %d threads, next %d, level %d, active %d\n", omp_get_num_threads(), omp_get_max_threads(),
                       omp_get_level(), omp_get_active_level());
            }
        }
    }
    omp_set_nested(0);
    printf("set to 0: %d %d, threads %d\n", omp_get_nested(), omp_get_max_active_levels(), most(3, 4, 0));
    omp_set_nested(1);
    printf("set to 1: %d %d\n", omp_get_nested(), omp_get_max_active_levels());
    omp_set_max_active_levels(-1);
    omp_set_max_active_levels(1000);
    printf("levels: %d\n", omp_get_max_active_levels());
    omp_set_max_active_levels(3);
    if (omp_get_thread_limit() > 1000) {
        levels();
        printf("threads: %d\n", most(3, 4, 0));
    } else {
        int all = most(2, 64, 1);
        printf("within the limit: %d\n", all <= omp_get_thread_limit() + 1 && all > 2);
    }
    return 0;
}
