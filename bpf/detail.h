/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Matches threads with scopes of detail: by name at an exec and a rename, by cgroup at a move, and
 * by the iterator detail_seeds when the scopes are set, or a process tells its service. Children
 * inherit what their parent has matched. Of several scopes the last one counts. A thread that
 * leaves a cgroup leaves its scope.
 */
#ifndef BPF_DETAIL_H
#define BPF_DETAIL_H

#include "bpf/cgroup.h"
#include "bpf/detail_scope.h"
#include "bpf/state.h"

/*
 * The scopes, set by capture. The first is DETAIL_SCOPE_ASK. They are arrays of plain numbers, of
 * which a skeleton can have the types.
 */
u32 detail_kinds[DETAIL_SCOPES + 1] __weak = {};    /* enum detail_scope_kind */
u64 detail_comms[DETAIL_SCOPES + 1][2] __weak = {}; /* the name, then zeros */
u32 detail_pids[DETAIL_SCOPES + 1] __weak = {};	    /* in the pid namespace of capture */
u32 detail_names __weak = 0;			    /* how many have the name of a program */

/*
 * The thread is in a scope from now on. Of the one that was asked for, its state keeps the number
 * of that request, the lower byte of calls_asked. So a later request, which has another number,
 * leaves the thread out, and no state needs to be reset. After 255 requests a number comes again;
 * a thread that has kept it since the first of the two is taken for one in scope.
 */
static __always_inline void detail_take(struct thread_state *state, u32 scope)
{
	if (scope == DETAIL_SCOPE_ASK) {
		state->asked = *(volatile u32 *)&calls_asked;
		return;
	}
	if (scope > state->scope_kept)
		state->scope_kept = scope;
	if (scope > state->scope)
		state->scope = scope;
}

/* The scopes whose cgroups the thread is in, by a bit for each. The task is given by its address.
 */
int detail_cgroups(u64 task_at);

/* Matches a thread with the scopes of cgroups, by what detail_cgroups() says of it. */
static __always_inline void detail_take_cgroups(struct thread_state *state, u32 in)
{
	u8 scope = state->scope_kept;

	for (u32 i = 1; i <= DETAIL_SCOPES; i++)
		if (in >> i & 1 && i > scope)
			scope = i;
	state->scope = scope;
	if (detail_kinds[DETAIL_SCOPE_ASK] == DETAIL_SCOPE_CGROUP)
		state->asked = in & 1 ? *(volatile u32 *)&calls_asked : 0;
}

static __always_inline void detail_match_cgroups(struct thread_state *state, u64 task_at)
{
	detail_take_cgroups(state, detail_cgroups(task_at));
}

/* Counts moves of threads, after which capture must look at the other threads of the process. */
u64 detail_moves __weak = 0;

static __always_inline void detail_moves_tell(void)
{
	__sync_fetch_and_add(&detail_moves, 1);
	ring_wake_for_news();
}

/* The name is in the kernel, and ends with 0. */
static __always_inline void detail_match_name(struct thread_state *state, const char *comm)
{
	u64 name[2] = {};

	if (!*(volatile u32 *)&detail_names ||
	    bpf_probe_read_kernel_str(name, sizeof(name), comm) < 0)
		return;
	for (u32 i = 0; i <= DETAIL_SCOPES; i++) {
		if (detail_kinds[i] == DETAIL_SCOPE_COMM && detail_comms[i][0] == name[0] &&
		    detail_comms[i][1] == name[1])
			detail_take(state, i);
	}
}

/* A new thread is in the scopes of its parent (NULL: it is in none). */
static __always_inline void detail_inherit(struct thread_state *state,
					   const struct thread_state *parent)
{
	state->scope = parent ? parent->scope : 0;
	state->scope_kept = parent ? parent->scope_kept : 0;
	state->asked = parent ? parent->asked : 0;
}

/* The new thread is in its scopes: its calls are followed from its begin on if they want that. */
static __always_inline void detail_begin(struct thread_state *state)
{
	state->calls_since = calls_are_wanted(state) ? calls_raise() : 0;
}

#endif
