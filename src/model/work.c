/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules by which a wait is one for work: one table, matched from its top.
 *
 * A rule lists its conditions; a field without a condition matches anything. The first rule that
 * matches gives the answer. What no rule matches waits for something else.
 *
 * The reasons behind them:
 * - A call on many files (epoll_wait, poll, select, io_uring_enter) waits for the file that ended
 *   it. A client that sends a request to a server gives it work; a server that answers does not.
 *   So the side of a socket decides: a listener or a connection that was accepted brings work, a
 *   connection that was made from here brings an answer. Until something comes, and where nothing
 *   came in time, the thread had nothing to do.
 * - A poll of a single socket that was made from here waits for an answer, whatever ends it.
 * - Only calls that read wait for work. A thread whose writes wait is slowed down by its peer.
 * - A socket whose side is not known (of an older recording, Multipath TCP) brings no work.
 * - An eventfd, a signalfd, a timerfd and a pipe that a thread of the same process writes are how
 *   threads and handlers of signals send work to an event loop. A pipe of another process brings
 *   its output, for which the reader waits.
 * - A terminal brings what a person types, netlink and inotify what happened on the host.
 * - A poll or select of no file is a sleep (timer), unless it has no time-out: then it waits for a
 *   signal, as sigwait() and pause() do.
 * - The first process of a session (a shell) or of a pid namespace (init) waits for children
 *   whenever it has nothing to do. Any other process waits for a child that works for it.
 * - A kernel thread that sleeps interruptibly, or in the state that the kernel has for this (idle),
 *   has no work. One that sleeps uninterruptibly waits for storage or a lock. A worker of io_uring
 *   within a request is told by the file of the request.
 * - A nanosleep is a delay that the program asked for.
 *
 * Futexes. The operation and the value that the call compares tell what kind of lock it is:
 * - A mutex of glibc, Rust or Go's runtime that has waiters is 2, a lock of readers and writers of
 *   glibc 3. A lock with inheritance of priority has operations of its own.
 * - A condition variable and a semaphore of glibc wait while a word is 0, with FUTEX_WAIT_BITSET.
 *   Go's threads without goroutines wait with FUTEX_WAIT and 0, and a parked thread of Rust with
 *   -1. Thread pools wait so. But CPython's lock (the GIL), locks made of semaphores and the
 *   monitors of Java do, too. The threads of a lock wake each other; a pool is woken by others. So
 *   the word decides in the end (map/idle.c).
 * - Other values, such as the counter of a condition variable of Rust or of newer versions of
 *   glibc, tell nothing: the word alone decides, and without it the wait is for a lock.
 *
 * Requests. A thread in the middle of a request waits for no work (FILE_IN_REQUEST), but for what
 * the request needs: a lock of the database, a semaphore, another process.
 * - A process with one thread and one connection, as those of PostgreSQL, waits for its client
 * where the client can come. If it waits in another epoll, or for a futex, it is in a request.
 * - Loops of several threads that carry out requests together wait for a word together. A thread of
 *   them that has just read a request is without work all the same. So a futex on which several
 *   threads sleep is one of requests only if nearly all waits for it are within one (map/futex.c).
 *   Threads of Go, and parked ones of Rust, run others' work, so their own reads tell nothing.
 */
#include "model/work.h"

#include "model/rule_memo.h"
#include "model/syscall_format.h"
#include "record/syscalls.h"

enum {
	CALL_POLL = 1 << 0, /* waits for any of several files */
	CALL_READ = 1 << 1,
	CALL_ACCEPT = 1 << 2,
	CALL_FUTEX = 1 << 3,
	CALL_SIGNAL = 1 << 4,
	CALL_CHILD = 1 << 5,
	CALL_SELECT = 1 << 6, /* poll or select, which may have no file */
};

/* What ended the wait. */
enum {
	END_NOT_YET = 1 << 0,
	END_TIME = 1 << 1,
	END_SERVED = 1 << 2, /* a listener, or a connection that was accepted */
	END_EVENT = 1 << 3,  /* an eventfd, a signalfd, a timerfd or the like */
	END_HOST = 1 << 4,   /* a terminal, netlink, inotify */
	END_OWN = 1 << 5,    /* a pipe that a thread of the same process works on */
	END_OTHER = 1 << 6,
};

enum { ARG_ANY, ARG_NO_FILE, ARG_ENDLESS, ARG_LEADER, ARG_REQUEST, ARG_IN_REQUEST, ARGS };

