/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_waker.h"

#include <arpa/inet.h>
#include <string.h>

#include "answer/peer_name.h"
#include "answer/span_block.h"
#include "map/fact/query.h"
#include "model/file_name.h"

static const char *socket_text(struct span_builder *b, const struct file_ref *file, u64 time_ns)
{
	const struct fact_socket *s = query_socket(b->p, file->key, time_ns);
	char name[256];

	if (!s || !s->socket.remote_port ||
	    (s->socket.family != AF_INET && s->socket.family != AF_INET6))
		return "network socket";
	return builder_text(b, "network socket %s", peer_name(b->p, s, name, sizeof(name)));
}

static const char *file_text(struct span_builder *b, const struct file_ref *file, u64 time_ns)
{
	const char *path = query_file_path(b->p, 0, file, time_ns);
	char name[64];

	switch (file->kind) {
	case FILE_KIND_tcp:
	case FILE_KIND_udp:
	case FILE_KIND_socket_other:
		return socket_text(b, file, time_ns);
	case FILE_KIND_unix:
		return "unix socket";
	case FILE_KIND_netlink:
		return "netlink socket";
	}
	if (path)
		return builder_copy(b, path);
	return file_name(name, sizeof(name), file) ? builder_copy(b, name) : NULL;
}

static const char *block_text(struct span_builder *b, u64 block)
{
	u32 dev = WAKE_BLOCK_DEV(block), flags = WAKE_BLOCK_FLAGS(block);

	return builder_text(b, "disk %s %s%s", block_device(b, dev), block_operation(flags),
			    flags & BLOCK_FAILED ? ", failed" : "");
}

static const char *thread_text(struct span_builder *b, u32 tid, u64 time_ns)
{
	const char *comm = query_comm(b->p, tid, time_ns);

	return comm ? builder_text(b, "%s/%u", comm, tid) : builder_text(b, "%u", tid);
}

static const char *softirq_text(struct span_builder *b, u8 vector)
{
	static const char *const names[] = {"hi",	"timer",   "net_tx", "net_rx",	"block",
					    "irq_poll", "tasklet", "sched",  "hrtimer", "rcu"};

	return vector < sizeof(names) / sizeof(names[0])
		       ? builder_text(b, "softirq %s", names[vector])
		       : builder_text(b, "softirq %u", vector);
}

/* The code that woke the thread, as it was seen. */
static const char *context_text(struct span_builder *b, const struct life_wake *wake)
{
	switch (wake->context) {
	case WAKE_task:
		return "task";
	case WAKE_softirq:
		return softirq_text(b, wake->vector);
	case WAKE_hardirq:
		if (wake->irq == WAKE_IRQ_NONE)
			return "interrupt";
		return builder_text(b, "interrupt %u", wake->irq);
	case WAKE_timer:
		return "timer";
	case WAKE_kernel_thread:
		return thread_text(b, wake->waker_tid, wake->time_ns);
	}
	return "unknown";
}

void span_add_waker(struct span_builder *b, const struct life_wake *wake)
{
	const char *from = context_text(b, wake), *served = NULL;

	if (wake->context == WAKE_task) {
		builder_string(b, "waker", thread_text(b, wake->waker_tid, wake->time_ns));
		builder_integer(b, "waker.tid", wake->waker_tid);
		return;
	}
	if (wake->block)
		served = block_text(b, wake->block);
	else if (wake->file.kind)
		served = file_text(b, &wake->file, wake->time_ns);
	builder_string(b, "waker", served ? served : from);
	if (served)
		builder_string(b, "waker.context", from);
	else if (wake->context ==
		 WAKE_kernel_thread) /* not on behalf of another, as far as is known */
		builder_integer(b, "waker.tid", wake->waker_tid);
}

void span_add_owner(struct span_builder *b, const struct kspan *k)
{
	if (k->file.kind || !(k->file.flags & FILE_NONE_FUTEX) || !k->file.dev)
		return;
	builder_string(b, "lock.owner", thread_text(b, k->file.dev, k->begin_ns));
	builder_integer(b, "lock.owner.tid", k->file.dev);
}

void span_add_had_cpu(struct span_builder *b, const struct kspan *k)
{
	u32 tid = (u32)k->result - LIFE_HAD_CPU(0);

	if (!k->result || k->split.ns[SPLIT_runnable] < SPAN_HAD_CPU_MIN_NS)
		return;
	builder_string(b, "on_cpu_instead", tid ? thread_text(b, tid, k->end_ns) : "nobody");
	if (tid)
		builder_integer(b, "on_cpu_instead.tid", tid);
}
