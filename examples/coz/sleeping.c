/* A device is waited for, asleep, under the lock `device`; what comes back is computed on under the lock `table`.
   sleeping ROUNDS [device|table|own]: rounds a thread, and the part that is made half as long. */
#include "shared.h"
#include <unistd.h>

static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER, table = PTHREAD_MUTEX_INITIALIZER;
static long rounds, device_us, table_steps, own_steps;

static void *worker(void *unused) {
    for (long i = 0; i < rounds; i++) {
        BURN(own_steps);
        pthread_mutex_lock(&device);
        usleep(device_us);
        pthread_mutex_unlock(&device);
        pthread_mutex_lock(&table);
        BURN(table_steps);
        pthread_mutex_unlock(&table);
        COZ_PROGRESS_NAMED("round");
    }
    return unused;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : 1000;
    device_us = part(argc, argv, "device", 800);
    table_steps = part(argc, argv, "table", 60000);
    own_steps = part(argc, argv, "own", 20000);
    run(worker, rounds);
    return 0;
}
