// SPDX-License-Identifier: Apache-2.0
#include "capture/app/thread_owners.h"

static u32 owner_place(u32 tid)
{
	return tid & ((1u << THREAD_OWNERS_BITS) - 1);
}

/* Returns the place of a thread id, emptied if another id had it. */
static struct thread_owner *owner_take(struct thread_owners *owners, u32 tid, u64 now_ns)
{
	struct thread_owner *owner = &owners->at[owner_place(tid)];

	if (owner->tid != tid)
		*owner = (struct thread_owner){.tid = tid,
					       .forgot_ns = owner->tid ? now_ns : owner->forgot_ns};
	return owner;
}

static void owner_begin(struct thread_owners *owners, u32 tid, u32 pid, u64 begin_ns)
{
	struct thread_owner *owner = owner_take(owners, tid, begin_ns);

	owner->pid = pid;
	owner->begin_ns = begin_ns;
}

static void owner_end(struct thread_owners *owners, u32 tid, u32 pid, u64 end_ns)
{
	struct thread_owner *owner = owner_take(owners, tid, end_ns);

	owner->ended_pid = pid;
	owner->ended_ns = end_ns;
}

void thread_owners_note(struct thread_owners *owners, const struct record_head *r)
{
	const struct record_thread *found = (const void *)r;
	const struct record_exec *exec = (const void *)r;

	switch (r->kind) {
	case RECORD_fork:
		owner_begin(owners, r->tid, r->pid, r->time_ns);
		break;
	case RECORD_thread:
		if (found->flags & THREAD_ENTERS) /* the begin of the thread was not seen */
			*owner_take(owners, r->tid,
				    r->time_ns) = (struct thread_owner){.forgot_ns = r->time_ns};
		break;
	case RECORD_exec:
		if (!exec->old_tid || exec->old_tid == r->tid)
			break;
		/* the thread takes over the id of its leader, which ended before */
		owner_end(owners, exec->old_tid, r->pid, r->time_ns);
		owner_begin(owners, r->tid, r->pid, r->time_ns);
		break;
	case RECORD_exit:
		owner_end(owners, r->tid, r->pid, r->time_ns);
		break;
	}
}

/* The owner at a time, 0 if no owner fits. */
static u32 owner_then(const struct thread_owner *owner, u64 time_ns)
{
	bool lives = owner->begin_ns > owner->ended_ns;

	if (lives && time_ns >= owner->begin_ns)
		return owner->pid;
	if (time_ns > owner->ended_ns || (!lives && time_ns < owner->begin_ns))
		return 0;
	return owner->ended_pid;
}

enum thread_owned thread_owners_judge(const struct thread_owners *owners, u32 tid, u32 pid,
				      u64 time_ns)
{
	const struct thread_owner *owner = &owners->at[owner_place(tid)];

	if (!tid || owner->tid != tid)
		return THREAD_OWNER_UNKNOWN;
	if (owner->begin_ns <= owner->ended_ns && time_ns > owner->ended_ns)
		return THREAD_OWNER_UNKNOWN; /* a thread whose begin was not seen may have the id */
	return owner_then(owner, time_ns) == pid ? THREAD_OWNED : THREAD_OWNED_BY_NONE;
}

bool thread_owners_holds(const struct thread_owners *owners, u32 tid, u64 known_ns)
{
	const struct thread_owner *owner = &owners->at[owner_place(tid)];

	return owner->forgot_ns < known_ns && (owner->tid != tid || owner->ended_ns < known_ns);
}
