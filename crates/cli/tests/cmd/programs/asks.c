/* Keeps connections to a port of the loopback busy, a byte to and fro, for ever, and with a third argument works between two
   questions. Usage: asks PORT CONNECTIONS [busily] */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int port, busily;

static void *ask(void *arg) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char byte = 'x';
    if (connect(fd, (struct sockaddr *)&at, sizeof at)) exit(1);
    while (send(fd, &byte, 1, MSG_NOSIGNAL) == 1 && recv(fd, &byte, 1, 0) == 1)
        for (volatile int i = 0; busily && i < 300000;) i = i + 1;
    exit(2);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t thread;
    port = argc > 2 ? atoi(argv[1]) : 0;
    busily = argc > 3;
    for (int i = 0; i < atoi(argv[2]); i++) pthread_create(&thread, NULL, ask, NULL);
    for (;;) pause();
}
