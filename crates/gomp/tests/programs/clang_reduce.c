/* Reductions at the end of a construct, in each way that the runtime may choose. What is printed does not depend on timing. */
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int threads;

/* Combined slowly, so that threads that combine at the same time lose something. */
typedef struct {
    int sum, parts;
} pair;

static void join(pair *to, const pair *from)
{
    pair was = *to;
    usleep(300);
    to->sum = was.sum + from->sum;
    to->parts = was.parts + from->parts;
}

#pragma omp declare reduction(join : pair : join(&omp_out, &omp_in)) initializer(omp_priv = (pair){0, 0})

static void slowly(void)
{
    pair all = {100, 0}, of_loop = {0, 0}, of_teams = {0, 0};
    int seen = 0, after = 0;
    #pragma omp parallel reduction(join : all)
    {
        all.sum += omp_get_thread_num();
        all.parts += 1;
    }
    #pragma omp parallel
    {
        for (int round = 0; round < 5; round++) {
            #pragma omp for reduction(join : of_loop)
            for (int i = 0; i < 40; i++) of_loop.sum += i;
            /* Each thread sees what all have combined. */
            #pragma omp atomic
            seen += of_loop.sum == 780 * (round + 1);
            #pragma omp barrier
        }
        #pragma omp for nowait reduction(join : of_loop)
        for (int i = 0; i < 40; i++) of_loop.parts += 1;
        #pragma omp barrier
        #pragma omp atomic
        after += of_loop.parts == 40;
    }
    #pragma omp teams num_teams(8) thread_limit(1) reduction(join : of_teams)
    {
        of_teams.sum += omp_get_team_num();
        of_teams.parts += 1;
    }
    int teams = of_teams.parts;
    printf("slowly: %d %d, %d %d, all %d %d, teams %d\n", all.sum - 100 == threads * (threads - 1) / 2, all.parts == threads, of_loop.sum,
           of_loop.parts, seen == 5 * threads, after == threads, of_teams.sum == teams * (teams - 1) / 2);
}

static void many(void)
{
    int a = 0, b = 1, c = 0, wrong = 0, array[300] = {0};
    long d = 0;
    double e = 0;
    float f = 0;
    #pragma omp parallel
    for (int round = 1; round <= 50; round++) {
        #pragma omp for reduction(+ : a, c, d, e, f, array) reduction(* : b)
        for (int i = 0; i < 64; i++) {
            a += 1;
            b *= i == 5 ? -1 : 1;
            c += i;
            d -= i;
            e += 0.5;
            f += 2;
            array[i * 4] += i;
        }
        if (a != 64 * round || b != (round % 2 ? -1 : 1) || array[252] != 63 * round) {
            #pragma omp atomic
            wrong++;
        }
        #pragma omp barrier
    }
    printf("many: %d %d %d %ld %g %g, %d wrong\n", a, b, c, d, e, f, wrong);
}

/* Tasks that a thread made before it came to the reduction are run, also where the reduction waits for a thread that waits for them. */
static void with_tasks(void)
{
    int ran = 0, sum = 0;
    double of_all[6] = {0};
    #pragma omp parallel reduction(+ : sum, of_all)
    {
        for (int i = 0; i < 4; i++) {
            #pragma omp task shared(ran)
            {
                #pragma omp atomic
                ran++;
            }
        }
        if (omp_get_thread_num() == threads - 1) {
            double end = omp_get_wtime() + 10;
            int now;
            do {
                #pragma omp taskyield
                sched_yield();
                #pragma omp atomic read
                now = ran;
            } while (now < 4 * (threads - 1) && omp_get_wtime() < end);
            sum = now >= 4 * (threads - 1);
        }
        of_all[5] += 1;
    }
    printf("tasks: %d, %d, %d\n", ran == 4 * threads, sum, of_all[5] == threads);
}

/* With a tree, the last bits of a sum are the same in each run. */
static void alike(void)
{
    double first = 0;
    int different = 0;
    for (int run = 0; run < 20; run++) {
        double sum[5] = {0};
        #pragma omp parallel reduction(+ : sum)
        sum[0] += 1 / (3.0 + omp_get_thread_num());
        if (run == 0) first = sum[0];
        different += sum[0] != first;
    }
    const char *way = getenv("KMP_FORCE_REDUCTION");
    printf("alike: %d\n", !way || strcmp(way, "tree") || different == 0);
}

int main(void)
{
    threads = omp_get_max_threads();
    slowly();
    many();
    with_tasks();
    alike();
    return 0;
}
