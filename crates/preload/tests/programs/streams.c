// Two stages with a stream between them: one makes items and sends them, the other one waits for each. The first argument is
// the sort of the stream. `make_item` sleeps; with `unknown` it computes, and sends past the C library's functions.
#define _GNU_SOURCE
#include "check.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 40, BLOCK = 1 << 16 };

static const char *sort;
static int in, out;
static char block[BLOCK];

static int is(const char *name) { return strcmp(sort, name) == 0; }

__attribute__((noinline)) static void make_item(void) {
    if (!is("unknown")) IS(usleep(3000), 0);
    struct timespec from, now;
    if (!is("unknown")) return;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 3000000);
}

__attribute__((noinline)) static void send_item(void) {
    uint64_t one = 1;
    struct iovec parts[2] = {{"12", 2}, {"345678", 6}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (is("unknown")) CHECK(syscall(SYS_write, out, &one, sizeof one) == 8);
    else if (is("counter")) CHECK(eventfd_write(out, 1) == 0);
    else if (is("vectors")) CHECK(writev(out, parts, 2) == 8);
    else if (is("messages")) CHECK(sendmsg(out, &message, 0) == 8);
    else if (is("tcp")) CHECK(send(out, &one, sizeof one, 0) == 8);
    else CHECK(write(out, &one, sizeof one) == 8);
}

// Returns the number of items that came: an eventfd may have counted several.
__attribute__((noinline)) static uint64_t receive_item(void) {
    uint64_t item;
    struct iovec part = {&item, sizeof item};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (is("poll")) {
        struct pollfd wanted = {.fd = in, .events = POLLIN};
        CHECK(poll(&wanted, 1, -1) == 1);
    } else if (is("epoll")) {
        static int all;
        struct epoll_event event = {.events = EPOLLIN};
        if (!all) CHECK((all = epoll_create1(0)) >= 0 && epoll_ctl(all, EPOLL_CTL_ADD, in, &event) == 0);
        CHECK(epoll_wait(all, &event, 1, -1) == 1);
    }
    if (is("counter")) CHECK(eventfd_read(in, &item) == 0);
    else if (is("vectors")) CHECK(readv(in, &part, 1) == 8);
    else if (is("messages")) CHECK(recvmsg(in, &message, 0) == 8);
    else if (is("tcp")) CHECK(recv(in, &item, sizeof item, 0) == 8);
    else CHECK(read(in, &item, sizeof item) == 8);
    return is("eventfd") || is("counter") ? item : 1;
}

static void receive_items(void) {
    for (uint64_t got = 0; got < ITEMS;) got += receive_item();
}

static void *produce(void *x) {
    for (int i = 0; i < ITEMS; i++) {
        make_item();
        send_item();
    }
    if (is("end")) {
        usleep(150000);
        close(out);
    }
    return x;
}

static void *drain(void *x) {
    for (long left = (long)ITEMS * BLOCK; left > 0;) {
        static char into[BLOCK];
        make_item();
        long got = read(in, into, BLOCK);
        CHECK(got > 0);
        left -= got;
    }
    return x;
}

static void connected(void) {
    int listens = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 place = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    socklen_t length = sizeof place;
    CHECK(bind(listens, (struct sockaddr *)&place, length) == 0 && listen(listens, 1) == 0);
    CHECK(getsockname(listens, (struct sockaddr *)&place, &length) == 0);
    // The client's address is one of IPv4, which the server sees as one of IPv6.
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = place.sin6_port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK((out = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CHECK(connect(out, (struct sockaddr *)&to, sizeof to) == 0);
    CHECK((in = accept(listens, 0, 0)) >= 0);
    CHECK(close(listens) == 0);
}

// `named`: the maker of items connects, and the other one accepts. `accepted`: the other way round.
static void named(void) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    snprintf(place.sun_path + 1, sizeof place.sun_path - 1, "baton-streams-%d", getpid());
    int listens = socket(AF_UNIX, SOCK_STREAM, 0), connects = socket(AF_UNIX, SOCK_STREAM, 0), accepts;
    CHECK(bind(listens, (struct sockaddr *)&place, sizeof place) == 0 && listen(listens, 1) == 0);
    CHECK(connect(connects, (struct sockaddr *)&place, sizeof place) == 0 && (accepts = accept(listens, 0, 0)) >= 0);
    CHECK(close(listens) == 0);
    in = is("named") ? accepts : connects, out = is("named") ? connects : accepts;
}

static void open_ends(void) {
    int ends[2];
    if (is("named") || is("accepted")) return named();
    if (is("tcp")) return connected();
    if (is("eventfd") || is("counter")) {
        CHECK((in = out = eventfd(0, 0)) >= 0);
    } else if (is("pair") || is("messages")) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        in = ends[0], out = ends[1];
    } else {
        CHECK(pipe(ends) == 0);
        in = ends[0], out = ends[1];
    }
    if (is("copied")) {
        CHECK((in = dup2(in, 40)) == 40 && (out = dup3(out, 41, 0)) == 41);
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    sort = argv[1];
    open_ends();
    if (is("fork")) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            produce(0);
            _exit(0);
        }
        receive_items();
        IS(usleep(20000), 0);
        CHECK(waitpid(child, 0, 0) == child);
    } else {
        pthread_t other;
        CHECK(pthread_create(&other, 0, is("full") ? drain : produce, 0) == 0);
        if (!is("full")) receive_items();
        for (int i = 0; i < ITEMS && is("full"); i++) CHECK(write(out, block, BLOCK) == BLOCK);
        if (is("end")) CHECK(read(in, block, 1) == 0);
        // The other thread ends meanwhile, so that no thread waits for its end.
        IS(usleep(20000), 0);
        CHECK(pthread_join(other, 0) == 0);
    }
    puts("ok");
    return 0;
}
