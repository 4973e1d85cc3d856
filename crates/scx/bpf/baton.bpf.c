/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Baton's scheduler for sched_ext: threads of three classes (fast, slow, any) on two kinds of CPUs.
 *
 * There is one queue for each pair of a last-level cache and a kind of CPU. A CPU takes threads from
 * its own queue first, and from all others when that one is empty, so that no CPU idles while a
 * thread waits. The map `classes`, which a daemon writes, says which class a thread has. Nothing
 * waits for the daemon: without an entry, or when the daemon has given no sign of life for
 * `setup.stale_ns`, a thread may run anywhere.
 * The kernel ends the scheduler when a CPU goes off or comes on, because there are no callbacks
 * `cpu_online` and `cpu_offline`. With them, threads of the CPU that went off stayed in no queue in
 * Linux 6.16, and the CPU stayed half off, until the kernel's watchdog ended the scheduler.
 *
 * | class | wake-up | while it runs |
 * | --- | --- | --- |
 * | fast | an idle fast CPU, else the place of a thread of another class on a fast CPU, else any idle CPU | leaves a slow CPU as soon as a fast one idles or has a thread of another class |
 * | slow | an idle slow CPU, else any idle CPU | leaves a fast CPU when a slow one idles or fast threads wait |
 * | any | the CPU before if it idles, else a fast one, else a slow one | leaves a slow CPU when a fast one idles |
 */
#include "kernel.h"

#define MOST_CPUS 512
#define MOST_QUEUES 64

enum kind { FAST, SLOW, KINDS };
/* A class is a kind of CPU, or this. */
enum { ANY = KINDS };

/* What the loader writes before the start (`src/tables.rs`). */
struct setup {
	u64 slice_ns;
	u64 stale_ns;
	u32 queues;
	/* Use the functions' old names where the kernel has both, so that a test can reach them. */
	u32 old_names;
	u32 cpus_of_kind[KINDS];
	/* The CPUs of each kind. */
	u32 of_kind[KINDS][MOST_CPUS];
	/* For each CPU, the nearest CPU of each kind. */
	u32 nearest[MOST_CPUS][KINDS];
	u8 kinds[MOST_CPUS];
	u8 queue_of[MOST_CPUS];
	u8 kind_of_queue[MOST_QUEUES];
	/* For each queue, all queues in the order in which its CPUs look at them; the own one is the first. */
	u8 order[MOST_QUEUES][MOST_QUEUES];
};
const volatile struct setup setup SEC(".rodata.setup");

/* The daemon's last sign of life, by CLOCK_MONOTONIC. The loader writes it. */
u64 beat_ns SEC(".bss.beat");

/* What the loader reads (`src/kernel.rs`). */
struct told {
	/* Wake-ups; threads that waited in a queue; threads that took a fast CPU from others, came to an idle CPU without
	 * a wake-up, or came from the queue of other CPUs. */
	u64 wakes, queued, preempts, moves, taken;
	/* Why the kernel has ended the scheduler; 0 while it has not. */
	u64 exit_kind;
	char reason[128], message[512];
};
struct told told SEC(".bss.told");

/* The class of the thread that runs on each CPU, plus one; 0 if no thread of this scheduler runs. */
static u8 here[MOST_CPUS];
/* The turns of each CPU at the queues of others. */
static u32 turns[MOST_CPUS];

/* Thread number to class. */
struct {
	NUMBER(type, BPF_MAP_TYPE_HASH);
	NUMBER(max_entries, 65536);
	TYPE(key, u32);
	TYPE(value, u32);
} classes SEC(".maps");

/* A number of a CPU or a queue as an index of a table. The verifier sees the mask that bounds it, as the compiler cannot drop it. */
INLINE u64 at(u64 number, u64 most)
{
	number &= most - 1;
	asm volatile("" : "+r"(number));
	return number;
}
#define CPU(number) at(number, MOST_CPUS)
#define QUEUE(number) at(number, MOST_QUEUES)

