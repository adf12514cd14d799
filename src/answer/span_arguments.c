/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_arguments.h"

#include <arpa/inet.h>
#include <string.h>

#include "map/fact/peer.h"
#include "map/fact/query.h"
#include "model/syscall_shapes.h"
#include "record/call_memory.h"

#define EXEC_BYTES 1023 /* of name, program and arguments together, in an exec record */
#define TEXT_BYTES (4 * EXEC_BYTES + 1024) /* octal digits, quotes and commas */

/* Names and addresses are recorded within this time of the begin or the end of their call. */
#define NAMED_NS 100000

/* The arguments of a successful exec; NULL: they were not recorded. */
static const char *exec_arguments(struct span_builder *b, const struct kspan *k)
{
	const struct fact_process *process = query_process(b->p, k->pid, k->end_ns);
	char buffer[TEXT_BYTES] = "";
	struct text t = {.buf = buffer, .size = sizeof(buffer)};
	const char *at, *end;

	if (!process || process->time_ns < k->begin_ns || process->time_ns > k->end_ns)
		return NULL;
	end = process->command + process->command_bytes;
	at = process->command + strlen(process->command) + 1; /* the program */
	at = at < end ? at + strnlen(at, (size_t)(end - at)) + 1 : end;
	text_put(&t, "[");
	for (const char *first = at; at < end; at += strnlen(at, (size_t)(end - at)) + 1) {
		bool cut = process->command_bytes >= EXEC_BYTES &&
			   !memchr(at, '\0', (size_t)(end - at));

		text_put(&t, at == first ? "" : ", ");
		text_put_quoted(&t, at, cut);
	}
	text_put(&t, process->command_bytes >= EXEC_BYTES ? ", ...]" : "]");
	return t.len < sizeof(buffer) ? builder_copy(b, buffer) : NULL;
}

/* The name of the file behind the descriptor that the call returned, without what stands before. */
static const char *result_name(struct span_builder *b, const struct kspan *k, const char *before)
{
	const struct fd_question q = {.tid = k->tid,
				      .pid = k->pid,
				      .fd = (s32)k->result,
				      .time_ns = k->end_ns + NAMED_NS};
	const char *name = query_fd_name(b->p, &q), *deleted;
	char name_copy[256], buffer[4 * sizeof(name_copy) + 3] = "";
	struct text t = {.buf = buffer, .size = sizeof(buffer)};

	if (!name || strncmp(name, before, strlen(before)) != 0)
		return NULL;
	name += strlen(before);
	deleted = strstr(name, " (deleted)");
	if (strlen(name) >= sizeof(name_copy))
		return NULL;
	strcpy(name_copy, name);
	if (deleted && !deleted[strlen(" (deleted)")])
		name_copy[deleted - name] = '\0';
	text_put_quoted(&t, name_copy, false);
	return builder_copy(b, buffer);
}

static void put_unix(struct text *t, const char *path)
{
	text_put(t, "{sa_family=AF_UNIX");
	if (path) {
		text_put(t, path[0] == '@' ? ", sun_path=@" : ", sun_path=");
		text_put_quoted(t, path + (path[0] == '@'), false);
	}
	text_put(t, "}");
}

static void put_internet(struct text *t, const struct record_socket *s)
{
	char address[INET6_ADDRSTRLEN] = "";
	u64 bytes[2] = {s->remote_hi, s->remote_lo};

	if (s->family == AF_INET) {
		inet_ntop(AF_INET, (const char *)bytes + 12, address, sizeof(address));
		text_put(t, "{sa_family=AF_INET, sin_port=htons(%u), sin_addr=inet_addr(\"%s\")}",
			 s->remote_port, address);
	} else {
		inet_ntop(AF_INET6, bytes, address, sizeof(address));
		text_put(t,
			 "{sa_family=AF_INET6, sin6_port=htons(%u), inet_pton(AF_INET6, \"%s\", "
			 "&sin6_addr)}",
			 s->remote_port, address);
	}
}

static const char *address_text(struct span_builder *b, const struct fact_socket *s)
{
	char buffer[1024] = "";
	struct text t = {.buf = buffer, .size = sizeof(buffer)};

	if (s->socket.family == AF_UNIX)
		put_unix(&t, s->path);
	else if (s->socket.family == AF_INET || s->socket.family == AF_INET6)
		put_internet(&t, &s->socket);
	else
		return NULL;
	return builder_copy(b, buffer);
}

/* The address that a connect asked for; NULL: none was recorded. */
static const char *asked_address(struct span_builder *b, const struct kspan *k)
{
	const struct fact_socket *s = query_socket(b->p, k->file.key, k->end_ns);

	if (!s || s->time_ns + NAMED_NS < k->begin_ns || s->time_ns > k->end_ns ||
	    !(s->socket.file.flags & FILE_ASKED))
		return NULL;
	return address_text(b, s);
}

