/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_TID 100
#define EXEC_PID 120 /* of a process whose second thread runs a program */

struct actor {
	struct simulation *s;
	struct simulated_thread *thread;
	u64 now;
	u64 on_since; /* when it last got the CPU, or returned to user code */
	u64 spans[8]; /* ids of the open spans, innermost last */
	int depth;
	bool unborn; /* it has not run yet */
};

u64 simulation_random(struct simulation *s, u64 below)
{
	s->random = hash_u64(s->random + 0x9e3779b97f4a7c15u);
	return s->random % below;
}

static u64 some(struct actor *a, u64 below)
{
	return 1 + simulation_random(a->s, below);
}

/* What happens at once happens on one CPU. */
static u16 cpu_of(u64 time_ns)
{
	return (u16)(hash_u64(time_ns) % 4);
}

static void emit(struct actor *a, void *record, size_t bytes, u8 kind, u64 time_ns)
{
	struct simulation *s = a->s;
	struct record_head *head = record;
	static const char zero[8];

	head->kind = kind;
	head->time_ns = time_ns;
	head->cpu = cpu_of(time_ns);
	vec_push(&s->records, (struct simulated_record){time_ns, s->records.count, s->bytes.count});
	bytes_put(&s->bytes, record, bytes);
	bytes_put(&s->bytes, zero, (8 - bytes % 8) % 8);
}

static void run(struct actor *a, enum split_part part, u64 ns)
{
	a->now += ns;
	a->thread->truth.ns[part] += (s64)ns;
	if (a->depth || a->unborn)
		a->thread->under.ns[part] += (s64)ns;
}

struct call {
	u16 nr, file_kind;
	u8 part;
};

static const struct call calls[] = {
	{230, 0, SPLIT_timer},		/* clock_nanosleep */
	{0, FILE_KIND_pipe, SPLIT_ipc}, /* read */
	{61, 0, SPLIT_child},		/* wait4 */
	{0, FILE_KIND_tcp, SPLIT_network},
};

static struct record_head head_of(struct actor *a)
{
	return (struct record_head){.tid = a->thread->tid, .pid = a->thread->pid};
}

static void enters(struct actor *a)
{
	struct record_switch sw = {.next_tid = a->thread->tid};

	emit(a, &sw, sizeof(sw), RECORD_switch, a->now);
	a->on_since = a->now;
}

static void leaves(struct actor *a, u8 state, u8 mode, u64 visit, const struct call *call)
{
	struct record_switch sw = {.head = head_of(a), .state = state, .mode = mode};

	if (visit)
		sw.since_ns = a->now - visit;
	if (call && mode == MODE_syscall) {
		sw.nr = call->nr;
		sw.file.kind = call->file_kind;
		sw.file.key = 7;
	}
	emit(a, &sw, sizeof(sw), RECORD_switch, a->now);
}

static void preempted(struct actor *a, u8 mode, u64 visit, const struct call *call)
{
	leaves(a, LEAVE_preempted, mode, visit, call);
	run(a, SPLIT_runnable, some(a, 300));
	enters(a);
}

/*
 * The stack of a wait that just ended, of the kernel or of the program, and now and
 * then what lies there: libraries come and go, and lap over.
 */
static void tells_stack(struct actor *a, u64 since_ns)
{
	u32 flags = 1 + (u32)simulation_random(a->s, 2);
	struct record_stack r = {.head = head_of(a), .flags = flags, .since_ns = since_ns};
	struct record_mapping m = {.since_ns = a->now,
				   .begin = 4096 * simulation_random(a->s, 3),
				   .offset = simulation_random(a->s, 100),
				   .path_len = 8};
	u64 address = simulation_random(a->s, 20000);

	m.end = m.begin + 8192;
	memcpy(m.path, flags & STACK_KERNEL ? "[k]\0\0fun" : "/lib\0abc", m.path_len);
	if (flags & STACK_USER)
		m.head = head_of(a);
	else
		m.since_ns = 0;
	r.words = (u32)simulation_random(a->s, 2);
	r.frames_len = 16;
	memcpy(r.frames, &address, 8);
	memcpy(r.frames + 8, &a->now, 8);
	if (simulation_random(a->s, 2))
		emit(a, &m, sizeof(m), RECORD_mapping, a->now);
	emit(a, &r, sizeof(r), RECORD_stack, a->now);
}

