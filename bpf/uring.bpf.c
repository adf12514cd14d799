// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Requests to an io_uring, from submission to completion. The span is that of the submitter at the
 * begin of its io_uring_enter, or now if that was not seen. Requests that the kernel's polling
 * thread submits have none. The completion may run on any thread of the process. A request is known
 * by its address while it is in flight.
 */
#include "bpf/uring.h"
#include "bpf/context.h"
#include "bpf/interrupt.h"
#include "bpf/kernel_versions.h"
#include "bpf/path.h"
#include "bpf/ring.h"
#include "bpf/socket.h"
#include "bpf/told.h"
#include "record/uring.h"

char LICENSE[] SEC("license") = "GPL";

#define URING_IN_FLIGHT 16384
#define URING_THINNED 8 /* one of so many is dropped if there are too many */
#define REQUEST_FIXED_FILE 1
#define OP_CONNECT 16
#define E2BIG 7
#define SLOT_ANY 0xffffffff

#define U(nr, name, fd) [nr] = fd,
const u8 uring_fds[URING_OPS] = {RECORD_URING_OPS(U)};
#undef U

extern const volatile bool record_files;

struct uring_open {
	u64 begin_ns;
	struct context ctx;
	u32 tid, pid;
	s32 fd;
	u32 flags; /* URING_* */
	u32 opcode;
	u32 submit_flags;
};

/*
 * By address of the request. Some are not seen to complete, since their completion is skipped or
 * finds the queue full. They are replaced when the address is used again. See uring_make_room().
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, URING_IN_FLIGHT);
	__type(key, u64);
	__type(value, struct uring_open);
} uring_requests SEC(".maps");

bool uring_was_kept; /* one was put there */

/* Files in slots that were told, by address. The identity is the inode number. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TOLD_MAX);
	__type(key, u64);
	__type(value, struct told);
} told_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_scratch);
} uring_paths SEC(".maps");

static __always_inline void uring_emit(const struct uring_open *open, s32 result,
				       const struct file_ref *file)
{
	struct {
		struct record_uring r;
		u64 rest[5];
	} out = {};
	struct record_uring *r = &out.r;
	u32 n = context_is_set(&open->ctx) ? 2 : 1;
	struct ring_place place;

	if (ring_reserve(&place, n, RECORD_uring))
		return;
	r->head.kind = RECORD_uring;
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.tid = open->tid;
	r->head.pid = open->pid;
	r->opcode = open->opcode;
	r->flags = open->flags;
	r->fd = open->fd;
	if (open->begin_ns)
		r->duration_ns = r->head.time_ns - open->begin_ns;
	r->result = result;
	r->submit_flags = open->submit_flags;
	if (file)
		r->file = *file;
	r->ctx = open->ctx;
	ring_publish(&place, r, n);
}

static __always_inline void uring_fill(struct uring_open *open, struct io_kiocb *req)
{
	u64 flags = BPF_CORE_READ(req, flags);
	u32 opcode = BPF_CORE_READ(req, opcode);

	open->opcode = opcode;
	open->submit_flags = flags & 0xff; /* these are the same bits */
	open->fd = -1;
	BOUND(opcode, 63);
	if (uring_fds[opcode] & URING_FD_USES) {
		open->fd = BPF_CORE_READ(req, cqe.fd);
		if (flags & REQUEST_FIXED_FILE)
			open->flags |= URING_DIRECT;
	}
}

struct uring_thinning {
	u32 phase, gone;
};

static long uring_thin(void *map, const u64 *key, void *value, struct uring_thinning *t)
{
	if (t->phase++ % URING_THINNED == 0 && bpf_map_delete_elem(map, key) == 0)
		t->gone++;
	return 0;
}

/*
 * Drops one request of a few, any of them. This is rare, and in the end drops requests that never
 * complete. Its begin is counted as missing here: if it completes later, it looks like a request
 * that was submitted before recording began.
 */
