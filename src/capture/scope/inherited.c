/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user of the command, and files that it has open when it begins. They are looked at while the
 * command waits for its exec, which leaves them open. The exec is the first record of the command,
 * so the files are told right behind it.
 */
#include <string.h>

#include "capture/scope/scope.h"
#include "capture/state.h"
#include "programs.skel.h"

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

/*
 * Tells of the command what a snapshot tells of other processes. Its cgroup is told by the program
 * for execs, and files and names are those of the exec.
 */
static int process_tell(struct capture *c, const struct capture_sink *sink,
			const struct record_exec *exec)
{
	static const struct capture_stream life = {.kind = CAPTURE_STREAM_LIFE};
	union {
		struct record_process process;
		u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	} of = {.process = {.head = exec->head,
			    .parent_pid = c->programs->bss->own_tgid,
			    .start_ns = exec->start_ns,
			    .uid = c->programs->bss->scope_seed_uid,
			    .files = exec->head.pid,
			    .command_len = exec->command_len}};
	size_t bytes = offsetof(struct record_process, command) + exec->command_len;

	of.process.head.kind = RECORD_process;
	of.process.head.tid = exec->head.pid;
	of.process.head.slots = (bytes + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;
	memcpy(of.process.command, exec->command, exec->command_len);
	return sink->record(sink->arg, &life, &of.process.head);
}

int inherited_deliver(struct capture *c, const struct capture_sink *sink,
		      const struct record_head *exec)
{
	int err;

	if (exec->kind != RECORD_exec || !(((const struct record_exec *)exec)->flags & EXEC_BEGINS))
		return 0;
	err = process_tell(c, sink, (const struct record_exec *)exec);
	if (err)
		return err;
	for (size_t i = 0; i < c->inherited.list.count; i++)
		c->inherited.list.data[i].record->time_ns = exec->time_ns;
	return held_deliver(&c->inherited, exec->time_ns, sink->record, sink->arg);
}
