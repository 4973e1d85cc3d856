// Outside of all regions: a task follows one whose event its own maker fulfils later, and a task follows that one. A second round
// fulfils the event in another thread, while the maker waits. (GCC's libgomp waits for ever where the first task is made.)
#include "given.h"
#include <stdio.h>

int main(void) {
    char x, y;
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        int body = 0, second = 0, third = 0;
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : x) shared(body)
        body++;
        given = event;
#pragma omp task depend(in : x) depend(out : y) shared(second)
        second++;
#pragma omp task depend(in : y) shared(second, third)
        third += second;
        printf("%d: body %d, others %d %d\n", elsewhere, body, second, third);
        pthread_t other;
        if (elsewhere)
            pthread_create(&other, NULL, fulfil, NULL);
        else
            omp_fulfill_event(event);
#pragma omp taskwait
        printf("%d: all %d %d %d\n", elsewhere, body, second, third);
        if (elsewhere)
            pthread_join(other, NULL);
    }
    return 0;
}
