// How many threads take part in a construct, and how long it takes. usage: takes_part CONSTRUCT THREADS MICROSECONDS COUNT...
// For each count: that number of tasks, iterations or sections, each of which sleeps, and a line `COUNT THREADS MICROSECONDS`.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 8192 };
static int pause_us, by[MOST];
static omp_event_handle_t events[MOST];

// Sleeps, as a thread that took part.
static void work(void) {
    struct timespec time = {0, pause_us * 1000L};
    nanosleep(&time, NULL);
#pragma omp atomic
    by[omp_get_thread_num()]++;
}

static void tasks(int n) {
#pragma omp single nowait
    for (int i = 0; i < n; i++) {
#pragma omp task
        work();
    }
}

static void tasks_waited_for(int n) {
#pragma omp single nowait
    {
        for (int i = 0; i < n; i++) {
#pragma omp task
            work();
        }
#pragma omp taskwait
    }
}

static void tasks_of_a_group(int n) {
#pragma omp single nowait
    {
#pragma omp taskgroup
        for (int i = 0; i < n; i++) {
#pragma omp task
            work();
        }
    }
}

static void tasks_of_each(int n) {
#pragma omp for schedule(static) nowait
    for (int i = 0; i < n; i++) {
#pragma omp task
        work();
    }
}

static void tasks_of_a_task(int n) {
#pragma omp single nowait
    {
#pragma omp task
        for (int i = 0; i < n; i++) {
#pragma omp task
            work();
        }
    }
}

static void tasks_that_depend(int n) {
    static char at[MOST];
    (void)at;
#pragma omp single nowait
    for (int i = 0; i < n; i++) {
#pragma omp task depend(out : at[i])
        {
        }
#pragma omp task depend(in : at[i])
        work();
    }
}

static void detached(int n) {
#pragma omp single nowait
    for (int i = 0; i < n; i++) {
        omp_event_handle_t event;
#pragma omp task detach(event)
        work();
        events[i] = event;
#pragma omp task firstprivate(event)
        omp_fulfill_event(event);
    }
}

static void taskloop_by_number(int n) {
#pragma omp single nowait
    {
#pragma omp taskloop num_tasks(n)
        for (int i = 0; i < n; i++)
            work();
    }
}

static void taskloop_by_grain(int n) {
#pragma omp single nowait
    {
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < n; i++)
            work();
    }
}

static void loop_static(int n) {
#pragma omp for schedule(static)
    for (int i = 0; i < n; i++)
        work();
}

static void loop_dynamic(int n) {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < n; i++)
        work();
}

static void loop_guided(int n) {
#pragma omp for schedule(guided)
    for (int i = 0; i < n; i++)
        work();
}

static void sections(int n) {
    for (int i = 0; i < n; i += 4) {
#pragma omp sections nowait
        {
            work();
#pragma omp section
            work();
#pragma omp section
            work();
#pragma omp section
            work();
        }
    }
}

// The first thread has cancelled the region; the others go through `n` loops that nobody waits for.
static void cancelled(int n) {
    for (int loop = 0; loop < n; loop++) {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < omp_get_num_threads(); i++) {
#pragma omp atomic
            by[omp_get_thread_num()]++;
        }
    }
}

// The first thread makes a task when the others have arrived at the region's end, and waits for it outside of the runtime.
static void late(int n) {
    static int flag;
#pragma omp single nowait
    for (int i = 0; i < n; i++) {
        int seen = omp_get_num_threads() == 1;
        flag = 0;
        work();
#pragma omp task shared(flag)
        {
            work();
#pragma omp atomic write
            flag = 1;
        }
        while (!seen) {
#pragma omp atomic read
            seen = flag;
        }
    }
}

// The first thread goes through `n` loops that nobody waits for, before the others come to the first of them.
static void ahead(int n) {
    static int gone;
    int seen = n;
    if (omp_get_thread_num() != 0) {
        do {
            struct timespec time = {0, 100000};
            nanosleep(&time, NULL);
#pragma omp atomic read
            seen = gone;
        } while (seen != n);
    }
    for (int loop = 0; loop < n; loop++) {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 3; i++) {
#pragma omp atomic
            by[omp_get_thread_num()]++;
        }
    }
    if (omp_get_thread_num() == 0) {
#pragma omp atomic write
        gone = n;
    }
}

// Barriers, one after another, before which nobody sleeps.
static void barriers(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp barrier
    }
#pragma omp atomic
    by[omp_get_thread_num()]++;
}

static const struct {
    const char *name;
    void (*run)(int);
} CONSTRUCTS[] = {
    {"task", tasks},
    {"taskwait", tasks_waited_for},
    {"taskgroup", tasks_of_a_group},
    {"task-each", tasks_of_each},
    {"task-nested", tasks_of_a_task},
    {"task-depend", tasks_that_depend},
    {"task-detach", detached},
    {"taskloop-num", taskloop_by_number},
    {"taskloop-grain", taskloop_by_grain},
    {"for-static", loop_static},
    {"for-dynamic", loop_dynamic},
    {"for-guided", loop_guided},
    {"sections", sections},
    {"cancel", cancelled},
    {"late", late},
    {"ahead", ahead},
    {"barrier", barriers},
};

int main(int count, char **arguments) {
    if (count < 5)
        return fprintf(stderr, "usage: takes_part CONSTRUCT THREADS MICROSECONDS COUNT...\n"), 2;
    void (*run)(int) = NULL;
    for (unsigned at = 0; at < sizeof CONSTRUCTS / sizeof *CONSTRUCTS; at++)
        if (!strcmp(CONSTRUCTS[at].name, arguments[1]))
            run = CONSTRUCTS[at].run;
    if (!run)
        return fprintf(stderr, "takes_part: no construct `%s`\n", arguments[1]), 2;
    int threads = atoi(arguments[2]);
    pause_us = atoi(arguments[3]);
    // The threads are started before anything is measured.
#pragma omp parallel num_threads(threads)
    {
    }
    for (int at = 4; at < count; at++) {
        int n = atoi(arguments[at]), took_part = 0;
        memset(by, 0, sizeof by);
        double begin = omp_get_wtime();
#pragma omp parallel num_threads(threads)
        {
            if (run == cancelled && omp_get_thread_num() == 0) {
                by[0]++;
#pragma omp cancel parallel
            }
            run(n);
        }
        long us = (omp_get_wtime() - begin) * 1e6;
        int all = 0;
        for (int thread = 0; thread < threads; thread++) {
            took_part += by[thread] != 0;
            all += by[thread];
        }
        if (run == ahead && all != 3 * n)
            return fprintf(stderr, "takes_part: %d iterations, not %d\n", all, 3 * n), 1;
        printf("%d %d %ld\n", n, took_part, us);
        fflush(stdout);
    }
    return 0;
}
