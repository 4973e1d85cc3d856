/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the scheduler uses of the kernel: types, functions and numbers, under the kernel's own names.
 *
 * No header of the kernel is needed. Types have only the members that the scheduler reads or writes;
 * `preserve_access_index` makes libbpf find their places in the running kernel. Functions whose
 * names differ from version to version are weak, and `exists` says which of them the kernel has.
 */
#ifndef BATON_KERNEL_H
#define BATON_KERNEL_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))
#define KFUNC __attribute__((section(".ksyms")))
#define WEAK_KFUNC __attribute__((section(".ksyms"), weak))
#define INLINE static inline __attribute__((always_inline))

/* Whether the running kernel has a weak function. The verifier leaves out the branch that is not taken. */
#define exists(function) (!!(function))
/* The value that a constant of an enum has in the running kernel. */
#define value(type, name) __builtin_preserve_enum_value(*(typeof(enum type) *)name, 1)

/* The parameters of functions are compared with the kernel's, so that a declaration is not enough. */
struct cpumask {
	unsigned long bits[1];
} KERNEL;

struct sched_ext_entity {
	u64 slice;
	u32 flags;
	u32 weight;
} KERNEL;

struct task_struct {
	s32 pid;
	const struct cpumask *cpus_ptr;
	struct sched_ext_entity scx;
} KERNEL;

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
	char *msg;
} KERNEL;

struct scx_exit_task_args;
struct scx_cpu_release_args;

/* The callbacks that the scheduler has. libbpf puts each in its place in the kernel's structure. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *, s32, u64);
	void (*enqueue)(struct task_struct *, u64);
	void (*dispatch)(s32, struct task_struct *);
	void (*tick)(struct task_struct *);
	void (*running)(struct task_struct *);
	void (*stopping)(struct task_struct *, bool);
	void (*update_idle)(s32, bool);
	void (*cpu_release)(s32, struct scx_cpu_release_args *);
	void (*exit_task)(struct task_struct *, struct scx_exit_task_args *);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *);
	u64 flags;
	char name[128];
};

/* Numbers that differ between versions of the kernel are read from it by `value`. */
enum scx_enq_flags { SCX_ENQ_LAST = 1ULL << 41, SCX_ENQ_PREEMPT = 1ULL << 32 };
enum scx_dsq_id_flags { SCX_DSQ_LOCAL = (1ULL << 63) | 2, SCX_DSQ_LOCAL_ON = (1ULL << 63) | (1ULL << 62) };
enum scx_ent_flags { SCX_TASK_QUEUED = 1 };
enum scx_kick_flags { SCX_KICK_IDLE = 1 };

/* Functions for all BPF programs, by their numbers (`include/uapi/linux/bpf.h`). */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;

/* Functions for schedulers. */
extern s32 scx_bpf_create_dsq(u64 dsq, s32 node) KFUNC;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq) KFUNC;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) KFUNC;
extern s32 scx_bpf_pick_any_cpu(const struct cpumask *allowed, u64 flags) KFUNC;
extern const struct cpumask *scx_bpf_get_idle_cpumask(void) KFUNC;
extern void scx_bpf_put_idle_cpumask(const struct cpumask *mask) KFUNC;
extern bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) KFUNC;
extern s32 scx_bpf_task_cpu(const struct task_struct *thread) KFUNC;
extern u32 scx_bpf_reenqueue_local(void) KFUNC;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) KFUNC;

/* From Linux 6.13 on; before, the next two. */
extern void scx_bpf_dsq_insert(struct task_struct *thread, u64 dsq, u64 slice, u64 flags) WEAK_KFUNC;
extern bool scx_bpf_dsq_move_to_local(u64 dsq) WEAK_KFUNC;
/* Linux 6.12, and as deprecated names for some versions more. */
extern void scx_bpf_dispatch(struct task_struct *thread, u64 dsq, u64 slice, u64 flags) WEAK_KFUNC;
extern bool scx_bpf_consume(u64 dsq) WEAK_KFUNC;
/* From Linux 6.19 on; before, the member `slice` is written. */
extern bool scx_bpf_task_set_slice(struct task_struct *thread, u64 slice) WEAK_KFUNC;

/* The description of a map. */
#define NUMBER(name, value) int (*name)[value]
#define TYPE(name, value) typeof(value) *name
enum { BPF_MAP_TYPE_HASH = 1 };

#endif
