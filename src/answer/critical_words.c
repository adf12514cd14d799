/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/critical_words.h"

#include <string.h>

#include "answer/peer_name.h"
#include "answer/process_name.h"
#include "answer/span_block.h"
#include "map/fact/query.h"

#define NAME_BYTES 512

/* ---- threads ---- */

/* The number of the process in requests.processes; 0: it takes no part in requests. */
static u32 process_number(const struct requests *r, u32 host, u32 pid, u64 time_ns)
{
	u32 at = (u32)(uintptr_t)map_get(&r->processes.by_pid, (u64)host << 32 | pid), found = 0;

	for (; at; at = r->processes.list.data[at].next) {
		const struct request_process *p = &r->processes.list.data[at];

		if (p->until_ns > time_ns && (!found || p->seen_ns <= time_ns))
			found = at;
	}
	return found;
}

struct critical_who critical_who_of(struct span_builder *b, const struct requests *r, u32 host,
				    u32 tid, u64 time_ns)
{
	const struct partial *p = r->hosts[host].p;
	struct critical_who who = {.tid = tid, .pid = tid ? query_pid(p, tid, time_ns) : 0};
	char text[NAME_BYTES];
	u32 number;

	if (!tid)
		return who;
	if (!who.pid)
		who.pid = tid;
	number = process_number(r, host, who.pid, time_ns);
	who.process = name_comm(p, who.pid, time_ns);
	if (strcmp(who.process, "?") == 0) { /* it has no name yet */
		time_ns = UINT64_MAX;
		who.process = name_comm(p, who.pid, time_ns);
	}
	who.name = number ? process_service(&r->processes, number)
			  : builder_copy(b, name_program(p, who.pid, time_ns, text, sizeof(text)));
	return who;
}

const char *critical_who_text(struct span_builder *b, const struct critical_who *who)
{
	if (!who->name)
		return "a thread that is not known";
	if (strcmp(who->name, "?") == 0) /* it was not recorded itself */
		return builder_text(b, "a thread that was not recorded (tid %u)", who->tid);
	if (who->tid == who->pid)
		return builder_text(b, "%s (pid %u)", who->name, who->pid);
	return builder_text(b, "%s (pid %u, thread %u)", who->name, who->pid, who->tid);
}

/* ---- waits ---- */

static const char *peer_text(struct span_builder *b, const struct partial *p,
			     const struct critical_segment *s)
{
	const struct file_ref *file = s->wake.file.kind ? &s->wake.file : &s->file;
	const struct fact_socket *socket = NULL;
	char name[NAME_BYTES];

	if (file->kind == FILE_KIND_tcp || file->kind == FILE_KIND_udp)
		socket = query_socket(p, file->key, s->local_ns);
	if (!socket || !socket->socket.remote_port)
		return "for bytes from a peer that was not recorded";
	return builder_text(b, "for bytes from %s, which was not recorded",
			    peer_name(p, socket, name, sizeof(name)));
}

static const char *disk_text(struct span_builder *b, const struct critical_segment *s)
{
	if (!s->wake.block)
		return "for a disk";
	return builder_text(b, "for the disk %s to %s",
			    block_device(b, WAKE_BLOCK_DEV(s->wake.block)),
			    block_operation(WAKE_BLOCK_FLAGS(s->wake.block)));
}

const char *critical_wait_text(struct span_builder *b, const struct partial *p,
			       const struct critical_segment *s)
{
	if (s->wake.block)
		return disk_text(b, s);
	switch (s->part) {
	case SPLIT_disk:
		return disk_text(b, s);
	case SPLIT_network:
		if (s->wake.has && s->wake.context == WAKE_timer)
			return "for a timer, or for bytes that did not come";
		return peer_text(b, p, s);
	case SPLIT_lock:
		return "for a lock";
	case SPLIT_timer:
		return "for a time that it had set itself (sleep or timer)";
	case SPLIT_ipc:
		return "for another program of this host, through a pipe or the like";
	case SPLIT_fault:
		return "for a page of memory";
	case SPLIT_child:
		return "for a child process to end";
	case SPLIT_throttled:
		return "since its cgroup had used up its CPU quota";
	}
	return "for something that is not known";
}

static void waiting_describe(struct critical_row *row, struct span_builder *b,
			     const struct requests *r, const struct critical_segment *s)
{
	const struct partial *p = r->hosts[s->host].p;
	bool by_thread = s->wake.has && s->wake.context == WAKE_task && s->wake.waker_tid;

	row->cause = split_part_name(s->part);
	row->verb = "waited";
	row->rest = critical_wait_text(b, p, s);
	if (!by_thread || s->wake.waker_tid == s->tid)
		return;
	row->by = critical_who_of(b, r, s->host, s->wake.waker_tid, s->wake.time_ns);
	row->rest = builder_text(b, "%s, which %s ended", row->rest,
				 critical_who_text(b, &row->by));
}

static void runnable_describe(struct critical_row *row, struct span_builder *b,
			      const struct requests *r, const struct critical_segment *s)
{
	u32 tid = s->had_cpu ? s->had_cpu - LIFE_HAD_CPU(0) : 0;
	u64 end_ns = s->local_ns + (s->end_ns - s->begin_ns);

	row->state = "runnable";
	row->cause = split_part_name(s->part);
	row->verb = "waited";
	if (s->part == SPLIT_throttled) {
		row->rest = "for a CPU, since its cgroup had used up its CPU quota";
		return;
	}
	row->rest = s->had_cpu && !tid ? "for an idle CPU to wake up" : "for a CPU";
	if (!tid)
		return;
	row->by = critical_who_of(b, r, s->host, tid, end_ns);
	row->rest = builder_text(b, "for a CPU, which %s had", critical_who_text(b, &row->by));
}

/* ---- all of them ---- */

void critical_describe(struct critical_row *row, struct span_builder *b, const struct requests *r,
		       const struct critical_segment *s)
{
	b->p = r->hosts[s->host].p;
	row->who = critical_who_of(b, r, s->host, s->tid, s->local_ns);
	row->subject = critical_who_text(b, &row->who);
	row->rest = "";
	switch (s->state) {
	case CRITICAL_RUNNING:
		row->state = "running";
		row->cause = "cpu";
		row->verb = "ran";
		return;
	case CRITICAL_BUSY:
		row->state = "busy";
		row->cause = "queue";
		row->verb = "ran";
		row->rest = "with other work, before it took this up";
		return;
	case CRITICAL_RUNNABLE:
		runnable_describe(row, b, r, s);
		return;
	case CRITICAL_WAITING:
		row->state = "waiting";
		waiting_describe(row, b, r, s);
		return;
	case CRITICAL_NETWORK:
		row->state = "network";
		row->cause = "network";
		row->verb = "waited";
		row->rest = s->wake.has && s->wake.context == WAKE_timer
				    ? "for bytes that a timer sent on (Nagle's algorithm with a "
				      "delayed acknowledgement, or a loss)"
				    : "for bytes that were on their way to it";
		return;
	}
	row->state = row->cause = "unknown";
	row->verb = "did";
	row->rest = "what is not known: the recording has nothing about it";
}
