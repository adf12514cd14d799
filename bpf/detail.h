/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Matches threads with scopes of detail: by name at an exec and a rename, and by the iterator
 * detail_seeds when the scopes are set. Children inherit what their parent has matched. Of several
 * scopes the last one counts.
 */
#ifndef BPF_DETAIL_H
#define BPF_DETAIL_H

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
	if (scope == DETAIL_SCOPE_ASK)
		state->asked = *(volatile u32 *)&calls_asked;
	else if (scope > state->scope)
		state->scope = scope;
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
	state->asked = parent ? parent->asked : 0;
	state->calls_since = calls_are_wanted(state) ? calls_raise() : 0;
}

#endif