static __noinline int uring_make_room(void)
{
	struct uring_thinning t = {.phase = bpf_get_prandom_u32() % URING_THINNED};

	bpf_for_each_map_elem(&uring_requests, uring_thin, &t, 0);
	ring_count_incompletes(t.gone);
	return 0;
}

static __always_inline void uring_keep(u64 key, const struct uring_open *open)
{
	long err = bpf_map_update_elem(&uring_requests, &key, open, BPF_ANY);

	if (!uring_was_kept)
		uring_was_kept = true;
	if (err == -E2BIG) {
		uring_make_room();
		err = bpf_map_update_elem(&uring_requests, &key, open, BPF_ANY);
	}
	if (err)
		ring_count_incomplete();
}

/* The address belongs to a new request, so the request that had it before has ended. */
static __always_inline void uring_forget(u64 key)
{
	struct uring_open *before;

	if (!uring_was_kept)
		return;
	before = bpf_map_lookup_elem(&uring_requests, &key);
	if (!before)
		return;
	before->flags |= URING_END_UNKNOWN;
	uring_emit(before, 0, NULL);
	bpf_map_delete_elem(&uring_requests, &key);
}

static __always_inline int uring_begin(struct io_kiocb *req, bool failed)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);
	struct uring_open open = {};
	u64 key = (u64)req;

	uring_forget(key);
	if (!state_in(state))
		return 0;
	open.tid = task->pid;
	open.pid = task->tgid;
	if (task->flags & PF_IO_WORKER) {
		open.flags = URING_SQPOLL;
	} else {
		context_now(state, task);
		open.ctx = state->ctx;
	}
	if (spans_only && !context_is_set(&open.ctx))
		return 0;
	uring_fill(&open, req);
	if (failed) /* it was refused before its descriptor was looked at */
		open.fd = -1;
	open.begin_ns = bpf_ktime_get_ns();
	uring_keep(key, &open);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(io_uring_submit_req, struct io_kiocb *req)
{
	return uring_begin(req, false);
}

int uring_submitted(const u64 *address)
{
	return address ? uring_begin((struct io_kiocb *)*address, false) : 0;
}

SEC("tp_btf/io_uring_req_failed")
int BPF_PROG(io_uring_req_failed, const void *sqe, struct io_kiocb *req)
{
	return uring_begin(req, true);
}

/* Fills in a request whose submission was not seen, or was dropped. False: it is out of scope. */
static __always_inline bool uring_unseen(struct uring_open *open, struct io_kiocb *req)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (spans_only || !state_in(state_of(task)))
		return false;
	task = uring_submitter(req, task);
	open->tid = BPF_CORE_READ(task, pid);
	open->pid = BPF_CORE_READ(task, tgid);
	uring_fill(open, req);
	open->fd = -1; /* other data is there by now */
	open->flags = URING_BEGIN_UNKNOWN;
	return true;
}

/* The slot that a new file got, from 1; 0: the file has a descriptor. */
static __always_inline u32 uring_slot(struct io_kiocb *req, u32 opcode)
{
	switch (opcode) {
	case 13: /* accept */
		return BPF_CORE_READ((struct io_accept *)req, file_slot);
	case 18: /* openat, openat2 */
	case 28:
		return BPF_CORE_READ((struct io_open *)req, file_slot);
	case 45: /* socket */
		return BPF_CORE_READ((struct io_socket *)req, file_slot);
	}
	return 0;
}

/*
 * Records the name of a file, and the addresses of a socket. fd -1: it is in a slot. Whether there
 * was room; if not, the loss is counted if `counts`.
 */
static __always_inline bool uring_name(const struct uring_open *open, struct file *file, s32 fd,
				       bool counts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct path_scratch *scratch;
	bool named, told = true;
	u32 zero = 0;
	u64 bytes;

	scratch = bpf_map_lookup_elem(&uring_paths, &zero);
	if (!scratch)
		return false;
	fd_fill(scratch, task, file, fd, FD_open);
	scratch->r.head.tid = open->tid;
	scratch->r.head.pid = open->pid;
	named = rare_try(&scratch->r.head, fd_bytes(&scratch->r));
	bytes = socket_fill((struct socket_scratch *)scratch, task, file);
	if (bytes)
		told = rare_try(&scratch->r.head, bytes);
	if (counts && !named)
		ring_count_lost(RECORD_fd);
	if (counts && !told)
		ring_count_lost(RECORD_socket);
	return named && told;
}