INLINE void add(u64 *count)
{
	__sync_fetch_and_add(count, 1);
}

INLINE void insert(struct task_struct *thread, u64 queue, u64 slice, u64 flags)
{
	if (exists(scx_bpf_dsq_insert) && !(setup.old_names && exists(scx_bpf_dispatch)))
		scx_bpf_dsq_insert(thread, queue, slice, flags);
	else
		scx_bpf_dispatch(thread, queue, slice, flags);
}

INLINE bool take(u64 queue)
{
	if (exists(scx_bpf_dsq_move_to_local) && !(setup.old_names && exists(scx_bpf_consume)))
		return scx_bpf_dsq_move_to_local(queue);
	return scx_bpf_consume(queue);
}

INLINE void set_slice(struct task_struct *thread, u64 slice)
{
	if (exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(thread, slice);
	else
		thread->scx.slice = slice;
}

/* The slice of a thread: nice values weigh it, as queues are served in turn. */
INLINE u64 slice_of(const struct task_struct *thread)
{
	u64 slice = setup.slice_ns * thread->scx.weight / 100;
	if (slice < setup.slice_ns / 8)
		return setup.slice_ns / 8;
	return slice > setup.slice_ns * 4 ? setup.slice_ns * 4 : slice;
}

INLINE bool may_use(const struct task_struct *thread, u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, thread->cpus_ptr);
}

INLINE u32 kind_of(u32 cpu)
{
	return setup.kinds[CPU(cpu)] == FAST ? FAST : SLOW;
}

/* The class that the daemon gave the thread. */
INLINE u32 class_of(const struct task_struct *thread)
{
	if (bpf_ktime_get_ns() > beat_ns + setup.stale_ns)
		return ANY;
	u32 key = thread->pid;
	u32 *class = bpf_map_lookup_elem(&classes, &key);
	return class && *class < KINDS ? *class : ANY;
}

/* Claims an idle CPU of a kind for the thread; the CPU is not idle to others from then on. -1 if there is none. */
static __attribute__((noinline)) s32 claim(struct task_struct *thread, u32 kind)
{
	u32 count = setup.cpus_of_kind[kind & 1];
	for (u32 i = 0; i < MOST_CPUS && i < count; i++) {
		u32 cpu = setup.of_kind[kind & 1][CPU(i)];
		if (may_use(thread, cpu) && scx_bpf_test_and_clear_cpu_idle(cpu))
			return cpu;
	}
	return -1;
}

/* Whether an idle CPU of a kind exists that the thread may use. It stays idle to others. */
static __attribute__((noinline)) bool idles(struct task_struct *thread, u32 kind)
{
	bool found = 0;
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	u32 count = setup.cpus_of_kind[kind & 1];
	for (u32 i = 0; i < MOST_CPUS && i < count; i++) {
		u32 cpu = setup.of_kind[kind & 1][CPU(i)];
		if (bpf_cpumask_test_cpu(cpu, idle) && may_use(thread, cpu)) {
			found = 1;
			break;
		}
	}
	scx_bpf_put_idle_cpumask(idle);
	return found;
}

/* Finds a fast CPU that the thread may use and that runs a thread of another class, and counts that CPU as taken. */
static __attribute__((noinline)) s32 victim(struct task_struct *thread)
{
	u32 count = setup.cpus_of_kind[FAST];
	for (u32 i = 0; i < MOST_CPUS && i < count; i++) {
		u32 cpu = setup.of_kind[FAST][CPU(i)];
		if (here[CPU(cpu)] <= FAST + 1 || !may_use(thread, cpu))
			continue;
		here[CPU(cpu)] = FAST + 1;
		return cpu;
	}
	return -1;
}

/* Whether a fast CPU that the thread may use runs a thread of another class. */
static __attribute__((noinline)) bool has_victim(struct task_struct *thread)
{
	u32 count = setup.cpus_of_kind[FAST];
	for (u32 i = 0; i < MOST_CPUS && i < count; i++) {
		u32 cpu = setup.of_kind[FAST][CPU(i)];
		if (here[CPU(cpu)] > FAST + 1 && may_use(thread, cpu))
			return 1;
	}
	return 0;
}

