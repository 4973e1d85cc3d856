// A task of a group makes another one and waits for it without the runtime: with two threads the thread at the group's end, which
// sleeps meanwhile, must run it. Prints what ran while its maker waited: in the group itself, and in a group inside it.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

// Waits until the flag is raised, for 10 s at most.
static int raised(const int *flag) {
    int now = 0;
    for (int tries = 0; !now && tries < 10000; tries++) {
        usleep(1000);
#pragma omp atomic read seq_cst
        now = *flag;
    }
    return now;
}

static int makes(void) {
    int ran = 0, seen;
#pragma omp task shared(ran)
    {
#pragma omp atomic write seq_cst
        ran = 1;
    }
    seen = raised(&ran);
#pragma omp taskwait
    return seen;
}

static int late(int inner) {
    int begun = 0, seen = 0;
#pragma omp taskgroup
    {
#pragma omp task shared(begun, seen)
        {
#pragma omp atomic write seq_cst
            begun = 1;
            usleep(20000);
            if (inner) {
#pragma omp taskgroup
                seen = makes();
            } else {
                seen = makes();
            }
        }
        raised(&begun);
    }
    return seen;
}

int main(void) {
    int group = 0, inner = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        group = late(0);
        inner = late(1);
    }
    printf("in the group %d, in a group inside it %d\n", group, inner);
    return 0;
}