/* What the operation and the value of a futex tell. */
enum {
	FUTEX_LOCK = 1 << 0,
	FUTEX_ZERO = 1 << 1,
	FUTEX_PARKED = 1 << 2,
	FUTEX_UNTOLD = 1 << 3,
};

#define MODE(name) (1 << MODE_##name)
#define STATE(name) (1 << LEAVE_##name)
#define KIND(name) (1u << FILE_KIND_##name)
#define KINDS_SOCKET (KIND(tcp) | KIND(udp) | KIND(unix) | KIND(socket_other))
#define KINDS_EVENT (KIND(eventfd) | KIND(signalfd) | KIND(timerfd))
#define KINDS_HOST (KIND(tty) | KIND(netlink) | KIND(inotify) | KIND(fanotify))
#define KINDS_PIPE (KIND(pipe) | KIND(fifo))
#define SERVED (FILE_LISTENS | FILE_ACCEPTED)

/* A mask of 0 is no condition. */
struct work_rule {
	u32 modes;
	u32 calls;
	u32 kinds; /* of the file of the call */
	u32 sides; /* likewise: FILE_SIDES */
	u32 states;
	u32 ends;
	u32 futexes;
	u8 arg;	 /* ARG_* */
	u8 work; /* enum work */
	const char *reason;
};

#define THEN(what, why) .work = WORK_##what, .reason = (why)

/* clang-format off */
static const struct work_rule rules[] = {
	{ .modes = MODE(kernel_thread), .states = STATE(sleep), .kinds = KINDS_SOCKET,
	  .sides = SERVED, THEN(WAITS, "request to io_uring: waits for a client") },
	{ .modes = MODE(kernel_thread), .arg = ARG_REQUEST, THEN(NOT, "") },
	{ .modes = MODE(kernel_thread), .states = STATE(sleep) | STATE(idle),
	  THEN(WAITS, "kernel thread without work") },
	/* a thread that is held, or waits uninterruptibly, waits for no work */
	{ .states = ~(u32)STATE(sleep), THEN(NOT, "") },

	{ .calls = CALL_ACCEPT, THEN(WAITS, "waits for a connection") },
	{ .calls = CALL_READ, .kinds = KINDS_SOCKET, .sides = SERVED,
	  THEN(WAITS, "waits for a client") },
	{ .calls = CALL_READ, .kinds = KINDS_EVENT, THEN(WAITS, "waits for an event") },
	{ .calls = CALL_READ, .kinds = KINDS_HOST, THEN(WAITS, "waits for news of the host") },
	{ .calls = CALL_READ, .kinds = KINDS_PIPE, .ends = END_OWN,
	  THEN(WAITS, "waits for its own process") },

	{ .calls = CALL_SELECT, .arg = ARG_ENDLESS, THEN(WAITS, "waits for a signal") },
	{ .calls = CALL_SELECT, .arg = ARG_NO_FILE, THEN(NOT, "") },
	{ .calls = CALL_POLL, .kinds = KINDS_SOCKET, .sides = FILE_MADE, THEN(NOT, "") },
	{ .calls = CALL_POLL, .arg = ARG_IN_REQUEST, THEN(NOT, "") },
	{ .calls = CALL_POLL, .ends = END_NOT_YET, THEN(WAITS, "nothing came yet") },
	{ .calls = CALL_POLL, .ends = END_TIME, THEN(WAITS, "nothing came in time") },
	{ .calls = CALL_POLL, .ends = END_SERVED, THEN(WAITS, "a client came") },
	{ .calls = CALL_POLL, .ends = END_EVENT, THEN(WAITS, "an event came") },
	{ .calls = CALL_POLL, .ends = END_HOST, THEN(WAITS, "news of the host came") },
	{ .calls = CALL_POLL, .ends = END_OWN, THEN(WAITS, "its own process wrote to a pipe") },

	{ .calls = CALL_SIGNAL, THEN(WAITS, "waits for a signal") },
	{ .calls = CALL_CHILD, .arg = ARG_LEADER,
	  THEN(WAITS, "first process of a session or a host, without work") },

	{ .calls = CALL_FUTEX, .futexes = FUTEX_LOCK, THEN(NOT, "") },
	{ .calls = CALL_FUTEX, .futexes = FUTEX_ZERO, .arg = ARG_IN_REQUEST,
	  THEN(IN_REQUEST, "condition variable or semaphore, also without a request") },
	{ .calls = CALL_FUTEX, .futexes = FUTEX_ZERO,
	  THEN(FUTEX, "condition variable, semaphore or idle thread") },
	{ .calls = CALL_FUTEX, .futexes = FUTEX_PARKED, THEN(FUTEX, "parked thread") },
	{ .calls = CALL_FUTEX, .futexes = FUTEX_UNTOLD, THEN(BY_WORD, "woken by others only") },

	{ THEN(NOT, "") },
};
/* clang-format on */
#define RULES (sizeof(rules) / sizeof(rules[0]))

