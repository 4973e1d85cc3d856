/* A server on the loopback: a thread for each connection, all of which share one lock.
 * Usage: served PORT [fork|ends|rude|stands]. Where another lock than glibc's serves it, it holds the lock for less: the cure. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static int cured, stands;

static __attribute__((noinline)) void answered(void) { __asm__ volatile(""); }

static void *serve(void *arg) {
    int fd = (int)(intptr_t)arg;
    char byte;
    while (recv(fd, &byte, 1, 0) == 1) {
        if (cured && stands) pause();
        pthread_mutex_lock(&shared_lock);
        usleep(cured ? 50 : 2000);
        pthread_mutex_unlock(&shared_lock);
        answered();
        if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1) break;
    }
    close(fd);
    return NULL;
}

int main(int argc, char **argv) {
    const char *how = argc > 2 ? argv[2] : "";
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    cured = getenv("BATON_LOCK") != NULL;
    stands = !strcmp(how, "stands");
    if (strcmp(how, "rude")) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 64)) {
        perror("bind");
        return 1;
    }
    if (!strcmp(how, "ends")) {
        puts("no work today");
        fflush(stdout);
        usleep(300000);
        return 7;
    }
    if (!strcmp(how, "fork") && fork() == 0) fork();
    for (;;) {
        int connection = accept(fd, NULL, NULL);
        pthread_t thread;
        if (connection < 0) continue;
        pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection);
        pthread_detach(thread);
    }
}