/* Puts the thread into the queue of a CPU that it may use, of the kind that its class names. */
static void enqueue_shared(struct task_struct *thread, u32 class, u32 last, u64 flags)
{
	u32 cpu = last;
	if (class < KINDS)
		cpu = setup.nearest[CPU(cpu)][class & 1];
	if (!may_use(thread, cpu))
		cpu = last;
	if (!may_use(thread, cpu))
		cpu = scx_bpf_pick_any_cpu(thread->cpus_ptr, 0);
	add(&told.queued);
	insert(thread, setup.queue_of[CPU(cpu)], slice_of(thread), flags);
}

/* Finds an idle CPU for the thread and claims it: one of its class, else any. */
static s32 place(struct task_struct *thread, u32 class, s32 before)
{
	bool fits = class == ANY || kind_of(before) == class;
	if (fits && may_use(thread, before) && scx_bpf_test_and_clear_cpu_idle(before))
		return before;
	u32 first = class == SLOW ? SLOW : FAST;
	s32 cpu = claim(thread, first);
	if (cpu >= 0)
		return cpu;
	/* A fast thread takes a fast CPU from others before it goes to a slow one. */
	if (class == FAST && has_victim(thread))
		return -1;
	return claim(thread, !first);
}

SEC("struct_ops/select_cpu")
s32 baton_select_cpu(u64 *context)
{
	struct task_struct *thread = (void *)context[0];
	s32 before = context[1];
	s32 cpu = place(thread, class_of(thread), before);
	add(&told.wakes);
	if (cpu < 0)
		return before;
	insert(thread, value(scx_dsq_id_flags, SCX_DSQ_LOCAL), slice_of(thread), 0);
	return cpu;
}

SEC("struct_ops/enqueue")
void baton_enqueue(u64 *context)
{
	struct task_struct *thread = (void *)context[0];
	u64 flags = context[1];
	u32 class = class_of(thread);
	s32 last = scx_bpf_task_cpu(thread);
	u64 local_on = value(scx_dsq_id_flags, SCX_DSQ_LOCAL_ON);
	s32 cpu = place(thread, class, last);
	if (cpu >= 0) {
		add(&told.moves);
		insert(thread, local_on | cpu, slice_of(thread), flags);
		scx_bpf_kick_cpu(cpu, value(scx_kick_flags, SCX_KICK_IDLE));
		return;
	}
	cpu = class == FAST ? victim(thread) : -1;
	if (cpu >= 0) {
		add(&told.preempts);
		insert(thread, local_on | cpu, slice_of(thread), flags | value(scx_enq_flags, SCX_ENQ_PREEMPT));
		return;
	}
	enqueue_shared(thread, class, last, flags);
	/* Its CPU has nothing else to do, and must look at the queues again. */
	if (flags & value(scx_enq_flags, SCX_ENQ_LAST))
		scx_bpf_kick_cpu(last, 0);
}

/* Whether the thread that runs on the CPU is to leave it: another CPU suits it better, or others have more right to this one. */
static bool is_to_leave(struct task_struct *thread, u32 class, u32 cpu)
{
	u32 kind = kind_of(cpu);
	if (class == SLOW && kind == FAST)
		return idles(thread, SLOW) || scx_bpf_dsq_nr_queued(setup.queue_of[CPU(cpu)]) > 0;
	if (class != SLOW && kind == SLOW)
		return idles(thread, FAST) || (class == FAST && has_victim(thread));
	return 0;
}

SEC("struct_ops/tick")
void baton_tick(u64 *context)
{
	struct task_struct *thread = (void *)context[0];
	u32 class = class_of(thread);
	u32 cpu = scx_bpf_task_cpu(thread);
	here[CPU(cpu)] = class + 1;
	if (is_to_leave(thread, class, cpu))
		set_slice(thread, 0);
}

