// A task of a group follows one outside of the group, which an event releases, in a team in which no other thread is free to run it.
// (GCC's libgomp waits here for ever.)
#include "given.h"
#include <stdio.h>

int main(void) {
    char x, y;
    int ran = 0;
#pragma omp parallel num_threads(1)
    {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : x)
        { (void)event; }
        given = event;
        pthread_t outside;
        pthread_create(&outside, NULL, fulfil, NULL);
#pragma omp task depend(in : x) depend(out : y) shared(ran)
        ran++;
#pragma omp taskgroup
        {
#pragma omp task depend(in : y) shared(ran)
            ran++;
        }
        pthread_join(outside, NULL);
    }
    printf("ran %d\n", ran);
    return 0;
}
