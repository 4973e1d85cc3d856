/* A pipeline of three threads, of which the middle one is slow, with queues whose algorithm the user chooses. stages.cpp and
 * rust/src/bin/stages.rs do the same.
 *
 *   cc -O2 stages.c $(pkg-config --cflags --libs baton) -lpthread -o stages
 *   baton run --queue ring -- ./stages ITEMS MICROSECONDS
 */
#define _GNU_SOURCE
#include <baton.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static baton_choice *tasks, *results;
static unsigned long items, micros, sum;

static void *reads(void *unused) {
    pthread_setname_np(pthread_self(), "reads");
    for (unsigned long item = 0; item < items; item++)
        if (baton_choice_put(tasks, &item) != 0) abort();
    baton_choice_close(tasks);
    return unused;
}

static void *works(void *unused) {
    pthread_setname_np(pthread_self(), "works");
    for (unsigned long task; baton_choice_get(tasks, &task) == 0;) {
        usleep((useconds_t)micros);
        task *= task;
        if (baton_choice_put(results, &task) != 0) abort();
    }
    baton_choice_close(results);
    return unused;
}

static void *writes(void *unused) {
    pthread_setname_np(pthread_self(), "writes");
    for (unsigned long result; baton_choice_get(results, &result) == 0;) sum += result;
    return unused;
}

int main(int argc, char **argv) {
    if (argc != 3) return fputs("usage: stages ITEMS MICROSECONDS\n", stderr), 2;
    items = strtoul(argv[1], NULL, 10), micros = strtoul(argv[2], NULL, 10);
    tasks = baton_choice_new(BATON_ONE_TO_ONE, sizeof items, 4);
    results = baton_choice_new(BATON_ONE_TO_ONE, sizeof items, 8);
    if (tasks == NULL || results == NULL) return fprintf(stderr, "stages: %s\n", baton_last_error()), 1;
    fprintf(stderr, "stages: queues %s and %s\n", baton_choice_name(tasks), baton_choice_name(results));
    void *(*const stages[])(void *) = { reads, works, writes };
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, stages[i], NULL) != 0) abort();
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("%lu\n", sum);
    baton_choice_free(tasks);
    baton_choice_free(results);
    return 0;
}