/* Asleep in a visit or, with MODE_user, stopped; the waking may carry an earlier time. */
static void sleeps(struct actor *a, u8 mode, u64 visit, const struct call *call, u8 part)
{
	struct record_waking w = {.head = head_of(a), .waker_tid = 1, .context = WAKE_task};
	u64 left = a->now, on_since = visit > a->on_since ? visit : a->on_since;

	if (call == &calls[0])
		w.context = WAKE_timer;
	leaves(a, mode == MODE_user ? LEAVE_stopped : LEAVE_sleep, mode, visit, call);
	if (on_since < left && simulation_random(a->s, 3) == 0) {
		u64 early = left - simulation_random(a->s, left - on_since);

		emit(a, &w, sizeof(w), RECORD_waking, early);
	} else {
		run(a, part, some(a, 2000));
		if (simulation_random(a->s, 3) == 0)
			tells_stack(a, left); /* as at a cut: it goes on */
		run(a, part, some(a, 100));
		emit(a, &w, sizeof(w), RECORD_waking, a->now);
	}
	run(a, SPLIT_runnable, some(a, 100));
	enters(a);
	tells_stack(a, left);
}

/* A waking of a thread that does not go to sleep after all: it must change nothing. */
static void woken_in_vain(struct actor *a)
{
	struct record_waking w = {.head = head_of(a), .waker_tid = 1, .context = WAKE_task};

	run(a, SPLIT_kernel, 1);
	emit(a, &w, sizeof(w), RECORD_waking, a->now);
	run(a, SPLIT_kernel, 1);
}

static void does_syscall(struct actor *a)
{
	const struct call *call = &calls[simulation_random(a->s, 4)];
	struct record_syscall r = {.head = head_of(a), .nr = call->nr};
	u64 begin = a->now;

	run(a, SPLIT_kernel, some(a, 500));
	for (u64 n = simulation_random(a->s, 4); n > 0; n--) {
		if (simulation_random(a->s, 4) == 0)
			preempted(a, MODE_syscall, begin, call);
		else
			sleeps(a, MODE_syscall, begin, call, call->part);
		run(a, SPLIT_kernel, some(a, 500));
	}
	if (simulation_random(a->s, 3) == 0)
		woken_in_vain(a);
	r.duration_ns = a->now - begin;
	r.result = simulation_random(a->s, 5) ? 1 : -2;
	r.file.kind = call->file_kind;
	r.file.key = call->file_kind ? 7 : 0;
	if (a->depth)
		memcpy(r.ctx.span, &a->spans[a->depth - 1], 8);
	emit(a, &r, sizeof(r), RECORD_syscall, a->now);
	a->on_since = a->now;
}

static void does_fault(struct actor *a)
{
	struct record_fault r = {.head = head_of(a), .flags = FAULT_USER};
	u64 begin = a->now;

	run(a, SPLIT_kernel, some(a, 200));
	if (simulation_random(a->s, 2)) {
		sleeps(a, MODE_fault, begin, NULL, SPLIT_fault);
		run(a, SPLIT_kernel, some(a, 200));
	}
	r.duration_ns = a->now - begin;
	emit(a, &r, sizeof(r), RECORD_fault, a->now);
	a->on_since = a->now;
}

static void does_span(struct actor *a)
{
	u64 id = hash_u64(a->now * 4096 + a->thread->tid);

	a->on_since = a->now;
	if (a->depth < 8 && simulation_random(a->s, 2)) {
		struct record_span_begin r = {
			.head = head_of(a), .flags = 1, .name_len = 4, .name = "span"};
		r.parent = a->depth ? a->spans[a->depth - 1] : 0;
		memcpy(r.ctx.span, &id, 8);
		a->spans[a->depth++] = id;
		emit(a, &r, sizeof(r), RECORD_span_begin, a->now);
	} else if (a->depth) {
		struct record_span_end r = {.head = head_of(a), .flags = 1};

		memcpy(r.ctx.span, &a->spans[--a->depth], 8);
		if (a->depth)
			memcpy(r.next.span, &a->spans[a->depth - 1], 8);
		emit(a, &r, sizeof(r), RECORD_span_end, a->now);
	}
}

