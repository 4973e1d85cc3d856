// Tasks that become ready while a thread waits for them, in teams in which no other thread need be free to run them, and tasks that
// wait for one that is made later.
#include "given.h"
#include <stdio.h>
#include <unistd.h>

// Makes a task that ends when a thread outside of the team has fulfilled its event.
#define LATE(x)                                          \
    omp_event_handle_t event;                            \
    _Pragma("omp task detach(event) depend(out : x)")    \
    { (void)event; }                                     \
    given = event;                                       \
    pthread_t outside;                                   \
    pthread_create(&outside, NULL, fulfil, NULL)

static char x, y;

static int before_a_dependence(void) {
    int ran = 0;
    LATE(x);
#pragma omp task depend(in : x) depend(out : y) shared(ran)
    ran++;
#pragma omp taskwait depend(in : y)
    int then = ran;
    pthread_join(outside, NULL);
    return then;
}

static int in_a_group(void) {
    int ran = 0;
    LATE(x);
#pragma omp taskgroup
    {
#pragma omp task depend(in : x) shared(ran)
        ran++;
    }
    int then = ran;
    pthread_join(outside, NULL);
    return then;
}

static int at_a_taskwait(void) {
    int ran = 0;
    LATE(x);
#pragma omp task depend(inout : x) shared(ran)
    ran++;
#pragma omp task depend(in : x) shared(ran)
    ran++;
#pragma omp taskwait
    int then = ran;
    pthread_join(outside, NULL);
    return then;
}

// Tasks of a loop go on when the last one has begun, so that their maker must make all before it runs one. Returns how many have
// seen that.
static int the_last_of_many(void) {
    enum { MANY = 40 };
    int begun = omp_get_num_threads() == 1, seen = 0;
    for (int i = 0; i < MANY; i++) {
#pragma omp task shared(begun, seen)
        {
            int now = i + 1 == MANY;
            if (now) {
#pragma omp atomic write
                begun = 1;
            }
            for (int tries = 0; !now && tries < 20000; tries++) {
                usleep(100);
#pragma omp atomic read
                now = begun;
            }
#pragma omp atomic
            seen += now;
        }
    }
#pragma omp taskwait
    return seen;
}

int main(void) {
    int ran[4];
#pragma omp parallel
#pragma omp single
    {
        ran[0] = before_a_dependence();
        ran[1] = in_a_group();
        ran[2] = at_a_taskwait();
        ran[3] = the_last_of_many();
    }
    printf("before a dependence %d, in a group %d, at a taskwait %d, of many %d\n", ran[0], ran[1], ran[2], ran[3]);
    return 0;
}
