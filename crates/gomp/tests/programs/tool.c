/* A tool: counts what it is told, and checks the order. Linked by nobody: OMP_TOOL_LIBRARIES names it. Prints its counts when it
   ends, and each fault at once. MODE=null: does not want this version; MODE=refuse: does not want to be started. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp-tools.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAITS = 16 };
static struct { const char *name; int count; } counts[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static ompt_get_unique_id_t unique_id;
static ompt_get_task_info_t task_info;
static ompt_get_parallel_info_t parallel_info;
static ompt_get_thread_data_t thread_data;
static ompt_get_state_t get_state;

/* What the calling thread is in: checked to be well nested. */
static __thread int depth, held, wanted, regions, work;

static void fault(const char *what) { printf("fault: %s\n", what); }

static void count(const char *name) {
    pthread_mutex_lock(&mutex);
    int at = 0;
    while (counts[at].name && strcmp(counts[at].name, name))
        at++;
    counts[at].name = name;
    counts[at].count++;
    pthread_mutex_unlock(&mutex);
}

static void first(ompt_data_t *data, const char *what) {
    if (!data || data->value)
        fault(what);
    else
        data->value = unique_id();
}

/* The words of the task and its region are those that the functions of inquiry return. */
static void check_task(ompt_data_t *region, ompt_data_t *task) {
    int flags, number, size;
    ompt_data_t *same_task, *same_region, *by_level;
    ompt_frame_t *frame;
    if (task_info(0, &flags, &same_task, &frame, &same_region, &number) != 2 || same_task != task || (region && same_region != region))
        fault("task info");
    if (parallel_info(0, &by_level, &size) != 2 || (region && by_level != region) || number < 0 || number >= (size ? size : 2))
        fault("parallel info");
    if (!task->value || (region && !region->value))
        fault("a word that was not set");
}

static void on_thread_begin(ompt_thread_t kind, ompt_data_t *thread) {
    first(thread, "thread begins twice");
    if (thread_data() != thread)
        fault("thread data");
    count(kind == ompt_thread_initial ? "initial thread" : "worker");
}

static void on_thread_end(ompt_data_t *thread) {
    if (!thread->value || depth || held || wanted || regions || work)
        fault("a thread ends within something");
    count("thread end");
}

static void in_program(const void *code) {
    Dl_info info;
    if (!code || !dladdr(code, &info) || strstr(info.dli_fname, ".so"))
        fault("a code pointer outside of the program");
}

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *region, unsigned asked, int flags, const void *code) {
    first(region, "region begins twice");
    in_program(code);
    if (!task->value || !frame->enter_frame.ptr || !(flags & ompt_parallel_team) || asked != 2)
        fault("parallel begin");
    count("parallel begin");
}

static void on_parallel_end(ompt_data_t *region, ompt_data_t *task, int flags, const void *code) {
    if (!region->value || !task->value)
        fault("parallel end");
    count("parallel end");
}

static void on_implicit_task(ompt_scope_endpoint_t end, ompt_data_t *region, ompt_data_t *task, unsigned size, unsigned index, int flags) {
    if (end == ompt_scope_begin) {
        first(task, "implicit task begins twice");
        if (flags & ompt_task_initial)
            first(region, "initial region");
        else if (!region->value || size != 2 || index > 1)
            fault("implicit task begin");
        depth++;
    } else {
        if (region || !task->value)
            fault("implicit task end");
        depth--;
    }
    count(flags & ompt_task_initial ? "initial task" : "implicit task");
}

static void on_work(ompt_work_t kind, ompt_scope_endpoint_t end, ompt_data_t *region, ompt_data_t *task, uint64_t n, const void *code) {
    static const char *names[] = {"?", "loop", "sections", "single executor", "single other", "?", "?", "taskloop", "?", "?", "loop static", "loop dynamic", "loop guided"};
    check_task(region, task);
    work += end == ompt_scope_begin ? 1 : -1;
    if (work < 0)
        fault("work ends twice");
    count(names[kind]);
}

static void on_masked(ompt_scope_endpoint_t end, ompt_data_t *region, ompt_data_t *task, const void *code) {
    check_task(region, task);
    count("masked");
}

static const char *waits[WAITS] = {[3] = "barrier explicit", "barrier", "taskwait", "taskgroup", [8] = "barrier of a work-share", "join"};

static void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *region, ompt_data_t *task, const void *code) {
    if (kind != ompt_sync_region_barrier_implicit_parallel)
        check_task(region, task);
    regions += end == ompt_scope_begin ? 1 : -1;
    count(waits[kind]);
}