static __always_inline void uring_closes(const struct uring_open *open, s32 fd)
{
	struct {
		u8 bytes[128];
	} out = {};
	struct record_fd *r = (void *)&out;

	r->head.kind = RECORD_fd;
	r->head.tid = open->tid;
	r->head.pid = open->pid;
	r->fd = fd;
	r->from = -1;
	r->op = FD_close;
	rare_emit(&r->head, 64);
}

/* Records descriptors that a request made or closed, and files that are only in a slot. */
static __always_inline void uring_files(const struct uring_open *open, struct io_kiocb *req,
					s32 result, const struct file_ref *ref)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct told now = told_now(ref->key), *told = NULL;
	struct file *file = NULL;
	u32 opcode = open->opcode;
	u64 slot_file = 0;
	s32 fd = -1;

	BOUND(opcode, 63);
	if (result < 0 || (u32)task->tgid != open->pid)
		return;
	if ((uring_fds[opcode] & URING_FD_OPENS) && !uring_slot(req, opcode)) {
		fd = result;
		file = file_of_fd(task, fd);
	} else if (uring_fds[opcode] == URING_FD_CLOSES) {
		if (!BPF_CORE_READ((struct io_close *)req, file_slot))
			uring_closes(open, BPF_CORE_READ((struct io_close *)req, fd));
		return;
	} else if (ref->kind && opcode == OP_CONNECT) {
		file = BPF_CORE_READ(req, file);
	} else if (ref->kind && (open->flags & URING_DIRECT)) {
		file = BPF_CORE_READ(req, file);
		slot_file = (u64)file;
		told = bpf_map_lookup_elem(&told_files, &slot_file);
		if (!told_is_due(told, &now))
			return;
	}
	if (!file)
		return;
	now.missed = !uring_name(open, file, fd, !told_same(told, &now));
	if (slot_file)
		bpf_map_update_elem(&told_files, &slot_file, &now, BPF_ANY);
}

/* Notes what the kernel thread that polls the queue serves, as the cause of its wake-ups. */
static __always_inline void uring_is_served(const struct file_ref *file)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct interrupt_state *interrupt;

	if (!(task->flags & PF_IO_WORKER))
		return;
	interrupt = interrupt_serving();
	if (interrupt)
		interrupt->file = *file;
}

SEC("tp_btf/io_uring_complete")
int io_uring_complete(u64 *args)
{
	struct io_kiocb *req = (void *)args[1];
	struct uring_open *found, open = {};
	struct file_ref ref = {};
	u64 key = (u64)req;
	struct file *file;
	u32 opcode, slot;
	s32 result;

	if (!req) /* a request with several completions goes on */
		return 0;
	found = bpf_map_lookup_elem(&uring_requests, &key);
	if (found) {
		open = *found;
		bpf_map_delete_elem(&uring_requests, &key);
	} else if (!uring_unseen(&open, req)) {
		return 0;
	}
	result = uring_result(args);
	opcode = open.opcode;
	BOUND(opcode, 63);
	slot = uring_fds[opcode] == URING_FD_OPENS ? uring_slot(req, opcode) : 0;
	if (slot) { /* chosen by the program or by the kernel */
		open.flags |= URING_DIRECT;
		open.fd = slot == SLOT_ANY ? result : (s32)slot - 1;
	}
	file = uring_fds[opcode] & URING_FD_USES ? BPF_CORE_READ(req, file) : NULL;
	if (file) {
		file_fill(&ref, file);
		uring_is_served(&ref);
	}
	if (record_files)
		uring_files(&open, req, result, &ref);
	uring_emit(&open, result, &ref);
	return 0;
}
