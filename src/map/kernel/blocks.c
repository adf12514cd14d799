/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to disks. One is a span of its own from its submission on, under
 * the syscall or fault in which that was: the thread may wait for it, or go on
 * meanwhile, so it has no part in the time of any thread, and its own time is
 * off_thread.
 */
#include "map/kernel/blocks.h"

#include <errno.h>

#include "map/kernel/call_sums.h"
#include "map/kernel/kspan_filter.h"
#include "map/partial.h"

int blocks_add(struct partial *p, const struct record_head *head)
{
	const struct record_block *r = (const void *)head;
	u64 issued = r->duration_ns < head->time_ns ? head->time_ns - r->duration_ns : 0;
	u64 begin = r->queued_ns < issued ? issued - r->queued_ns : 0;
	struct kspan k = {.kind = KSPAN_BLOCK,
			  .begin_ns = begin,
			  .end_ns = head->time_ns,
			  .tid = head->tid,
			  .pid = head->pid,
			  .mode = (u8)r->flags,
			  .args = {[BLOCK_ARG_DEV] = r->dev,
				   [BLOCK_ARG_SECTOR] = r->sector,
				   [BLOCK_ARG_BYTES] = r->bytes,
				   [BLOCK_ARG_QUEUED_NS] = issued - begin},
			  .ctx = r->ctx};
	const struct sum_of of = {.key = r->dev,
				  .pid = sums_tell(p, SUM_BY_PROCESS) ? head->pid : 0};
	struct sum_one one = {.duration_ns = k.end_ns - k.begin_ns,
			      .error = r->flags & BLOCK_FAILED};
	int err;

	if (p->options.state_only || !partial_in_range(p, head->time_ns))
		return 0;
	if (!(r->flags & BLOCK_DISCARD))
		sum_one_moves(&one, r->flags & BLOCK_WRITE ? MOVES_TO_FILE : MOVES_FROM_FILE,
			      r->bytes);
	k.split.ns[SPLIT_off_thread] = (s64)one.duration_ns;
	err = sums_choose(p, head->pid, head->tid) ? sums_add(&p->blocks, &of, &k.split, &one) : 0;
	err = err ? err : span_sighted(p, &r->ctx, head, begin);
	if (err || !p->options.spans)
		return err;
	return kspan_keep(p, &k);
}
