/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reads which light thread the running thread runs, as bpf/context_location.h describes. Only of a
 * process that has such threads: elsewhere the place may be in no memory, and to find that out
 * takes the kernel over a microsecond.
 */
#ifndef BPF_LIGHT_H
#define BPF_LIGHT_H

#include "bpf/context.h"

struct light {
	u64 id, maker; /* 0: none */
};

/*
 * Whether the running thread may run a light thread. What its state says of its location is that of
 * the last reading of its context.
 */
static __always_inline bool light_may_run(const struct thread_state *state)
{
	return state->location.light.id;
}

/*
 * Leaves `out` as it is if none runs. A new thread runs none as long as it has the thread pointer
 * of its creator. Not static, so that the verifier looks at it once.
 */
__weak __noinline int light_read(struct thread_state *state, struct light *out)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 tp = task->thread.fsbase, runs = 0;
	u16 maker;

	if (!state || !out || !state->location.light.id || state->creator_tp == tp ||
	    task_is_kernels(task))
		return 0;
	bpf_probe_read_user(&runs, sizeof(runs), (void *)(tp + state->location.light.at));
	if (!runs)
		return 0;
	bpf_probe_read_user(&out->id, sizeof(out->id), (void *)(runs + state->location.light.id));
	maker = state->location.light.maker;
	if (maker && out->id)
		bpf_probe_read_user(&out->maker, sizeof(out->maker), (void *)(runs + maker));
	return 0;
}

#endif
