// Detached tasks: none makes its maker wait, however many there are, and each is done when its body has ended and its event is fulfilled.
// libgomp hangs here with one thread, with more than 63 tasks, and by chance with fewer.
#include <omp.h>
#include <stdio.h>
#include <pthread.h>

enum { MOST = 5000 };
static omp_event_handle_t events[MOST];
static int bodies, after;

// An asynchronous read and its completion: each event is fulfilled by a later task.
static void pairs(int n) {
    bodies = 0;
    for (int i = 0; i < n; i++) {
        omp_event_handle_t event;
#pragma omp task detach(event)
        {
#pragma omp atomic
            bodies++;
        }
#pragma omp task firstprivate(event)
        omp_fulfill_event(event);
    }
#pragma omp taskwait
    printf("pairs: %d of %d\n", bodies, n);
}

// All events are fulfilled by the maker, after the loop.
static void by_the_maker(int n) {
    bodies = 0;
    for (int i = 0; i < n; i++) {
        omp_event_handle_t event;
#pragma omp task detach(event)
        {
#pragma omp atomic
            bodies++;
        }
        events[i] = event;
    }
    for (int i = 0; i < n; i++)
        omp_fulfill_event(events[i]);
#pragma omp taskwait
    printf("by the maker: %d of %d\n", bodies, n);
}

// Each is followed by a task that depends on it, and fulfilled after the loop.
static void followed(int n) {
    bodies = after = 0;
    static char at[MOST];
    for (int i = 0; i < n; i++) {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : at[i])
        {
#pragma omp atomic
            bodies++;
        }
#pragma omp task depend(in : at[i])
        {
#pragma omp atomic
            after++;
        }
        events[i] = event;
    }
    for (int i = 0; i < n; i++)
        omp_fulfill_event(events[i]);
#pragma omp taskwait
    printf("followed: %d and %d of %d\n", bodies, after, n);
}

// A region's end waits for events that a thread of no team fulfils.
static void *fulfil_all(void *n) {
    for (long i = 0; i < (long)n; i++)
        omp_fulfill_event(events[i]);
    return NULL;
}

static void by_a_stranger(long n) {
    pthread_t stranger;
    bodies = 0;
#pragma omp parallel
    {
#pragma omp single nowait
        {
            for (long i = 0; i < n; i++) {
                omp_event_handle_t event;
#pragma omp task detach(event)
                {
#pragma omp atomic
                    bodies++;
                }
                events[i] = event;
            }
            pthread_create(&stranger, NULL, fulfil_all, (void *)n);
        }
    }
    pthread_join(stranger, NULL);
    printf("by a stranger: %d of %ld\n", bodies, n);
}

static void outside(int n) {
    bodies = after = 0;
    for (int i = 0; i < n; i++) {
        omp_event_handle_t event;
#pragma omp task detach(event)
        bodies++;
        events[i] = event;
    }
    printf("outside: %d of %d bodies", bodies, n);
    for (int i = 0; i < n; i++)
        omp_fulfill_event(events[i]);
#pragma omp taskwait
    printf(", all done\n");
}

int main(void) {
    // Around each limit: four tasks a thread, 64 in all.
    static const int sizes[] = {1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1000, MOST};
    for (int at = 0; at < sizeof sizes / sizeof *sizes; at++) {
#pragma omp parallel
#pragma omp single
        {
            pairs(sizes[at]);
            by_the_maker(sizes[at]);
            followed(sizes[at]);
        }
        by_a_stranger(sizes[at]);
        outside(sizes[at]);
    }
    return 0;
}
