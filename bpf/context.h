/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reads the active span of the running thread from its memory, as
 * bpf/context_location.h says.
 *
 * A record's page may not be there: fork does not give a child its parent's pages of shared memory,
 * only what it touches; and pages go where memory is short or moves between nodes. Nobody wrote
 * there in this process since, so what was read there last holds, by this thread or by the one
 * that forked it: which record it has, or none, and what stands in that. What was never read is
 * no span.
 */
#ifndef BPF_CONTEXT_H
#define BPF_CONTEXT_H

#include "bpf/state.h"

static __always_inline void context_refresh(struct thread_state *state, u32 tgid)
{
	struct context_location *location;

	state->location_generation = context_generation;
	location = bpf_map_lookup_elem(&locations, &tgid);
	if (location)
		state->location = *location;
	else
		state->location.known = 0;
}

/* Address of the variable, 0 if this thread has none; *missing: what could not be read on the way.
 */
static __always_inline u64 context_variable(const struct context_location *at, u64 tp, u64 *missing)
{
	u64 dtv = 0, entry = 0, count = 0, place;

	if (!at->dynamic)
		return tp + at->tp_offset;
	place = tp + at->dtv_at;
	if (bpf_probe_read_user(&dtv, 8, (void *)place))
		goto unread;
	if (!dtv)
		return 0;
	place = dtv + at->count_at;
	if (bpf_probe_read_user(&count, 8, (void *)place))
		goto unread;
	if (at->module > count)
		return 0;
	place = dtv + at->module * at->entry_bytes;
	if (bpf_probe_read_user(&entry, 8, (void *)place))
		goto unread;
	return entry == 0 || entry == ~0ull ? 0 : entry + at->var_offset;
unread:
	*missing = place;
	return 0;
}

/*
 * context.bpf.c: whether a page of the running thread is only not there, so that it has the
 * contents that it had. Else nothing is mapped there any more, or fork emptied it.
 */
int context_holds(u64 at);

/* A span has both ids. */
static __always_inline bool context_is_whole(const struct otel_record *record)
{
	u64 trace[2], span;

	__builtin_memcpy(trace, record->trace, sizeof(trace));
	__builtin_memcpy(&span, record->span, sizeof(span));
	return (trace[0] | trace[1]) && span;
}

/*
 * Whether a record at an assumed place is one: aligned, no flag that does not exist, and attributes
 * of which the first fits in.
 */
static __always_inline bool context_is_plausible(const struct otel_record *record, u64 at)
{
	u8 first[2] = {};

	if ((at & 1) || (record->trace_flags & ~3))
		return false;
	if (!record->attributes_bytes)
		return true;
	if (bpf_probe_read_user(first, sizeof(first), (void *)(at + sizeof(*record))))
		return false;
	return record->attributes_bytes >= 2u + first[1];
}

/* What there is to say against a record at a location with flags. */
static __always_inline bool context_is_allowed(const struct otel_record *record, u64 at, u8 flags)
{
	/* a fathom writer puts spans there that it was told not to sample */
	if ((flags & CONTEXT_FATHOM) && !(record->trace_flags & 1))
		return false;
	return !(flags & CONTEXT_ASSUMED) || context_is_plausible(record, at);
}

static __always_inline bool context_is_set(const struct context *ctx)
{
	/* by its type it may lie anywhere: the compiler would take it byte by byte */
	return *(const u64 *)__builtin_assume_aligned(ctx->span, 8) != 0;
}

/* Address of the running thread's record, 0 if it has none. */
static __always_inline u64 context_record(struct thread_state *state, struct task_struct *task)
{
	u64 variable, at = 0, missing = 0;

	if (state->location_generation != context_generation)
		context_refresh(state, task->tgid);
	if (!state->location.known || task_is_kernels(task))
		return 0;
	variable = context_variable(&state->location, task->thread.fsbase, &missing);
	if (variable && bpf_probe_read_user(&at, 8, (void *)variable))
		missing = variable;
	return missing && state->record_at && context_holds(missing) ? state->record_at : at;
}

/* Sets state->ctx: zero if no span is active. `task` must be the current one. */
static __always_inline void context_read(struct thread_state *state, struct task_struct *task)
{
	struct otel_record record __attribute__((aligned(8)));
	bool lasts;
	u64 at;

	if (state->creator_tp && state->creator_tp == task->thread.fsbase)
		return; /* what it began with holds until it has a place of its own */
	at = context_record(state, task);
	lasts = at && at == state->record_at;
	state->record_at = at;
	if (at && bpf_probe_read_user(&record, sizeof(record), (void *)at)) {
		if (!lasts || !context_holds(at))
			__builtin_memset(&state->ctx, 0, sizeof(state->ctx));
	} else if (at && record.valid == 1 && context_is_whole(&record) &&
		   (!state->location.flags ||
		    context_is_allowed(&record, at, state->location.flags))) {
		__builtin_memcpy(&state->ctx, &record, sizeof(state->ctx));
	} else {
		__builtin_memset(&state->ctx, 0, sizeof(state->ctx));
	}
	if (spans_only && context_is_set(&state->ctx))
		state->spanned = 1;
}

/*
 * The span that the running thread has now. In a call that was seen to begin it is the one that it
 * had there; where another one began, and outside of calls, nobody has looked.
 */
static __always_inline void context_now(struct thread_state *state, struct task_struct *task)
{
	if (state->in_syscall != IN_SYSCALL_SEEN)
		context_read(state, task);
}

/* With spans_only: whether it had a span since it was told of last, and has none now. */
static __always_inline bool span_is_over(const struct thread_state *state,
					 const struct context *ctx)
{
	return state->spanned && !context_is_set(ctx);
}

#endif