SEC("struct_ops/dispatch")
void baton_dispatch(u64 *context)
{
	u32 cpu = context[0];
	struct task_struct *before = (void *)context[1];
	u32 own = setup.queue_of[CPU(cpu)];
	/* Queues of one kind must not differ in length for ever: every eighth turn begins at another one. */
	u32 turn = ++turns[CPU(cpu)];
	u32 other = setup.order[QUEUE(own)][QUEUE(turn / 8)];
	if (turn % 8 == 0 && other < setup.queues && setup.kind_of_queue[QUEUE(other)] == kind_of(cpu) && take(other))
		return;
	for (u32 i = 0; i < MOST_QUEUES && i < setup.queues; i++) {
		if (take(setup.order[QUEUE(own)][QUEUE(i)])) {
			if (i > 0)
				add(&told.taken);
			return;
		}
	}
	/* Nothing waits: the thread goes on, unless a better CPU idles. The kernel asks `enqueue` then. */
	if (before && (before->scx.flags & value(scx_ent_flags, SCX_TASK_QUEUED)) && !is_to_leave(before, class_of(before), cpu))
		set_slice(before, slice_of(before));
}

SEC("struct_ops/running")
void baton_running(u64 *context)
{
	struct task_struct *thread = (void *)context[0];
	u32 cpu = scx_bpf_task_cpu(thread);
	here[CPU(cpu)] = class_of(thread) + 1;
}

SEC("struct_ops/stopping")
void baton_stopping(u64 *context)
{
	struct task_struct *thread = (void *)context[0];
	u32 cpu = scx_bpf_task_cpu(thread);
	here[CPU(cpu)] = 0;
}

/* The kernel has marked the CPU idle before this call, so either `enqueue` sees the idle CPU, or this the queued thread. */
SEC("struct_ops/update_idle")
void baton_update_idle(u64 *context)
{
	s32 cpu = context[0];
	bool idle = context[1];
	if (!idle)
		return;
	for (u32 i = 0; i < MOST_QUEUES && i < setup.queues; i++) {
		if (scx_bpf_dsq_nr_queued(i) > 0) {
			scx_bpf_kick_cpu(cpu, 0);
			return;
		}
	}
}

/* Another class of the kernel has taken the CPU: what waits for it alone goes elsewhere. */
SEC("struct_ops/cpu_release")
void baton_cpu_release(u64 *context)
{
	scx_bpf_reenqueue_local();
}

/* The number of a thread that has ended will be another one's. */
SEC("struct_ops/exit_task")
void baton_exit_task(u64 *context)
{
	struct task_struct *thread = (void *)context[0];
	u32 key = thread->pid;
	bpf_map_delete_elem(&classes, &key);
}

SEC("struct_ops.s/init")
s32 baton_init(u64 *context)
{
	for (u32 i = 0; i < MOST_QUEUES && i < setup.queues; i++) {
		s32 error = scx_bpf_create_dsq(i, -1);
		if (error)
			return error;
	}
	return 0;
}

SEC("struct_ops/exit")
void baton_exit(u64 *context)
{
	struct scx_exit_info *info = (void *)context[0];
	bpf_probe_read_kernel_str(told.reason, sizeof(told.reason), info->reason);
	bpf_probe_read_kernel_str(told.message, sizeof(told.message), info->msg);
	told.exit_kind = info->kind;
}

/* The loader writes the flags. */
SEC(".struct_ops.link")
struct sched_ext_ops baton = {
	.select_cpu = (void *)baton_select_cpu,
	.enqueue = (void *)baton_enqueue,
	.dispatch = (void *)baton_dispatch,
	.tick = (void *)baton_tick,
	.running = (void *)baton_running,
	.stopping = (void *)baton_stopping,
	.update_idle = (void *)baton_update_idle,
	.cpu_release = (void *)baton_cpu_release,
	.exit_task = (void *)baton_exit_task,
	.init = (void *)baton_init,
	.exit = (void *)baton_exit,
	.name = "baton",
};

char licence[] __attribute__((section("license"), used)) = "Dual MIT/GPL";
