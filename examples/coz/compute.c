/* Everything computes: a long critical section under `table`, a short one under `journal`, some work of each thread's own.
   compute ROUNDS [table|journal|own]: rounds a thread, and the part that is made half as long. */
#include "shared.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static long rounds, table_steps, journal_steps, own_steps;

static void *worker(void *unused) {
    for (long i = 0; i < rounds; i++) {
        BURN(own_steps);
        pthread_mutex_lock(&table);
        BURN(table_steps);
        pthread_mutex_unlock(&table);
        pthread_mutex_lock(&journal);
        BURN(journal_steps);
        pthread_mutex_unlock(&journal);
        COZ_PROGRESS_NAMED("round");
    }
    return unused;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : 1000;
    table_steps = part(argc, argv, "table", 60000);
    journal_steps = part(argc, argv, "journal", 6000);
    own_steps = part(argc, argv, "own", 20000);
    run(worker, rounds);
    return 0;
}
