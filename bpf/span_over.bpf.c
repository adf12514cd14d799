// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "bpf/span_over.h"
#include "bpf/license.h"
#include "bpf/ring.h"
#include "bpf/switch.h"

__noinline int span_over_tell(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);
	struct switch_slots out = {};
	struct record_switch *r = &out.r;
	struct ring_place place;

	if (!state_in(state) || ring_reserve(&place, 1, RECORD_switch))
		return 0;
	state->spanned = 0;
	r->head.kind = RECORD_switch;
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.tid = r->next_tid = tid_of(task, state);
	r->head.pid = task->tgid;
	r->state = LEAVE_untold;
	r->mode = MODE_NEXT_OUT;
	ring_publish(&place, r, 1);
	return 0;
}
