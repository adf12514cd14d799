/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to io_uring. One is a span of its own under that of its submitter,
 * whose thread goes on meanwhile: it has no part in the time of any thread,
 * nor in that of the span above it, and its own time is off_thread.
 */
#include "map/kernel/urings.h"

#include <errno.h>

#include "map/kernel/call_sums.h"
#include "map/kernel/kspan_filter.h"
#include "map/partial.h"
#include "model/syscall_format.h"

static int request_keep(struct partial *p, const struct record_uring *r, const struct split *split)
{
	struct kspan k = {.kind = KSPAN_URING,
			  .begin_ns = r->head.time_ns - (u64)split->ns[SPLIT_off_thread],
			  .end_ns = r->head.time_ns,
			  .tid = r->head.tid,
			  .pid = r->head.pid,
			  .nr = r->opcode,
			  .mode = r->flags,
			  .args = {(u64)(s64)r->fd, r->submit_flags},
			  .result = r->result,
			  .file = r->file,
			  .ctx = r->ctx,
			  .split = *split};

	return kspan_keep(p, &k);
}

int urings_add(struct partial *p, const struct record_head *head)
{
	const struct record_uring *r = (const void *)head;
	struct call_sum call = {.key = SUM_CALL_URING | r->opcode,
				.error = r->result,
				.pid = head->pid,
				.tid = head->tid,
				.file = &r->file,
				.fd = r->flags & URING_DIRECT ? -1 : r->fd};
	struct split split = {0};
	u64 took = r->duration_ns < head->time_ns ? r->duration_ns : head->time_ns;
	u64 duration = r->flags & URING_END_UNKNOWN ? 0 : took;
	struct sum_one one = {.duration_ns = duration};
	int err;

	if (p->options.state_only || !partial_in_range(p, head->time_ns))
		return 0;
	split.ns[SPLIT_off_thread] = (s64)duration;
	if (r->result > 0 && !(r->flags & URING_END_UNKNOWN))
		sum_one_moves(&one, uring_moves(r->opcode), (u64)r->result);
	/* a file that no descriptor has is told with its first use */
	call.begin_ns = call.fd < 0 ? head->time_ns : head->time_ns - took;
	err = call_sums_add(p, &call, &split, &one);
	if (!err && !(r->flags & URING_BEGIN_UNKNOWN))
		err = span_sighted(p, &r->ctx, head, head->time_ns - took);
	if (err || !p->options.spans)
		return err;
	split.ns[SPLIT_off_thread] = (s64)took;
	return request_keep(p, r, &split);
}
