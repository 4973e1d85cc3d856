// epcc calibrate NS                      prints how many steps a delay of so many nanoseconds has
// epcc GROUPS OUTER TARGET_NS STEPS      prints a line of JSON for each measurement of the groups
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

long delay_steps, iteration_steps;

double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

// A chain of multiplications: no compiler shortens it, and siblings of a core barely slow it.
__attribute__((noinline)) void delay(long steps) {
    unsigned long x = (unsigned long)steps;
    for (long i = 0; i < steps; i++) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        __asm__ volatile("" : "+r"(x));
    }
}

void delays(long reps) {
    for (long rep = 0; rep < reps; rep++) delay(delay_steps);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_of(void (*what)(long), long reps) {
    double start = now_ns();
    what(reps);
    return now_ns() - start;
}

// As many repetitions as the construct needs to fill the target. Twice, as other programs may disturb one of the two.
static long fitting(const struct measurement *m, double target) {
    long reps = 1;
    while (reps < 1l << 24 && (time_of(m->test, reps) < target || time_of(m->test, reps) < target)) reps *= 2;
    return reps;
}

static void measure(const struct measurement *m, int outer, double target) {
    double references[outer], tests[outer];
    long reps = fitting(m, target);
    // One after another, as EPCC does: between two tests a worker is not idle for as long as a reference takes.
    for (int i = 0; i < outer; i++) references[i] = time_of(m->reference, reps);
    m->test(reps);
    for (int i = 0; i < outer; i++) tests[i] = time_of(m->test, reps);
    qsort(references, outer, sizeof *references, ascending);
    double reference = references[outer / 2];
    printf("{\"group\":\"%s\",\"name\":\"%s\",\"reps\":%ld,\"reference_ns\":%.1f,\"ns\":[", m->group, m->name, reps, reference / reps);
    for (int i = 0; i < outer; i++) printf("%s%.1f", i ? "," : "", (tests[i] - reference) / reps);
    printf("]}\n");
    fflush(stdout);
}

static void tell(const struct manner *m, int outer) {
    m->once();
    printf("{\"group\":\"manners\",\"name\":\"%s\",\"reps\":1,\"reference_ns\":0,\"ns\":[", m->name);
    for (int i = 0; i < outer; i++) printf("%s%.1f", i ? "," : "", m->once());
    printf("]}\n");
    fflush(stdout);
}

static int calibrate(double ns) {
    long steps = 1 << 20;
    double least = 1e300;
    for (int i = 0; i < 9; i++) {
        double start = now_ns();
        delay(steps);
        double took = now_ns() - start;
        if (took < least) least = took;
    }
    printf("%.0f\n", ns * steps / least);
    return 0;
}

static int asked(const char *groups, const char *group) {
    const char *at = strstr(groups, group);
    return at != NULL && (at == groups || at[-1] == ',') && (at[strlen(group)] == 0 || at[strlen(group)] == ',');
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "calibrate") == 0) return calibrate(atof(words[2]));
    if (count != 5) return fprintf(stderr, "usage: epcc calibrate NS | epcc GROUPS OUTER TARGET_NS STEPS\n"), 2;
    int outer = atoi(words[2]);
    double target = atof(words[3]);
    delay_steps = atol(words[4]);
    iteration_steps = 15 * delay_steps;
    const struct measurement *groups[] = {syncs, scheds, chunks, arrays, tasks};
    for (int group = 0; group < 5; group++)
        for (const struct measurement *m = groups[group]; m->name; m++)
            if (asked(words[1], m->group)) measure(m, outer, target);
    for (const struct manner *m = manners; m->name && asked(words[1], "manners"); m++) tell(m, outer);
    return 0;
}
