// Ten rounds of a server and a client over a socket pair, by each way to read and write; a pipe; and files, whose reads have no event.
#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { ROUNDS = 10 };
static int ends[2];

static void *server(void *arg) {
    (void)arg;
    char b[8];
    struct iovec part = { .iov_base = b, .iov_len = sizeof b };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(read(ends[0], b, 8) == 8 && write(ends[0], b, 8) == 8);
        CHECK(recv(ends[0], b, 8, 0) == 8 && send(ends[0], b, 8, 0) == 8);
        CHECK(recvfrom(ends[0], b, 8, 0, NULL, NULL) == 8 && sendto(ends[0], b, 8, 0, NULL, 0) == 8);
        CHECK(recvmsg(ends[0], &message, 0) == 8 && sendmsg(ends[0], &message, 0) == 8);
        CHECK(readv(ends[0], &part, 1) == 8 && writev(ends[0], &part, 1) == 8);
    }
    CHECK(recv(ends[0], b, 8, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    return NULL;
}

int main(void) {
    IS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pthread_t t;
    IS(pthread_create(&t, NULL, server, NULL), 0);
    char b[8] = "1234567";
    struct pollfd ready = { .fd = ends[1], .events = POLLIN };
    for (int i = 0; i < 5 * ROUNDS; i++) {
        CHECK(send(ends[1], b, 8, 0) == 8);
        IS(poll(&ready, 1, -1), 1);
        CHECK(recv(ends[1], b, 8, 0) == 8 && b[6] == '7');
    }
    IS(pthread_join(t, NULL), 0);
    IS(close(ends[0]), 0);
    // A read that finds the end of the stream; then reads of a file that gets the closed socket's number, which have no event.
    CHECK(recvmsg(ends[1], &(struct msghdr){ 0 }, 0) == 0);
    int file = open("/dev/zero", O_RDONLY);
    IS(file, ends[0]);
    for (int i = 0; i < 100; i++) CHECK(read(file, b, 8) == 8);
    int events = epoll_create1(0);
    struct epoll_event event;
    IS(epoll_wait(events, &event, 1, 1), 0);
    puts("ok");
    return 0;
}