#define CALL(name) [SYSCALL_NR_##name]

static const u8 call_groups[SYSCALL_TABLE_SIZE] = {
	CALL(poll) = CALL_POLL | CALL_SELECT,
	CALL(ppoll) = CALL_POLL | CALL_SELECT,
	CALL(select) = CALL_POLL | CALL_SELECT,
	CALL(pselect6) = CALL_POLL | CALL_SELECT,
	CALL(epoll_wait) = CALL_POLL,
	CALL(epoll_pwait) = CALL_POLL,
	CALL(epoll_pwait2) = CALL_POLL,
	CALL(io_uring_enter) = CALL_POLL,
	CALL(read) = CALL_READ,
	CALL(readv) = CALL_READ,
	CALL(recvfrom) = CALL_READ,
	CALL(recvmsg) = CALL_READ,
	CALL(recvmmsg) = CALL_READ,
	CALL(accept) = CALL_ACCEPT,
	CALL(accept4) = CALL_ACCEPT,
	CALL(futex) = CALL_FUTEX,
	CALL(pause) = CALL_SIGNAL,
	CALL(rt_sigsuspend) = CALL_SIGNAL,
	CALL(rt_sigtimedwait) = CALL_SIGNAL,
	CALL(wait4) = CALL_CHILD,
	CALL(waitid) = CALL_CHILD,
};

static u32 call_group(u16 nr, bool compat)
{
	int native = compat ? syscall_native(nr) : nr;

	return native >= 0 && native < SYSCALL_TABLE_SIZE ? call_groups[native] : 0;
}

bool work_is_futex(u16 nr, bool compat)
{
	return call_group(nr, compat) & CALL_FUTEX;
}

static u32 query_calls(const struct cause_query *q)
{
	if (q->mode != MODE_syscall)
		return 0;
	return call_group(q->nr, q->abi_flags & SYSCALL_COMPAT);
}

/* Numbers of softirqs in which timers expire. */
#define SOFTIRQ_TIMER 1
#define SOFTIRQ_HRTIMER 8

static bool query_timed_out(const struct cause_query *q)
{
	if (q->waker_context == WAKE_timer)
		return true;
	return q->waker_context == WAKE_softirq &&
	       (q->waker_vector == SOFTIRQ_TIMER || q->waker_vector == SOFTIRQ_HRTIMER);
}

static u32 query_end(const struct cause_query *q)
{
	const struct file_ref *file = &q->waker_file;
	u32 kind = file->kind && file->kind < 32 ? 1u << file->kind : 0;

	if (!q->has_waker)
		return END_NOT_YET;
	if (kind & KINDS_SOCKET)
		return file->flags & SERVED ? END_SERVED : END_OTHER;
	if (kind & KINDS_EVENT)
		return END_EVENT;
	if (kind & KINDS_HOST)
		return END_HOST;
	if (kind)
		return kind & KINDS_PIPE && q->waker_own ? END_OWN : END_OTHER;
	if (q->waker_block)
		return END_OTHER;
	return query_timed_out(q) ? END_TIME : END_OTHER;
}

#define FUTEX_OPERATION 127u
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2 13
#define FUTEX_MUTEX_CONTENDED 2
#define FUTEX_RWLOCK_CONTENDED 3

static u32 query_futex(const struct cause_query *q)
{
	u32 operation = (u32)(q->file.key >> 32) & FUTEX_OPERATION, value = (u32)q->file.key;

	if (q->file.kind || !(q->file.flags & FILE_NONE_FUTEX))
		return FUTEX_LOCK; /* of an older recording: nothing is known */
	if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2)
		return FUTEX_LOCK;
	if (value == FUTEX_MUTEX_CONTENDED)
		return FUTEX_LOCK;
	if (operation == FUTEX_WAIT_BITSET && value == FUTEX_RWLOCK_CONTENDED)
		return FUTEX_LOCK;
	if (value == 0)
		return FUTEX_ZERO;
	return value == UINT32_MAX ? FUTEX_PARKED : FUTEX_UNTOLD;
}

