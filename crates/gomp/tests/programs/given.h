// A thread outside of all teams that fulfils an event.
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

static omp_event_handle_t given;

static void *fulfil(void *unused) {
    usleep(10000);
    omp_fulfill_event(given);
    return unused;
}