/* The address to which a message was sent; NULL: the call named none, or none was recorded. */
static const char *message_address(struct span_builder *b, const struct kspan *k)
{
	const struct fact_peer *named = query_call_peer(b->p, k);
	struct fact_socket s;

	if (!named)
		return NULL;
	s = peer_socket(named);
	return address_text(b, &s);
}

/* ---- what memory behind an argument holds ---- */

/* Where a record has it. */
struct call_memory {
	int nr;
	u8 what, which, from;
};

/* NULL: the call has none, or it is not known. */
static const struct call_memory *call_memory_of(const struct kspan *k, int nr)
{
	static const struct call_memory all[] = {
#define M(x, call, what, which, from) {SYSCALL_NR_##call, CALL_MEMORY_##what, which, from},
		RECORD_CALL_MEMORY(M, 0)
#undef M
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].nr == nr && !(k->mode & SYSCALL_COMPAT) && k->args[all[i].from])
			return &all[i];
	return NULL;
}

struct polled {
	s32 fd;
	u16 asked, ready;
};

static struct polled polled_of(u64 value)
{
	return (struct polled){(s32)(u32)value, (u16)(value >> 32), (u16)(value >> 48)};
}

/* The elements from `from` on, up to the first that is not known; `ready`: only those, as such. */
static size_t put_polled(struct text *t, const struct kspan *k, int from, bool ready)
{
	size_t read = 0, put = 0;

	for (int i = from; i < CALL_MEMORY_ARGS && k->args[i]; i++, read++) {
		struct polled one = polled_of(k->args[i]);

		if (ready && !one.ready)
			continue;
		text_put(t, "%s{fd=%d, %s=", put++ ? ", " : "", one.fd,
			 ready ? "revents" : "events");
		text_put_flags(t, &set_poll_events, ready ? one.ready : one.asked);
		text_put(t, "}");
	}
	return ready ? put : read;
}

static size_t put_sizes(struct text *t, const struct kspan *k, int from)
{
	size_t read = 0;

	for (int i = 2 * from; i < 2 * CALL_MEMORY_ARGS; i++, read++) {
		u32 size = (u32)(k->args[i / 2] >> (i & 1 ? 32 : 0));

		if (!size)
			break;
		if (size == CALL_MEMORY_SIZE_MAX)
			text_put(t, "%s{iov_len>=%u}", read ? ", " : "", size - 1);
		else
			text_put(t, "%s{iov_len=%u}", read ? ", " : "", size - 1);
	}
	return read;
}

static void memory_show(struct span_builder *b, const struct kspan *k, int nr, const char *shown[6])
{
	const struct call_memory *m = call_memory_of(k, nr);
	char buffer[512] = "";
	struct text t = {.buf = buffer, .size = sizeof(buffer)};
	size_t read;

	if (!m)
		return;
	text_put(&t, "[");
	read = m->what == CALL_MEMORY_polled ? put_polled(&t, k, m->from, false)
					     : put_sizes(&t, k, m->from);
	text_put(&t, read < (u32)k->args[m->which + 1] ? ", ...]" : "]");
	shown[m->which] = builder_copy(b, buffer);
}

const char *span_arguments_ready(struct span_builder *b, const struct kspan *k, int nr)
{
	const struct call_memory *m = k->open || k->result <= 0 ? NULL : call_memory_of(k, nr);
	char buffer[512] = "";
	struct text t = {.buf = buffer, .size = sizeof(buffer)};
	size_t put;

	if (!m || m->what != CALL_MEMORY_polled)
		return NULL;
	text_put(&t, "[");
	put = put_polled(&t, k, m->from, true);
	text_put(&t, put < (u64)k->result ? ", ...]" : "]");
	return put ? builder_copy(b, buffer) : NULL;
}

/* ---- all ---- */

void span_arguments_show(struct span_builder *b, const struct kspan *k, int nr,
			 const char *shown[6])
{
	if (k->open)
		return;
	switch (nr) {
	case SYSCALL_NR_execve:
		shown[1] = k->result == 0 ? exec_arguments(b, k) : NULL;
		break;
	case SYSCALL_NR_execveat:
		shown[2] = k->result == 0 ? exec_arguments(b, k) : NULL;
		break;
	case SYSCALL_NR_memfd_create:
		shown[0] = k->result >= 0 ? result_name(b, k, "/memfd:") : NULL;
		break;
	case SYSCALL_NR_mq_open:
		shown[0] = k->result >= 0 ? result_name(b, k, "/") : NULL;
		break;
	case SYSCALL_NR_connect:
		shown[1] = asked_address(b, k);
		break;
	case SYSCALL_NR_sendto:
		shown[4] = message_address(b, k);
		break;
	default:
		memory_show(b, k, nr, shown);
	}
}