static void tells(struct actor *a, const struct context *ctx, u8 of_event)
{
	struct record_span_attribute r = {
		.head = head_of(a), .type = ATTRIBUTE_integer, .of_event = of_event, .ctx = *ctx};

	r.value = a->now;
	r.key_len = r.text_len = (u16)snprintf(r.text, sizeof(r.text), "by %u", a->thread->tid);
	emit(a, &r, sizeof(r), RECORD_span_attribute, a->now);
	a->on_since = a->now;
}

/* Says something about its own span, or about one that all threads have. */
static void does_tell(struct actor *a)
{
	struct context ctx = {.span = {0xee}};
	struct record_span_event r = {.head = head_of(a), .level = 6};

	if (a->depth && simulation_random(a->s, 2))
		memcpy(ctx.span, &a->spans[a->depth - 1], 8);
	r.ctx = ctx;
	r.name_len = (u16)snprintf(r.name, sizeof(r.name), "event of %u", a->thread->tid);
	emit(a, &r, sizeof(r), RECORD_span_event, a->now);
	a->on_since = a->now;
	for (u64 n = simulation_random(a->s, 4); n > 0; n--) {
		run(a, SPLIT_user, some(a, 2000)); /* others come in between */
		tells(a, &ctx, 1);
	}
	if (simulation_random(a->s, 2))
		tells(a, &ctx, 0);
}

/* A tracepoint; now and then, as at the begin of a chunk, how to read it. */
static void does_event(struct actor *a)
{
	struct record_event r = {.head = head_of(a), .format = 1 + (u32)simulation_random(a->s, 3)};
	struct record_format f = {.format = r.format};

	if (simulation_random(a->s, 4) == 0) {
		f.text_len = 13 + (u16)simulation_random(a->s, 2); /* now and then another one */
		memcpy(f.text, "sim:tick\0line\n", f.text_len);
		emit(a, &f, sizeof(f), RECORD_format, a->now);
	}
	r.payload_len = 4 + (u16)simulation_random(a->s, 9);
	memset(r.payload, (int)simulation_random(a->s, 256), r.payload_len);
	if (a->depth)
		memcpy(r.ctx.span, &a->spans[a->depth - 1], 8);
	else if (simulation_random(a->s, 4) == 0)
		r.ctx.span[0] = 1; /* a span that nothing else tells of */
	emit(a, &r, sizeof(r), RECORD_event, a->now);
}

/* A descriptor comes, is copied, marked or goes; now and then the thread parts with its table. */
static void does_files(struct actor *a)
{
	static const u8 ops[] = {FD_open,    FD_open,	     FD_open,	  FD_dup,    FD_close,
				 FD_cloexec, FD_close_range, FD_snapshot, FD_unshare};
	struct record_fd r = {.head = head_of(a), .fd = 3 + (s32)simulation_random(a->s, 6)};

	r.op = ops[simulation_random(a->s, sizeof(ops))];
	r.from = -1;
	r.flags = simulation_random(a->s, 2) ? FD_CLOEXEC_SET : 0;
	if (r.op == FD_dup)
		r.from = 3 + (s32)simulation_random(a->s, 6);
	if (r.op == FD_close_range || (r.op == FD_cloexec && simulation_random(a->s, 2)))
		r.from = r.fd + (s32)simulation_random(a->s, 3);
	if (r.op == FD_unshare)
		r.fd = -1;
	if (r.op == FD_open || r.op == FD_snapshot) {
		r.file.kind = FILE_KIND_regular;
		r.file.key = 1 + simulation_random(a->s, 50);
		r.path_len = (u16)snprintf(r.path, sizeof(r.path), "/file/%llu",
					   (unsigned long long)r.file.key);
	}
	emit(a, &r, sizeof(r), RECORD_fd, a->now);
}

static void does_exec(struct actor *a)
{
	struct record_exec r = {.head = head_of(a), .command_len = 4, .command = "exec"};

	if (a->thread->tid == a->thread->pid)
		emit(a, &r, sizeof(r), RECORD_exec, a->now);
}

/* A request that was submitted some time ago: it takes nothing from the thread. */
static void does_request(struct actor *a)
{
	struct record_uring r = {.head = head_of(a), .opcode = 22 + (u8)simulation_random(a->s, 3)};

	r.duration_ns = simulation_random(a->s, a->now - a->thread->begin_ns + 1);
	r.result = simulation_random(a->s, 4) ? 4096 : -5;
	r.file.kind = FILE_KIND_regular;
	r.file.key = 1 + simulation_random(a->s, 4);
	if (a->depth)
		memcpy(r.ctx.span, &a->spans[a->depth - 1], 8);
	emit(a, &r, sizeof(r), RECORD_uring, a->now);
}

