/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reads which light thread the running thread runs, as bpf/context_location.h describes. Only of a
 * process that has such threads: elsewhere the place may be in no memory, and to find that out
 * takes the kernel over a microsecond.
 */
#ifndef BPF_LIGHT_H
#define BPF_LIGHT_H

#include "bpf/context.h"

/*
 * Whether the running thread may run a light thread. What its state says of its location is that of
 * the last reading of its context.
 */
static __always_inline bool light_may_run(const struct thread_state *state)
{
	return state->location.light.id;
}

/*
 * Whether the running thread runs a light thread; then light_id and light_maker of its state are
 * its. Numbers are not used again, so the maker is read once. A new thread runs none as long as it
 * has the thread pointer of its creator. Not static, so that the verifier looks at it once.
 */
__weak __noinline int light_read(struct thread_state *state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 tp = task->thread.fsbase, runs = 0, id = 0, maker = 0;

	if (!state || !state->location.light.id || state->creator_tp == tp || task_is_kernels(task))
		return 0;
	bpf_probe_read_user(&runs, sizeof(runs), (void *)(tp + state->location.light.at));
	if (!runs)
		return 0;
	bpf_probe_read_user(&id, sizeof(id), (void *)(runs + state->location.light.id));
	if (!id || id == state->light_id)
		return id != 0;
	if (state->location.light.maker)
		bpf_probe_read_user(&maker, sizeof(maker),
				    (void *)(runs + state->location.light.maker));
	state->light_id = id;
	state->light_maker = maker;
	return 1;
}

#endif
