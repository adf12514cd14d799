/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The differences between kernel versions, in one place. Each function is named for what it tells.
 * Differences that are not in the fields of types are in bpf/older.bpf.c.
 *
 * A type with ___ in its name stands for the kernel's type of the name before that, with fields
 * that only some kernels have. Whether this kernel has them is decided when the programs are
 * loaded. Whether it supports casts is decided by which of two objects is loaded (bpf/meson.build).
 * tools/check-layers refuses such code elsewhere in bpf/.
 */
#ifndef BPF_KERNEL_VERSIONS_H
#define BPF_KERNEL_VERSIONS_H

#include "bpf/block.h"
#include "bpf/kernel.h"
#include "bpf/thread_state.h"
#include "bpf/uring.h"

/*
 * Byte and mask of the `throttled` flag of task_struct; mask 0: there is none. Capture finds them
 * in BTF, since the field is a bit field on some kernels.
 */
const volatile u32 throttled_offset __weak = 0;
const volatile u8 throttled_mask __weak = 0;

/* Set by capture: whether the tracepoint of completions gives an entry of the queue. */
const volatile bool uring_gives_cqe __weak = true;

/*
 * With KERNEL_CASTS: for kernels that take a number for a pointer to one of their types (6.2
 * and later). What is read through it is a plain load that gives 0 where nothing is; the
 * helper for the same costs five times as much.
 */
#ifdef KERNEL_CASTS
#define KERNEL_CASTS_ON 1
extern void *bpf_rdonly_cast(const void *pointer, u32 type) __ksym __weak;

#define KERNEL_CAST(p) ((typeof(p))bpf_rdonly_cast((p), bpf_core_type_id_kernel(typeof(*(p)))))
#else
#define KERNEL_CASTS_ON 0
#define KERNEL_CAST(p) (p)
#endif

/* Are loads of kernel memory plain ones, or calls? */
static __always_inline bool kernel_loads_are_plain(void)
{
	return KERNEL_CASTS_ON;
}

/* p->a->b of kernel memory, whatever `p` is: KERNEL_READ(p, a, b). 0 if it cannot be read. */
#define KERNEL_READ(p, ...)                                                                        \
	({                                                                                         \
		___type((p), __VA_ARGS__) value_;                                                  \
		if (KERNEL_CASTS_ON)                                                               \
			value_ = ___arrow(KERNEL_CAST(p), __VA_ARGS__);                            \
		else                                                                               \
			value_ = BPF_CORE_READ((p), __VA_ARGS__);                                  \
		value_;                                                                            \
	})

/* The pointer that lies at `at`. */
static __always_inline void *kernel_read_pointer(void *at)
{
	struct list_head *link = at;
	void *value = NULL;

	if (KERNEL_CASTS_ON)
		return KERNEL_CAST(link)->next;
	bpf_probe_read_kernel(&value, sizeof(value), at);
	return value;
}

/* The eight bytes that lie at `at`. */
static __always_inline u64 kernel_read_word(const void *at)
{
	const struct timespec64 *word = at;
	u64 value = 0;

	if (KERNEL_CASTS_ON)
		return KERNEL_CAST(word)->tv_sec;
	bpf_probe_read_kernel(&value, sizeof(value), at);
	return value;
}

