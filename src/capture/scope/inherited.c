/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the command has open when it begins. They are looked at while the command waits for
 * its exec, which leaves them open. The exec is the first record of the command, so the files are
 * told right behind it.
 */
#include "capture/scope/scope.h"
#include "capture/state.h"

int inherited_take(struct capture *c, const struct capture_stream *stream,
		   const struct record_head *r)
{
	struct record_head *kept;
	int err;

	if (c->inherited_known)
		return 0;
	err = held_add(&c->inherited, stream, r);
	if (err)
		return err;
	kept = c->inherited.list.data[c->inherited.list.count - 1].record;
	kept->seq = 0;
	/* the file counts as open from then on; the op of a snapshot would mean: open before */
	if (kept->kind == RECORD_fd)
		((struct record_fd *)kept)->op = FD_open;
	return 0;
}

int inherited_deliver(struct capture *c, const struct capture_sink *sink,
		      const struct record_head *exec)
{
	if (exec->kind != RECORD_exec || !(((const struct record_exec *)exec)->flags & EXEC_BEGINS))
		return 0;
	for (size_t i = 0; i < c->inherited.list.count; i++)
		c->inherited.list.data[i].record->time_ns = exec->time_ns;
	return held_deliver(&c->inherited, exec->time_ns, sink->record, sink->arg);
}
