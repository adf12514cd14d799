/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command has open when it begins. It is looked at while the command waits for its exec,
 * which leaves all of that open; since the exec is the first that is recorded of it, the names are
 * told behind that.
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
	if (kept->kind == RECORD_fd) /* and not before, as a snapshot's would say */
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
