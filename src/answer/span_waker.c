/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_waker.h"

#include <arpa/inet.h>
#include <string.h>

#include "answer/span_block.h"
#include "map/fact/query.h"
#include "model/file_name.h"

static const char *socket_text(struct making *m, const struct file_ref *file, u64 time_ns)
{
	const struct fact_socket *s = query_socket(m->p, file->key, time_ns);
	char address[INET6_ADDRSTRLEN] = "";
	u8 bytes[16];

	if (!s || !s->socket.remote_port ||
	    (s->socket.family != AF_INET && s->socket.family != AF_INET6))
		return "network socket";
	memcpy(bytes, &s->socket.remote_hi, 8);
	memcpy(bytes + 8, &s->socket.remote_lo, 8);
	if (s->socket.family == AF_INET) {
		inet_ntop(AF_INET, bytes + 12, address, sizeof(address));
		return making_text(m, "network socket %s:%u", address, s->socket.remote_port);
	}
	inet_ntop(AF_INET6, bytes, address, sizeof(address));
	return making_text(m, "network socket [%s]:%u", address, s->socket.remote_port);
}

static const char *file_text(struct making *m, const struct file_ref *file, u64 time_ns)
{
	const char *path = query_file_path(m->p, 0, file, time_ns);
	char name[64];

	switch (file->kind) {
	case FILE_KIND_tcp:
	case FILE_KIND_udp:
	case FILE_KIND_socket_other:
		return socket_text(m, file, time_ns);
	case FILE_KIND_unix:
		return "unix socket";
	case FILE_KIND_netlink:
		return "netlink socket";
	}
	if (path)
		return making_copy(m, path);
	return file_name(name, sizeof(name), file) ? making_copy(m, name) : NULL;
}

static const char *block_text(struct making *m, u64 block)
{
	u32 dev = WAKE_BLOCK_DEV(block), flags = WAKE_BLOCK_FLAGS(block);

	return making_text(m, "disk %u:%u %s%s", dev >> 20, dev & 0xfffff, block_operation(flags),
			   flags & BLOCK_FAILED ? ", failed" : "");
}

static const char *thread_text(struct making *m, const struct life_wake *wake)
{
	const char *comm = query_comm(m->p, wake->waker_tid, wake->time_ns);

	return comm ? making_text(m, "%s/%u", comm, wake->waker_tid)
		    : making_text(m, "%u", wake->waker_tid);
}

static const char *softirq_text(struct making *m, u8 vector)
{
	static const char *const names[] = {"hi",	"timer",   "net_tx", "net_rx",	"block",
					    "irq_poll", "tasklet", "sched",  "hrtimer", "rcu"};

	return vector < sizeof(names) / sizeof(names[0])
		       ? making_text(m, "softirq %s", names[vector])
		       : making_text(m, "softirq %u", vector);
}

/* The code that woke the thread, as it was seen. */
static const char *context_text(struct making *m, const struct life_wake *wake)
{
	switch (wake->context) {
	case WAKE_task:
		return "task";
	case WAKE_softirq:
		return softirq_text(m, wake->vector);
	case WAKE_hardirq:
		if (wake->irq == WAKE_IRQ_NONE)
			return "interrupt";
		return making_text(m, "interrupt %u", wake->irq);
	case WAKE_timer:
		return "timer";
	case WAKE_kernel_thread:
		return thread_text(m, wake);
	}
	return "unknown";
}

void making_waker(struct making *m, const struct life_wake *wake)
{
	const char *from = context_text(m, wake), *served = NULL;

	if (wake->context == WAKE_task) {
		making_string(m, "waker", thread_text(m, wake));
		making_integer(m, "waker.tid", wake->waker_tid);
		return;
	}
	if (wake->block)
		served = block_text(m, wake->block);
	else if (wake->file.kind)
		served = file_text(m, &wake->file, wake->time_ns);
	making_string(m, "waker", served ? served : from);
	if (served)
		making_string(m, "waker.context", from);
	else if (wake->context ==
		 WAKE_kernel_thread) /* not on behalf of another, as far as is known */
		making_integer(m, "waker.tid", wake->waker_tid);
}
