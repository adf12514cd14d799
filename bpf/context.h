/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reads the active span of the running thread from its memory, as bpf/context_location.h describes.
 *
 * The page of a record may not be present. Fork does not map the parent's pages of shared memory
 * into the child before they are touched, and pages are taken away if memory is short or moves
 * between nodes. Nobody can have written to such a page in this process since, so the last reading
 * still holds, by this thread or by the one that forked it: the address of the record, and its
 * contents. A record that was never read counts as no span.
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
		state->location.known = state->location.light.id = 0;
}

/*
 * The address of the variable, 0 if this thread has none. *missing gets an address on the way that
 * could not be read.
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
 * Whether the contents of a page of the running thread hold while it is not present. False if it is
 * not mapped any more, or if fork has wiped it.
 */
int context_holds(u64 at);

/* Whether a record has both ids, as each span has. */
static __always_inline bool context_is_whole(const struct otel_record *record)
{
	u64 trace[2], span;

	__builtin_memcpy(trace, record->trace, sizeof(trace));
	__builtin_memcpy(&span, record->span, sizeof(span));
	return (trace[0] | trace[1]) && span;
}

/*
 * Whether the bytes at an assumed place can be a record: they are aligned, have only flags that
 * exist, and the first attribute fits into the attributes.
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

/* Whether a record counts, by the flags of its location. */
static __always_inline bool context_is_allowed(const struct otel_record *record, u64 at, u8 flags)
{
	/* libfathom also publishes spans that are not sampled */
	if ((flags & CONTEXT_FATHOM) && !(record->trace_flags & 1))
		return false;
	return !(flags & CONTEXT_ASSUMED) || context_is_plausible(record, at);
}

/* The address of the running thread's record, 0 if it has none. */
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

/* Sets state->ctx, to zero if no span is active. `task` must be the running one. */
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
 * Reads the span that the running thread has now. In a call that was seen to begin it is the one
 * that was read at the begin.
 */
static __always_inline void context_now(struct thread_state *state, struct task_struct *task)
{
	if (state->in_syscall != IN_SYSCALL_SEEN || !calls_are_followed(state))
		context_read(state, task);
}

/* With spans_only: whether the thread had a span since its last record, and has none now. */
static __always_inline bool span_is_over(const struct thread_state *state,
					 const struct context *ctx)
{
	return state->spanned && !context_is_set(ctx);
}

#endif
