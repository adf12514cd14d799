/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of calls, files, waits, requests to disks, events, and functions. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "answer/keys.h"
#include "answer/peer_name.h"
#include "answer/peer_server.h"
#include "answer/process_name.h"
#include "answer/profile.h"
#include "map/fact/query.h"
#include "model/file_name.h"
#include "model/syscall_format.h"
#include "model/uring.h"

/* A call that is not in the table is named as strace does. */
bool key_tell_syscall(const struct subject *s, struct key_value *value)
{
	u16 nr = sum_call_nr(s->call);

	if (s->call & SUM_CALL_NONE)
		return false;
	if (s->call & SUM_CALL_URING) {
		value->text = uring_name((u8)nr);
		snprintf(value->buffer, sizeof(value->buffer), "io_uring 0x%x", nr);
	} else {
		value->text = syscall_name(s->call & SUM_CALL_COMPAT ? SYSCALL_COMPAT : 0, nr);
		snprintf(value->buffer, sizeof(value->buffer), "syscall_0x%x", nr);
	}
	if (!value->text)
		value->text = value->buffer;
	return true;
}

/* Only calls that failed. */
bool key_tell_errno(const struct subject *s, struct key_value *value)
{
	u32 number = sum_error(s->sum->key);

	if (!number)
		return false;
	value->text = syscall_errno_name((int)number);
	snprintf(value->buffer, sizeof(value->buffer), "errno %u", number);
	if (!value->text)
		value->text = value->buffer;
	return true;
}

bool key_tell_file(const struct subject *s, struct key_value *value)
{
	static const char *const kinds[] = {
#define V(name, value) [value] = #name,
		RECORD_FILE_KINDS(V)
#undef V
	};
	const struct file_ref *file = &s->sum->file;
	u32 mounts;

	if (!file->kind)
		return false;
	value->text = opening_path(s->p, s->sum, &mounts);
	if (value->text && mounts) {
		snprintf(value->buffer, sizeof(value->buffer), "%u:%s", mounts, value->text);
		value->identity = value->buffer;
	}
	if (!value->text && file->key)
		value->text = query_sole_path(s->p, s->sum->pid, file);
	if (value->text)
		return true;
	if (file_is_of_fd(file)) /* nobody knows what the descriptor stood for */
		return false;
	value->text = value->buffer;
	if (!file_name(value->buffer, sizeof(value->buffer), file))
		snprintf(value->buffer, sizeof(value->buffer), "%s:[%llu]",
			 file->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[file->kind] : "?",
			 (unsigned long long)file->key);
	return true;
}

/* One path in two mount namespaces is two files. */
int key_describe_file(struct rows *rows, const struct subject *s, struct row *row)
{
	u32 mounts;

	(void)rows;
	opening_path(s->p, s->sum, &mounts);
	row->mount_namespace = mounts;
	return 0;
}

/* The network namespace in which an address is a peer; 0: the peer has no such address. */
static u64 peer_namespace(const struct fact_socket *socket)
{
	return socket->socket.family == AF_UNIX ? 0 : socket->socket.netns;
}

/* What serves at the other end of a connection or, if it was accepted, at this one; NULL: unknown.
 */
static char *serving_name(const struct subject *s, const struct fact_socket *socket, char *text,
			  size_t size)
{
	u16 own_port = query_socket_accepted(s->p, socket);

	return s->servers ? peer_server_name(s->servers, socket, own_port, text, size) : NULL;
}

int key_describe_peer(struct rows *rows, const struct subject *s, struct row *row)
{
	const struct fact_socket *socket = opening_socket(s->p, s->sum);
	char name[KEY_TEXT_BYTES];

	row->network_namespace = peer_namespace(socket);
	if (row->service || !serving_name(s, socket, name, sizeof(name)))
		return 0;
	row->service = rows_text(rows, "%s", name);
	return row->service ? 0 : -ENOMEM;
}

/*
 * A service has one row for all addresses at which it serves a port. One address in two network
 * namespaces is two peers.
 */
static void peer_identify(const struct subject *s, const struct fact_socket *socket, u16 accepted,
			  struct key_value *value)
{
	char name[KEY_TEXT_BYTES];
	bool known = serving_name(s, socket, name, sizeof(name));
	u16 port = accepted ? accepted : socket->socket.remote_port;
	size_t size = sizeof(value->identity_buffer);

	value->address = known && !accepted ? value->text : NULL;
	if (!peer_namespace(socket) && !known)
		return;
	value->identity = value->identity_buffer;
	if (known)
		snprintf(value->identity_buffer, size, "%.150s %s :%u %llx", name,
			 accepted ? "serves" : "is called", port,
			 (unsigned long long)peer_namespace(socket));
	else
		snprintf(value->identity_buffer, size, "%.150s %llx", value->text,
			 (unsigned long long)peer_namespace(socket));
}