static bool arg_fits(u8 want, const struct cause_query *q)
{
	switch (want) {
	case ARG_ANY:
		return true;
	case ARG_NO_FILE:
		return q->arg0 == 0;
	case ARG_ENDLESS:
		return q->arg0 == 0 && !q->file.kind && q->file.flags & FILE_NONE_ENDLESS;
	case ARG_REQUEST:
		return q->file.kind || q->file.flags & FILE_NONE_REQUEST;
	case ARG_IN_REQUEST:
		return q->file.flags & FILE_IN_REQUEST;
	default:
		return !q->file.kind && q->file.flags & FILE_NONE_LEADER;
	}
}

static bool mask_fits(u32 want, u32 is)
{
	return !want || (want & is);
}

/* A query as the conditions of rules ask for it. */
struct work_asked {
	u32 calls, ends, futexes;
	u16 sides;	      /* FILE_SIDES */
	u8 mode, state, kind; /* numbers, at most RULE_NONE */
	u8 args;	      /* bits 1 << ARG_* */
};

static struct work_asked query_asked(const struct cause_query *q)
{
	u32 calls = query_calls(q);
	bool has_file = calls || q->mode == MODE_kernel_thread;
	struct work_asked a = {.calls = calls,
			       .ends = query_end(q),
			       .futexes = calls & CALL_FUTEX ? query_futex(q) : 0,
			       .sides = q->file.flags & FILE_SIDES,
			       .mode = rule_number(q->mode),
			       .state = rule_number(q->leave_state),
			       .kind = rule_number(has_file ? q->file.kind : RULE_NONE)};

	for (u8 arg = 0; arg < ARGS; arg++)
		a.args |= (u8)(arg_fits(arg, q) << arg);
	return a;
}

static u64 asked_key(const struct work_asked *a)
{
	_Static_assert(CALL_SELECT < 1 << 8 && END_OTHER < 1 << 8 && FUTEX_UNTOLD < 1 << 4 &&
			       ARGS <= 8 && FILE_SIDES < 1 << 8,
		       "bits");
	return 1 | (u64)a->args << 1 | (u64)a->mode << 9 | (u64)a->state << 14 |
	       (u64)a->kind << 19 | (u64)a->sides << 24 | (u64)a->calls << 32 | (u64)a->ends << 40 |
	       (u64)a->futexes << 48;
}

static size_t asked_search(const struct work_asked *a)
{
	for (size_t i = 0; i < RULES - 1; i++) {
		const struct work_rule *r = &rules[i];

		if (mask_fits(r->modes, rule_mask(a->mode)) && mask_fits(r->calls, a->calls) &&
		    mask_fits(r->kinds, rule_mask(a->kind)) && mask_fits(r->sides, a->sides) &&
		    mask_fits(r->states, rule_mask(a->state)) && mask_fits(r->ends, a->ends) &&
		    mask_fits(r->futexes, a->futexes) && a->args >> r->arg & 1)
			return i;
	}
	return RULES - 1;
}

size_t work_rule_index(const struct cause_query *q)
{
	static _Thread_local struct rule_memo memo[1 << RULE_MEMO_BITS];
	struct work_asked a = query_asked(q);
	u64 key = asked_key(&a);
	struct rule_memo *m = rule_memo_at(memo, key);

	if (m->key != key)
		*m = (struct rule_memo){key, (u32)asked_search(&a)};
	return m->rule;
}

size_t work_rules_count(void)
{
	return RULES;
}

enum work work_find(const struct cause_query *q, const char **reason)
{
	const struct work_rule *rule = &rules[work_rule_index(q)];

	if (reason)
		*reason = rule->reason;
	return rule->work;
}

void work_to_idle(struct split *split, const struct work_split *work)
{
	for (int i = 0; i < WORK_PARTS_COUNT; i++) {
		s64 *part = &split->ns[WORK_FIRST_PART + i];
		s64 ns = work->ns[i] < *part ? work->ns[i] : *part;

		if (ns <= 0)
			continue;
		*part -= ns;
		split->ns[SPLIT_idle] = split_sum(split->ns[SPLIT_idle], ns);
	}
}
