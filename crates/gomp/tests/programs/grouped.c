// A task of a group makes another one and waits for it without the runtime: with two threads the thread at the group's end, which
// sleeps meanwhile, must run it. Prints what ran while its maker waited: in the group itself, in a group inside it, and a task that
// an event of a thread outside of the team releases.
#include "given.h"
#include <stdio.h>

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

static int releases(void) {
    int ran = 0, seen;
    char x;
    omp_event_handle_t event;
#pragma omp task detach(event) depend(out : x)
    { (void)event; }
#pragma omp task depend(in : x) shared(ran)
    {
#pragma omp atomic write seq_cst
        ran = 1;
    }
    given = event;
    pthread_t outside;
    pthread_create(&outside, NULL, fulfil, NULL);
    seen = raised(&ran);
    pthread_join(outside, NULL);
#pragma omp taskwait
    return seen;
}

enum how { ITSELF, INNER, RELEASED };

static int late(enum how how) {
    int begun = 0, seen = 0;
#pragma omp taskgroup
    {
#pragma omp task shared(begun, seen)
        {
#pragma omp atomic write seq_cst
            begun = 1;
            usleep(20000);
            if (how == INNER) {
#pragma omp taskgroup
                seen = makes();
            } else {
                seen = how == RELEASED ? releases() : makes();
            }
        }
        raised(&begun);
    }
    return seen;
}

int main(void) {
    int group = 0, inner = 0, released = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        group = late(ITSELF);
        inner = late(INNER);
        released = late(RELEASED);
    }
    printf("in it %d, inside %d, released %d\n", group, inner, released);
    return 0;
}
