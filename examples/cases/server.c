/* A server that runs for ever: it has a thread for each connection, and one lock around the cache. `server PORT` serves; `server PORT CLIENTS
   SECONDS` sends it requests and prints the answers a second. Right answer: cache_lock limits the throughput. The cure does nine tenths of
   the section outside of the lock. */
#include "cases.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#ifdef CURE
enum { INSIDE = 2000, OUTSIDE = 21000 };
#else
enum { INSIDE = 20000, OUTSIDE = 3000 };
#endif
enum { MESSAGE = 32 };

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t cache[256];

static __attribute__((noinline)) void answer(char *message)
{
    uint64_t own = work((uint64_t)message[0], OUTSIDE);
    pthread_mutex_lock(&cache_lock);
    cache[own % 256] = work(cache[own % 256], INSIDE);
    pthread_mutex_unlock(&cache_lock);
}

static void *serve(void *descriptor)
{
    int connection = (int)(intptr_t)descriptor;
    char message[MESSAGE];
    while (read(connection, message, MESSAGE) == MESSAGE) {
        answer(message);
        if (write(connection, message, MESSAGE) != MESSAGE)
            break;
    }
    close(connection);
    return NULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int load(struct sockaddr_in *address, int clients, double seconds)
{
    int connections[MOST_THREADS];
    char message[MESSAGE] = {0};
    long requests = 0;
    for (int i = 0; i < clients; i++) {
        connections[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(connections[i], (struct sockaddr *)address, sizeof *address) != 0)
            return 1;
    }
    double begin = now();
    while (now() < begin + seconds) {
        for (int i = 0; i < clients; i++)
            if (write(connections[i], message, MESSAGE) != MESSAGE)
                return 1;
        for (int i = 0; i < clients; i++, requests++)
            if (read(connections[i], message, MESSAGE) != MESSAGE)
                return 1;
    }
    printf("%.0f\n", (double)requests / (now() - begin));
    return 0;
}

int main(int argc, char **argv)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (argc < 2)
        return 2;
    address.sin_port = htons((uint16_t)atoi(argv[1]));
    if (argc > 3)
        return load(&address, atoi(argv[2]), atof(argv[3]));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0)
        return 1;
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        if (connection < 0)
            return 1;
        pthread_detach(started(serve, (uintptr_t)connection));
    }
}
