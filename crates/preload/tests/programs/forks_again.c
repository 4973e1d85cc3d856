// A chain of forks: each process has a hundred threads that wait when it forks, and its child makes a hundred anew. The records of
// threads must not become more with each fork.
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 100, FORKS = 20 };
static pthread_mutex_t mutex;
static pthread_cond_t never;
static int there;
static long *kilobytes;

static void *waits(void *arg) {
    IS(pthread_mutex_lock(&mutex), 0);
    there++;
    for (;;) IS(pthread_cond_wait(&never, &mutex), 0);
    return arg;
}

static long anonymous(void) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long found = 0;
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status) != NULL) sscanf(line, "RssAnon: %ld", &found);
    fclose(status);
    CHECK(found > 0);
    return found;
}

int main(void) {
    kilobytes = mmap(NULL, sizeof(long[FORKS]), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(kilobytes != MAP_FAILED);
    for (int forks = 0; forks < FORKS; forks++) {
        pthread_attr_t small;
        IS(pthread_attr_init(&small), 0);
        IS(pthread_attr_setstacksize(&small, 64 << 10), 0);
        IS(pthread_mutex_init(&mutex, NULL), 0);
        IS(pthread_cond_init(&never, NULL), 0);
        there = 0;
        for (int i = 0; i < THREADS; i++) {
            pthread_t thread;
            IS(pthread_create(&thread, &small, waits, NULL), 0);
        }
        for (int all = 0; !all; usleep(100)) {
            IS(pthread_mutex_lock(&mutex), 0);
            all = there == THREADS;
            IS(pthread_mutex_unlock(&mutex), 0);
        }
        kilobytes[forks] = anonymous();
        pid_t child = fork();
        CHECK(child >= 0);
        if (child > 0) {
            int status;
            IS(waitpid(child, &status, 0) == child, 1);
            _exit(status == 0 ? 0 : 1);
        }
    }
    // A record has some kilobytes: 1,700 of them would take more than this.
    CHECK(kilobytes[FORKS - 1] - kilobytes[2] < 4096);
    puts("ok");
    return 0;
}
