// Events that only a child's child fulfils, while each thread of the team waits for the event's task. In a team of one, and where all
// threads wait at once, the waiting threads must run that child's child. libgomp hangs in most of these cases, libomp in none.
#include <omp.h>
#include <stdio.h>

static int bodies;

static void body(void) {
#pragma omp atomic
    bodies++;
}

// A child of the task that calls this fulfils the event.
static void fulfil_later(omp_event_handle_t event) {
#pragma omp task firstprivate(event)
    omp_fulfill_event(event);
}

static void by_its_child(void) {
    omp_event_handle_t event;
#pragma omp task detach(event)
    {
        body();
        fulfil_later(event);
    }
#pragma omp taskwait
}

// Three tasks lie between the task that waits and the one that fulfils the event.
static void by_a_late_descendant(void) {
    omp_event_handle_t event;
#pragma omp task detach(event)
    {
        body();
#pragma omp task firstprivate(event)
        {
#pragma omp task firstprivate(event)
            fulfil_later(event);
        }
    }
#pragma omp taskwait
}

// The task that ended before its child had another event.
static void by_a_nephew(void) {
    omp_event_handle_t event;
#pragma omp task detach(event)
    body();
#pragma omp task firstprivate(event)
    fulfil_later(event);
#pragma omp taskwait
}

static void by_a_child_in_a_group(void) {
#pragma omp taskgroup
    by_its_child();
}

// The end of the group waits for an event that a task outside of the group fulfils.
static void from_outside_of_a_group(void) {
    omp_event_handle_t first, second;
#pragma omp task detach(first)
    body();
#pragma omp taskgroup
    {
#pragma omp task detach(second)
        body();
        fulfil_later(first);
#pragma omp task firstprivate(second)
        fulfil_later(second);
    }
#pragma omp taskwait
}

static void before_a_dependence(void) {
    omp_event_handle_t event;
    int value;
#pragma omp task detach(event) depend(out : value)
    {
        body();
        fulfil_later(event);
    }
#pragma omp task depend(in : value) if (0)
    body();
#pragma omp taskwait
}

// While the first event is open, a thread alone leaves tasks for later. GCC's maker of an undeferred task waits for its event.
static void of_an_undeferred_task(void) {
    omp_event_handle_t open, event;
#pragma omp task detach(open)
    body();
#pragma omp task detach(event) if (0)
    {
        body();
        fulfil_later(event);
    }
    omp_fulfill_event(open);
#pragma omp taskwait
}

// A descendant becomes ready when another one's event is fulfilled.
static void after_another_event(void) {
    omp_event_handle_t event;
#pragma omp task detach(event)
    {
        omp_event_handle_t earlier;
        static int value;
#pragma omp task detach(earlier) depend(out : value)
        body();
        fulfil_later(earlier);
#pragma omp task depend(in : value) firstprivate(event)
        omp_fulfill_event(event);
    }
#pragma omp taskwait
}

int main(void) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        {"its child", by_its_child},
        {"a late descendant", by_a_late_descendant},
        {"a nephew", by_a_nephew},
        {"a child in a group", by_a_child_in_a_group},
        {"from outside of a group", from_outside_of_a_group},
        {"before a dependence", before_a_dependence},
        {"of an undeferred task", of_an_undeferred_task},
        {"after another event", after_another_event},
    };
    for (int at = 0; at < sizeof all / sizeof *all; at++) {
        int threads = 0;
        bodies = 0;
        for (int round = 0; round < 20; round++) {
#pragma omp parallel reduction(+ : threads)
            {
                threads++;
                all[at].run();
            }
            all[at].run();
            threads++;
        }
        printf("%s: %d bodies each\n", all[at].name, bodies / threads);
    }
    return 0;
}