/* A request to a disk that this thread submitted some time ago; likewise. */
static void does_block(struct actor *a)
{
	struct record_block r = {.head = head_of(a), .dev = 8 << 20, .bytes = 4096};
	u64 since = simulation_random(a->s, a->now - a->thread->begin_ns + 1);

	r.queued_ns = simulation_random(a->s, since + 1);
	r.duration_ns = since - r.queued_ns;
	r.sector = simulation_random(a->s, 1000);
	r.flags = (u32)simulation_random(a->s, 64);
	if (a->depth)
		memcpy(r.ctx.span, &a->spans[a->depth - 1], 8);
	emit(a, &r, sizeof(r), RECORD_block, a->now);
}

/*
 * A call that sends or receives once or twice on a connection, the streams of
 * which the simulation counts; now and then the addresses are told.
 */
static void does_bytes(struct actor *a)
{
	struct record_bytes b = {.head = head_of(a),
				 .direction = (u8)simulation_random(a->s, 2),
				 .file.kind = FILE_KIND_tcp};
	struct record_socket n = {.head = head_of(a), .family = 2, .remote_port = 80};
	struct record_syscall r = {.head = head_of(a), .nr = b.direction == BYTES_SENT ? 44 : 45};
	u64 begin = a->now, connection = simulation_random(a->s, SIMULATED_CONNECTIONS);

	b.file.key = SIMULATED_SOCKET + connection;
	n.file = r.file = b.file;
	for (u64 times = some(a, 2); times > 0; times--) {
		run(a, SPLIT_kernel, some(a, 200));
		b.from = a->s->streams[connection][b.direction];
		b.length = some(a, 3000);
		a->s->streams[connection][b.direction] += b.length;
		emit(a, &b, sizeof(b), RECORD_bytes, a->now);
	}
	run(a, SPLIT_kernel, some(a, 100));
	r.duration_ns = a->now - begin;
	r.result = (s64)b.length;
	emit(a, &r, sizeof(r), RECORD_syscall, a->now);
	a->on_since = a->now;
	if (simulation_random(a->s, 3) == 0) {
		n.peer = simulation_random(a->s, 2) ? b.file.key ^ 1 : 0;
		emit(a, &n, sizeof(n), RECORD_socket, a->now);
	}
}

/* Its process moves in one of two hierarchies, or is found there; now and then with the name. */
static void does_move(struct actor *a)
{
	struct record_cgroup_attach r = {.head = {.tid = a->thread->pid, .pid = a->thread->pid}};
	struct record_cgroup name = {.id = 1 + simulation_random(a->s, 4)};

	name.hierarchy = r.hierarchy = (u32)simulation_random(a->s, 2);
	r.cgroup = name.id;
	r.flags = simulation_random(a->s, 3) ? 0 : CGROUP_FOUND;
	name.path_len = (u16)snprintf(name.path, sizeof(name.path), "%s/%064llu",
				      name.hierarchy ? "/longer" : "",
				      (unsigned long long)(10 * name.id + name.hierarchy));
	if (name.id > 1 && simulation_random(a->s, 3) == 0)
		emit(a, &name, sizeof(name), RECORD_cgroup, a->now);
	emit(a, &r, sizeof(r), RECORD_cgroup_attach, a->now);
}

static void act(struct actor *a)
{
	run(a, SPLIT_user, some(a, 1000));
	switch (simulation_random(a->s, 20)) {
	case 0:
		preempted(a, MODE_user, 0, NULL);
		break;
	case 1:
		does_fault(a);
		break;
	case 2:
		does_span(a);
		break;
	case 3: /* whether it was woken in a call that is left out cannot be told then */
		if (a->s->filters & FILTER_SYSCALLS)
			preempted(a, MODE_user, 0, NULL);
		else
			sleeps(a, MODE_user, 0, NULL, SPLIT_other);
		break;
	case 4:
	case 5:
		does_event(a);
		break;
	case 6:
	case 7:
		does_files(a);
		break;
	case 8:
		does_request(a);
		break;
	case 9:
		does_exec(a);
		break;
	case 10:
	case 11:
		does_bytes(a);
		break;
	case 12:
	case 13:
		does_tell(a);
		break;
	case 14:
		does_block(a);
		break;
	case 15:
		does_move(a);
		break;
	default:
		does_syscall(a);
	}
}