bool key_tell_peer(const struct subject *s, struct key_value *value)
{
	const struct fact_socket *socket = opening_socket(s->p, s->sum);
	u16 port;

	if (!socket || !peer_is_known(s->p, socket))
		return false;
	port = query_socket_accepted(s->p, socket);
	value->text = value->buffer;
	if (port) /* each client has a port of its own, which tells nothing */
		snprintf(value->buffer, sizeof(value->buffer), "clients of :%u", port);
	else
		peer_name(s->p, socket, value->buffer, KEY_TEXT_BYTES);
	peer_identify(s, socket, port, value);
	return true;
}

bool key_tell_cause(const struct subject *s, struct key_value *value)
{
	value->text = split_part_name((unsigned int)s->part);
	return value->text;
}

bool key_tell_waker(const struct subject *s, struct key_value *value)
{
	static const char *const kinds[] = {
		[WAKE_softirq] = "softirq", [WAKE_hardirq] = "interrupt", [WAKE_timer] = "timer"};
	u64 key = s->sum->key;
	u32 tid = (u32)(key >> SUM_WAIT_TID_SHIFT);
	u32 kind = (key >> SUM_WAIT_WAKER_SHIFT & SUM_WAIT_WAKER_MASK);

	if (!kind || kind == SUM_WAIT_HAD_CPU) /* its end was not seen, or nobody had to wake it */
		return false;
	kind--;
	value->text = value->buffer;
	if (tid)
		snprintf(value->buffer, sizeof(value->buffer), "%s (tid %u)",
			 name_comm(s->p, tid, UINT64_MAX), tid);
	else
		value->text = kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[kind] ? kinds[kind]
										     : "unknown";
	return true;
}

bool key_tell_preempted_by(const struct subject *s, struct key_value *value)
{
	u64 key = s->sum->key;
	u32 tid = (u32)(key >> SUM_WAIT_TID_SHIFT);

	if ((key >> SUM_WAIT_WAKER_SHIFT & SUM_WAIT_WAKER_MASK) != SUM_WAIT_HAD_CPU)
		return false;
	value->text = value->buffer;
	if (tid)
		snprintf(value->buffer, sizeof(value->buffer), "%s (tid %u)",
			 name_comm(s->p, tid, UINT64_MAX), tid);
	else
		value->text = "nobody (the CPU was idle)";
	return true;
}

/* Locks are told apart by their address, which belongs to a process. */
bool key_tell_lock(const struct subject *s, struct key_value *value)
{
	u16 nr = sum_call_nr(s->call);
	bool compat = s->call & SUM_CALL_COMPAT;
	int native = compat ? syscall_native(nr) : nr;
	const char *name;

	if (s->call & SUM_CALL_NONE || !s->sum->file.key || s->sum->file.kind ||
	    (native != SYSCALL_NR_futex && native != SYSCALL_NR_futex_wait))
		return false;
	name = query_comm(s->p, s->sum->pid, UINT64_MAX);
	snprintf(value->buffer, sizeof(value->buffer), "0x%llx of %s (%u)",
		 (unsigned long long)s->sum->file.key, name ? name : "?", s->sum->pid);
	value->text = value->buffer;
	return true;
}

bool key_tell_device(const struct subject *s, struct key_value *value)
{
	u32 dev = (u32)s->sum->key;

	value->text = query_device_name(s->p, dev);
	if (value->text)
		return true;
	snprintf(value->buffer, sizeof(value->buffer), "%u:%u", dev >> 20, dev & 0xfffff);
	value->text = value->buffer;
	return true;
}

/* The name ends with NUL. Without its format an event has a number. */
bool key_tell_event(const struct subject *s, struct key_value *value)
{
	const struct event_text *format = query_event_format(s->p, (u32)s->sum->key);

	value->text = format ? format->text : value->buffer;
	if (!format)
		snprintf(value->buffer, sizeof(value->buffer), "event:%llu",
			 (unsigned long long)s->sum->key);
	return true;
}

bool key_tell_function(const struct subject *s, struct key_value *value)
{
	static const char *const marks[] = {
		[PROFILE_KERNEL] = " [kernel]", [PROFILE_JIT] = " [jit]"};
	const struct profile_function *f = s->function;

	if (f->kind == PROFILE_CAUSE || f->kind == PROFILE_MORE)
		return false;
	value->text = value->buffer;
	snprintf(value->buffer, sizeof(value->buffer), "%s%s", f->name,
		 f->kind < 3 && marks[f->kind] ? marks[f->kind] : "");
	return true;
}