/* The running thread, of which that is the address: to ask for it is a call of the kernel. */
static __always_inline struct task_struct *task_running(u64 address)
{
	if (KERNEL_CASTS_ON)
		return KERNEL_CAST((struct task_struct *)address);
	return bpf_get_current_task_btf();
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___6_11 {
	s64 i_ctime_sec;
	u32 i_ctime_nsec;
};

struct inode___6_6 {
	struct timespec64 __i_ctime;
};

struct inode___before_6_6 {
	struct timespec64 i_ctime;
};

struct kernfs_node___6_14 {
	struct kernfs_node *__parent;
};

struct kernfs_node___before_6_14 {
	struct kernfs_node *parent;
};

struct cgroup___6_2 {
	struct bpf_local_storage *bpf_cgrp_storage;
};

struct kernel_clone_args___6_4 {
	u32 user_worker : 1;
};

struct cfs_rq___quotas {
	int throttle_count;
};

struct cfs_rq___groups {
	struct rq *rq;
};

/* A thread on its way to user mode holds this while it does the work of CPU timers. */
struct posix_cputimers_work {
	struct mutex mutex;
};

struct task_struct___cputimers {
	struct posix_cputimers_work posix_cputimers_work;
};

struct linux_binprm___fdpath {
	const char *fdpath; /* as its path, if it was made from a descriptor */
};

struct unix_sock___6_17 {
	int inq_len; /* bytes in the receive queue of a stream */
};

struct proto___before_6_5 {
	void *sendpage;
};

struct bio___cgroups {
	struct blkcg_gq *bi_blkg;
};

struct request_flush {
	struct list_head list;
};

struct request___before_6_5 {
	struct request_flush flush;
};

struct io_kiocb___6_13 {
	struct io_uring_task *tctx;
};

struct io_kiocb___before_6_13 {
	struct task_struct *task;
};

struct io_wq_work {
	u32 flags;
};

struct io_worker___work {
	struct io_wq_work *cur_work;
};

struct io_kiocb___work {
	struct io_wq_work work;
};

#pragma clang attribute pop

/* The field came with the kernel that gives task storage always (and is looked at, likewise, in
 * open.c). */
static __always_inline bool task_storage_is_given(void)
{
	return bpf_core_field_exists(struct cgroup___6_2, bpf_cgrp_storage);
}

/*
 * State of a thread that has no place of its own (bpf/state.h). Task storage comes and goes with
 * the thread, but before 6.2 the kernel gives none at all on a CPU where somebody is just about it:
 * an interrupt in the middle of that sees none, and where the kernel preempts itself, neither does
 * who runs meanwhile. There a hash has it, by the address of the thread. Newer kernels only make
 * none then.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} states SEC(".maps") __weak;

/* Instead of it on older kernels: capture sets max_entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct thread_state);
} states_by_task SEC(".maps") __weak;

/* The begin of a thread's entry in it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct thread_state);
} state_blank SEC(".maps") __weak;

static __noinline struct thread_state *state_apart(struct task_struct *task)
{
	u64 key = (u64)task;

	if (!task_storage_is_given())
		return bpf_map_lookup_elem(&states_by_task, &key);
	return bpf_task_storage_get(&states, task, 0, 0);
}

/*
 * With BPF_ANY what stands there is another thread's. It may not be replaced, as there is no
 * memory, nor be deleted, as the map is in use on this CPU: then it is made blank where it is.
 */
static __always_inline struct thread_state *state_hash(u64 key, u64 flags)
{
	struct thread_state *blank, *state;
	u32 zero = 0;
	long err;

	blank = bpf_map_lookup_elem(&state_blank, &zero);
	if (!blank)
		return NULL;
	err = bpf_map_update_elem(&states_by_task, &key, blank, flags);
	state = bpf_map_lookup_elem(&states_by_task, &key);
	if (err && state && flags == BPF_ANY)
		__builtin_memcpy(state, blank, sizeof(*state));
	return state;
}

/* BPF_ANY: what stands there may be another thread's; BPF_NOEXIST: it is this one's. */
static __always_inline struct thread_state *state_apart_begin(struct task_struct *task, u64 flags)
{
	if (task_storage_is_given())
		return bpf_task_storage_get(&states, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return state_hash((u64)task, flags);
}

static __always_inline void state_apart_drop(struct task_struct *task)
{
	u64 key = (u64)task;

	if (!task_storage_is_given())
		bpf_map_delete_elem(&states_by_task, &key);
}

#define PF_USER_WORKER 0x00004000 /* since 6.4; before, something else */

/* Whether the thread runs kernel code only. Some belong to a process: workers of io_uring, vhost.
 */
static __always_inline bool task_is_kernels(const struct task_struct *task)
{
	u32 flags = PF_KTHREAD | PF_IO_WORKER;

	if (bpf_core_field_exists(struct kernel_clone_args___6_4, user_worker))
		flags |= PF_USER_WORKER;
	return task->flags & flags;
}

#define REALTIME_PRIOS 100

static __always_inline bool task_throttled(struct task_struct *task)
{
	struct cfs_rq___quotas *cfs_rq;

	if (throttled_mask) /* the byte that is read first is the lowest */
		return kernel_read_word((const void *)task + throttled_offset) & throttled_mask;
	if (task->prio < REALTIME_PRIOS) /* its own quota is another one */
		return false;
	cfs_rq = (void *)KERNEL_READ(task, se.cfs_rq);
	if (!cfs_rq || !bpf_core_field_exists(cfs_rq->throttle_count))
		return false;
	return KERNEL_READ(cfs_rq, throttle_count) > 0;
}

/* The address of the run queue of a thread's CPU, as a number; 0: the kernel does not tell. */
static __always_inline u64 task_run_queue(struct task_struct *task)
{
	struct cfs_rq___groups *cfs_rq = (void *)KERNEL_READ(task, se.cfs_rq);

	if (!cfs_rq || !bpf_core_field_exists(cfs_rq->rq))
		return 0;
	return kernel_read_word((const void *)cfs_rq + bpf_core_field_offset(cfs_rq->rq));
}

#define MUTEX_FLAGS 7ul

/* Does the thread look after CPU timers that it made expire? That is no work of its own. */
static __always_inline bool task_runs_cputimers(struct task_struct *task)
{
	struct task_struct___cputimers *has = (void *)task;
	u64 owner;

	if (!bpf_core_field_exists(has->posix_cputimers_work.mutex.owner.counter))
		return false;
	owner = has->posix_cputimers_work.mutex.owner.counter;
	return (owner & ~MUTEX_FLAGS) == (u64)task;
}

/*
 * Reads a text of the program's: its length with the NUL, less than 0 if it cannot be read. Before
 * 6.2 the helper says 0 of one that is empty.
 */
static __always_inline long user_text_read(char *to, u32 size, u64 text)
{
	long n = bpf_probe_read_user_str(to, size, (void *)text);

	return n ? n : 1;
}

static __always_inline bool exec_is_from_fd(struct linux_binprm *bprm)
{
	struct linux_binprm___fdpath *has = (void *)bprm;

	return bpf_core_field_exists(has->fdpath) && BPF_CORE_READ(has, fdpath);
}

#define CTIME_NSEC 0x3fffffff /* above it kernels keep a flag */

/* When anything of the file was changed last; left alone if it does not say. */
static __always_inline void inode_changed(struct inode *inode, s64 *s, u32 *ns)
{
	struct inode___before_6_6 *older = (void *)inode;
	struct inode___6_6 *old = (void *)inode;
	struct inode___6_11 *new = (void *)inode;

	if (bpf_core_field_exists(new->i_ctime_sec)) {
		*s = BPF_CORE_READ(new, i_ctime_sec);
		*ns = BPF_CORE_READ(new, i_ctime_nsec) & CTIME_NSEC;
	} else if (bpf_core_field_exists(old->__i_ctime)) {
		*s = BPF_CORE_READ(old, __i_ctime.tv_sec);
		*ns = BPF_CORE_READ(old, __i_ctime.tv_nsec) & CTIME_NSEC;
	} else if (bpf_core_field_exists(older->i_ctime)) {
		*s = BPF_CORE_READ(older, i_ctime.tv_sec);
		*ns = BPF_CORE_READ(older, i_ctime.tv_nsec) & CTIME_NSEC;
	}
}

/* Functions of their own, or clang takes a field's offset where the kernel has no such field. */
static __noinline __attribute__((unused)) struct kernfs_node *
kernfs_parent_6_14(struct kernfs_node___6_14 *kn)
{
	return BPF_CORE_READ(kn, __parent);
}

static __noinline __attribute__((unused)) struct kernfs_node *
kernfs_parent_before(struct kernfs_node___before_6_14 *kn)
{
	return BPF_CORE_READ(kn, parent);
}

static __always_inline struct kernfs_node *kernfs_parent(struct kernfs_node *kn)
{
	struct kernfs_node___6_14 *new = (void *)kn;

	if (bpf_core_field_exists(new->__parent))
		return kernfs_parent_6_14(new);
	return kernfs_parent_before((void *)kn);
}

/* Bytes in the receive queue of a stream that is not empty; less than 0: not known. */
static __always_inline s64 unix_stream_queued(const struct unix_sock *sk)
{
	const struct unix_sock___6_17 *has = (const void *)sk;

	return bpf_core_field_exists(has->inq_len) ? has->inq_len : -1;
}

#define SOCK_BINDPORT_LOCK 8

/* Whether the program chose the port of the socket. A bit field on older kernels. */
static __always_inline bool sock_port_is_chosen(struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD_PROBED(sk, sk_userlocks) & SOCK_BINDPORT_LOCK;
}

/* Is a page that is sent on the socket no message to its protocol? */
static __always_inline bool sock_takes_pages(const struct sock *sk)
{
	const struct proto___before_6_5 *has = (const void *)sk->__sk_common.skc_prot;

	return bpf_core_field_exists(has->sendpage) && BPF_CORE_READ(has, sendpage);
}

/* kernfs id of the cgroup that the bio is charged to; 0: kernels without control of block I/O. */
static __always_inline u64 bio_cgroup(struct bio *bio)
{
	struct bio___cgroups *has = (void *)bio;

	if (!bpf_core_field_exists(has->bi_blkg))
		return 0;
	return BPF_CORE_READ(has, bi_blkg, blkcg, css.cgroup, kn, id);
}

/* The offset in a request of the link by which it waits for a flush. */
static __always_inline u32 request_flush_link(void)
{
	if (bpf_core_field_exists(struct request___before_6_5, flush.list))
		return bpf_core_field_offset(struct request___before_6_5, flush.list);
	return bpf_core_field_offset(struct request, queuelist);
}

/* The thread that submitted a request to io_uring; `otherwise` if the request does not tell. */
static __always_inline struct task_struct *uring_submitter(struct io_kiocb *req,
							   struct task_struct *otherwise)
{
	struct io_kiocb___before_6_13 *old = (void *)req;
	struct io_kiocb___6_13 *new = (void *)req;

	if (bpf_core_field_exists(new->tctx))
		return BPF_CORE_READ(new, tctx, task);
	if (bpf_core_field_exists(old->task))
		return BPF_CORE_READ(old, task);
	return otherwise;
}

/* The result of a request, of the arguments of the tracepoint of its completion. */
static __always_inline s32 uring_result(u64 *args)
{
	if (uring_gives_cqe)
		return BPF_CORE_READ((struct io_uring_cqe *)args[2], res);
	return args[3];
}

/* The request that a worker of io_uring carries out; NULL: none, or not known. */
static __always_inline struct io_kiocb *uring_worked_on(struct task_struct *task)
{
	struct io_worker___work *worker = KERNEL_READ(task, worker_private);
	struct io_kiocb___work *request = NULL;
	struct io_wq_work *work;

	if (!worker || !bpf_core_field_exists(worker->cur_work) ||
	    !bpf_core_field_exists(request->work))
		return NULL;
	work = KERNEL_READ(worker, cur_work);
	if (!work)
		return NULL;
	return (void *)work - bpf_core_field_offset(request->work);
}

#endif