/* Asleep in a call when recording begins: the snapshot says so, and its exit has a soft begin. */
static void was_in_call(struct actor *a)
{
	const struct call *call = &calls[simulation_random(a->s, 4)];
	struct record_thread th = {
		.head = head_of(a), .start_ns = a->thread->start_ns, .mode = MODE_syscall};
	struct record_waking w = {.head = head_of(a), .waker_tid = 1, .context = WAKE_task};
	struct record_syscall r = {.head = head_of(a), .nr = call->nr, .flags = SYSCALL_BEGIN_SOFT};
	u64 begin = a->now;

	th.nr = r.nr;
	th.state = LEAVE_sleep;
	th.file.kind = r.file.kind = call->file_kind;
	th.file.key = r.file.key = call->file_kind ? 7 : 0;
	run(a, call->part, some(a, 500));
	th.since_ns = a->now - begin;
	emit(a, &th, sizeof(th), RECORD_thread, a->now);
	run(a, call->part, some(a, 2000));
	if (call == &calls[0])
		w.context = WAKE_timer;
	emit(a, &w, sizeof(w), RECORD_waking, a->now);
	run(a, SPLIT_runnable, some(a, 100));
	enters(a);
	run(a, SPLIT_kernel, some(a, 500));
	r.duration_ns = a->now - begin;
	emit(a, &r, sizeof(r), RECORD_syscall, a->now);
	a->on_since = a->now;
}

/* It begins to end; now and then the record of its last switch was lost. */
static void dies(struct actor *a)
{
	struct record_exit r = {.head = head_of(a), .code = 256 * (s32)simulation_random(a->s, 3)};

	if (simulation_random(a->s, 2)) {
		preempted(a, MODE_user, 0, NULL);
		emit(a, &r, sizeof(r), RECORD_exit, a->now);
	} else {
		emit(a, &r, sizeof(r), RECORD_exit, a->now);
		leaves(a, LEAVE_dead, MODE_user, 0, NULL);
	}
	a->thread->end_ns = a->now;
}

/* Half of the threads are born here, of the others half were asleep in a call. */
static void live(struct actor *a, int actions)
{
	struct simulated_thread *t = a->thread;

	t->start_ns = t->born ? a->now : 5 + t->tid;
	if (t->born) {
		struct record_fork f = {.head = head_of(a),
					.parent_tid = 1,
					.parent_pid = 1,
					.start_ns = a->now,
					.comm_len = 4,
					.comm = "born"};

		emit(a, &f, sizeof(f), RECORD_fork, a->now);
		a->unborn = true;
		run(a, SPLIT_runnable, some(a, 100));
		a->unborn = false;
		enters(a);
	} else if (t->tid % 4 == 0) {
		was_in_call(a);
	} else {
		run(a, SPLIT_user, some(a, 100));
		preempted(a, MODE_user, 0, NULL);
	}
	for (int i = 0; i < actions; i++)
		act(a);
}

/* It dies, or is runnable until the end. */
static void ends(struct actor *a, bool dead)
{
	if (dead) {
		dies(a);
		return;
	}
	leaves(a, LEAVE_preempted, MODE_user, 0, NULL);
	a->thread->ends_under = a->depth;
	a->thread->end_ns = 0;
}