static void on_sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *region, ompt_data_t *task, const void *code) {
    ompt_wait_id_t wait;
    if (!regions)
        fault("a wait outside of its region");
    if (end == ompt_scope_begin && get_state(&wait) < ompt_state_wait_barrier_implicit_parallel)
        fault("state at a wait");
    count("wait");
}

static void on_mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t wait, const void *code) {
    static const char *names[] = {"?", "lock", "test lock", "nest lock", "test nest lock", "critical", "atomic", "ordered"};
    in_program(code);
    wanted++;
    count(names[kind]);
}

static void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t wait, const void *code) {
    if (wanted-- <= 0)
        fault("acquired before acquire");
    held++;
    count("acquired");
}

static void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t wait, const void *code) {
    if (held-- <= 0)
        fault("released before acquired");
    count("released");
}

static void on_nest_lock(ompt_scope_endpoint_t end, ompt_wait_id_t wait, const void *code) {
    if (end == ompt_scope_begin)
        wanted--;
    count("held once more or less");
}

static void on_lock_init(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t wait, const void *code) { count("lock init"); }
static void on_lock_destroy(ompt_mutex_t kind, ompt_wait_id_t wait, const void *code) { count("lock destroy"); }

static void on_task_create(ompt_data_t *by, const ompt_frame_t *frame, ompt_data_t *made, int flags, int has, const void *code) {
    first(made, "task made twice");
    in_program(code);
    if (!by->value || !(flags & ompt_task_explicit) || !frame->enter_frame.ptr)
        fault("task create");
    count(has ? "task with dependences" : flags & ompt_task_undeferred ? "undeferred task" : "task");
}

static void on_task_schedule(ompt_data_t *prior, ompt_task_status_t why, ompt_data_t *next) {
    if (!prior->value || !next || !next->value)
        fault("task schedule");
    count(why == ompt_task_switch ? "switch" : why == ompt_task_complete ? "complete" : "other status");
}

static void on_dependences(ompt_data_t *task, const ompt_dependence_t *list, int n) {
    if (n != 1 || (list->dependence_type != ompt_dependence_type_in && list->dependence_type != ompt_dependence_type_inout))
        fault("dependences");
    count("dependences");
}

static void on_task_dependence(ompt_data_t *earlier, ompt_data_t *later) {
    if (!earlier->value || earlier->value >= later->value)
        fault("task dependence");
    count("task dependence");
}

static void on_reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *region, ompt_data_t *task, const void *code) { count("reduction"); }
static int on_control_tool(uint64_t command, uint64_t modifier, void *argument, const void *code) { return command == 1 && modifier == 7 ? 42 : 0; }

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool) {
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    unique_id = (ompt_get_unique_id_t)lookup("ompt_get_unique_id");
    task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
    parallel_info = (ompt_get_parallel_info_t)lookup("ompt_get_parallel_info");
    thread_data = (ompt_get_thread_data_t)lookup("ompt_get_thread_data");
    get_state = (ompt_get_state_t)lookup("ompt_get_state");
#define SET(name) set(ompt_callback_##name, (ompt_callback_t)on_##name)
    int always = SET(thread_begin) + SET(thread_end) + SET(parallel_begin) + SET(parallel_end) + SET(implicit_task) + SET(task_create);
    always += SET(task_schedule) + SET(sync_region) + SET(sync_region_wait) + SET(task_dependence) + SET(lock_init) + SET(lock_destroy);
    SET(dependences), SET(work), SET(masked), SET(mutex_acquire), SET(mutex_acquired), SET(mutex_released), SET(nest_lock);
    SET(reduction), SET(control_tool);
    if (always != 12 * ompt_set_always || set(ompt_callback_target, (ompt_callback_t)on_work) != ompt_set_never || lookup("nothing"))
        fault("set callback");
    tool->value = 5;
    const char *mode = getenv("MODE");
    return !mode || strcmp(mode, "refuse");
}

static int by_name(const void *a, const void *b) { return strcmp(((const typeof(*counts) *)a)->name, ((const typeof(*counts) *)b)->name); }

static void finalize(ompt_data_t *tool) {
    int n = 0;
    while (counts[n].name)
        n++;
    qsort(counts, n, sizeof *counts, by_name);
    for (int at = 0; at < n; at++)
        printf("%s %d\n", counts[at].name, counts[at].count);
    printf("end %d\n", (int)tool->value);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    const char *mode = getenv("MODE");
    return version >= 201611 && runtime && (!mode || strcmp(mode, "null")) ? &result : NULL;
}