static int record_compare(const void *x, const void *y)
{
	const struct simulated_record *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Whether a thread's record comes while it has no span; *open counts its spans. */
static bool is_under_none(const struct record_head *r, int *open, bool first)
{
	const struct record_switch *sw = (const void *)r;

	switch (r->kind) {
	case RECORD_span_begin:
		(*open)++;
		return false;
	case RECORD_span_end:
		(*open)--;
		return false;
	case RECORD_switch:
		return !*open && !first && (!r->tid || sw->state != LEAVE_dead);
	case RECORD_waking:
	case RECORD_syscall:
	case RECORD_fault:
	case RECORD_event:
		return !*open;
	default:
		return false;
	}
}

/* What is known of the thread with a number. */
struct follows {
	int open; /* spans */
	bool born, ran;
};

static bool is_left_out(struct simulation *s, struct record_head *r, struct follows *of)
{
	u32 tid = r->tid ? r->tid : ((struct record_switch *)r)->next_tid;
	u32 old_tid = r->kind == RECORD_exec ? ((struct record_exec *)r)->old_tid : 0;
	struct follows *f = &of[tid - FIRST_TID];
	bool first = r->kind == RECORD_switch && f->born && !f->ran;

	if (old_tid)
		*f = of[old_tid - FIRST_TID];
	if (r->kind == RECORD_fork)
		*f = (struct follows){.born = true};
	if (r->kind == RECORD_switch)
		f->ran = true;
	if (r->kind == RECORD_thread && s->filters & FILTER_SPANS)
		((struct record_thread *)r)->flags |= THREAD_UNFOLLOWED;
	if (s->filters & FILTER_SPANS && is_under_none(r, &f->open, first))
		return true;
	return s->filters & FILTER_SYSCALLS && r->kind == RECORD_syscall &&
	       ((struct record_syscall *)r)->nr == 0;
}

/* Takes away what the filters say, and tells them. */
static void filter(struct simulation *s)
{
	struct actor a = {.s = s};
	struct record_filter filter = {.flags = s->filters};
	struct record_filter follows = {.flags = s->filters | FILTER_FOLLOWS};
	size_t n = 0, count = s->records.count;
	struct follows of[64] = {0};

	for (size_t i = 0; i < count; i++)
		if (!is_left_out(s, (void *)(s->bytes.data + s->records.data[i].at), of))
			s->records.data[n++] = s->records.data[i];
	s->records.count = count = n;
	emit(&a, &filter, sizeof(filter), RECORD_filter, s->from_ns);
	for (follows.head.pid = FIRST_TID; follows.head.pid;
	     follows.head.pid = follows.head.pid == FIRST_TID ? EXEC_PID : 0)
		emit(&a, &follows, sizeof(follows), RECORD_filter, s->from_ns);
	for (size_t i = 0; i < count; i++) { /* each program is found anew */
		struct simulated_record *r = &s->records.data[i];

		follows.head.pid = simulation_record(s, i)->pid;
		if (simulation_record(s, i)->kind == RECORD_exec)
			emit(&a, &follows, sizeof(follows), RECORD_filter, r->time_ns);
	}
	qsort(s->records.data, s->records.count, sizeof(*s->records.data), record_compare);
}

void simulate(struct simulation *s, u64 seed, int threads, int actions)
{
	simulate_filtered(s, seed, threads, actions, 0);
}

static struct actor thread_begin(struct simulation *s, u32 tid, u32 pid, u64 begin_ns)
{
	struct simulated_thread t = {.tid = tid, .pid = pid, .begin_ns = begin_ns};

	t.born = begin_ns > s->from_ns;
	vec_push(&s->threads, t);
	return (struct actor){
		.s = s, .thread = &s->threads.data[s->threads.count - 1], .now = begin_ns};
}

/* A thread, and those that get its number when it has died. */
static void simulate_number(struct simulation *s, u32 tid, int actions)
{
	u64 begin = s->from_ns + (tid % 2 ? 1 + simulation_random(s, 5000) : 0);

	for (bool again = true; again; begin += 1 + simulation_random(s, 3000)) {
		struct actor a = thread_begin(s, tid, FIRST_TID, begin);

		live(&a, actions);
		ends(&a, tid % 3 == 0);
		begin = a.now;
		again = tid % 3 == 0 && simulation_random(s, 2);
		actions = actions / 2 + 1;
	}
}

/* The thread that runs a program gets the number of the leader, which has just died of it. */
static void simulate_exec(struct simulation *s, int actions)
{
	struct record_exec r = {.old_tid = EXEC_PID + 1, .command_len = 4, .command = "exec"};
	struct record_syscall call = {.nr = 59};
	struct actor leader = thread_begin(s, EXEC_PID, EXEC_PID, s->from_ns), a;
	u64 begin;

	live(&leader, actions / 4);
	ends(&leader, true);
	a = thread_begin(s, EXEC_PID + 1, EXEC_PID, s->from_ns + 1000);
	live(&a, actions / 2);
	while (a.now <= leader.now)
		act(&a);
	begin = a.now;
	run(&a, SPLIT_kernel, some(&a, 500));
	a.thread->tid = EXEC_PID;
	a.thread->renamed_ns = a.now;
	r.head = head_of(&a);
	emit(&a, &r, sizeof(r), RECORD_exec, a.now);
	run(&a, SPLIT_kernel, some(&a, 500));
	call.head = head_of(&a);
	call.duration_ns = a.now - begin;
	emit(&a, &call, sizeof(call), RECORD_syscall, a.now);
	a.on_since = a.now;
	for (int i = 0; i < actions / 2; i++)
		act(&a);
	ends(&a, simulation_random(s, 2));
}

static int thread_compare(const void *x, const void *y)
{
	const struct simulated_thread *a = x, *b = y;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Who did not die is runnable until the last has done what it does. */
static void threads_end(struct simulation *s)
{
	for (size_t i = 0; i < s->records.count; i++)
		if (s->records.data[i].time_ns >= s->to_ns)
			s->to_ns = s->records.data[i].time_ns + 10;
	for (size_t i = 0; i < s->threads.count; i++) {
		struct simulated_thread *t = &s->threads.data[i];
		s64 rest = (s64)(s->to_ns - t->begin_ns) - split_total(&t->truth);

		if (!t->end_ns) {
			t->end_ns = s->to_ns;
			t->truth.ns[SPLIT_runnable] += rest;
			t->under.ns[SPLIT_runnable] += t->ends_under ? rest : 0;
		}
	}
	qsort(s->threads.data, s->threads.count, sizeof(*s->threads.data), thread_compare);
}

void simulate_filtered(struct simulation *s, u64 seed, int threads, int actions, u32 filters)
{
	*s = (struct simulation){.random = seed, .from_ns = 1000000, .filters = filters};
	for (int i = 0; i < threads; i++)
		simulate_number(s, FIRST_TID + (u32)i, actions);
	simulate_exec(s, actions);
	threads_end(s);
	qsort(s->records.data, s->records.count, sizeof(*s->records.data), record_compare);
	if (filters)
		filter(s);
}

void simulation_gap(struct simulation *s, u64 begin_ns, u64 end_ns)
{
	struct actor a = {.s = s};
	struct record_gap gap = {.begin_ns = begin_ns};
	size_t n = 0;

	for (size_t i = 0; i < s->records.count; i++) {
		u64 t = s->records.data[i].time_ns;

		if (t < begin_ns || t >= end_ns)
			s->records.data[n++] = s->records.data[i];
	}
	s->records.count = n;
	emit(&a, &gap, sizeof(gap), RECORD_gap, end_ns);
	s->records.data[n].order = 0;			/* before what else happened then */
	for (size_t i = 0; i < s->threads.count; i++) { /* the snapshot finds some again */
		const struct simulated_thread *t = &s->threads.data[i];
		struct record_thread r = {.head = {.tid = t->tid, .pid = t->pid},
					  .start_ns = t->start_ns,
					  .flags = THREAD_ON_CPU};

		if (t->renamed_ns > end_ns)
			r.head.tid++;
		if (r.head.tid % 2 || t->end_ns <= end_ns || t->begin_ns >= end_ns)
			continue;
		emit(&a, &r, sizeof(r), RECORD_thread, end_ns);
		if (!t->born)
			emit(&a, &r, sizeof(r), RECORD_thread, s->from_ns);
	}
	qsort(s->records.data, s->records.count, sizeof(*s->records.data), record_compare);
}

void simulation_loss(struct simulation *s, u64 begin_ns, u64 end_ns, u16 cpu)
{
	struct actor a = {.s = s};
	struct record_lost lost = {.why = LOST_buffer, .begin_ns = begin_ns};
	size_t n = 0;

	while (end_ns > s->to_ns || cpu_of(end_ns) != cpu)
		end_ns--;
	for (size_t i = 0; i < s->records.count; i++) {
		const struct simulated_record *r = &s->records.data[i];
		const struct record_head *head = simulation_record(s, i);

		if (r->time_ns >= begin_ns && r->time_ns < end_ns && head->cpu == cpu &&
		    head->kind != RECORD_lost)
			lost.count++;
		else
			s->records.data[n++] = *r;
	}
	s->records.count = n;
	emit(&a, &lost, sizeof(lost), RECORD_lost, end_ns);
	qsort(s->records.data, s->records.count, sizeof(*s->records.data), record_compare);
}

void simulation_free(struct simulation *s)
{
	vec_free(&s->records);
	vec_free(&s->threads);
	bytes_free(&s->bytes);
}
