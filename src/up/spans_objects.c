/* SPDX-License-Identifier: Apache-2.0 */
/* What kernel spans worked on, or waited for, as attributes. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "map/fact/kind.h"
#include "map/fact/query.h"
#include "model/file_name.h"
#include "request/program_name.h"
#include "up/spans_internal.h"

#define PROGRAM_BYTES 256

/* All of it is in the pool; NULL and 0: not known. */
struct told_object {
	const char *path, *address, *program, *cgroup;
	u16 port;
};

static u64 object_hash(const struct kspan *k)
{
	u64 of = k->file.kind ? hash_pair(k->file.key, (u64)k->file.dev << 32 | k->file.kind)
			      : hash_pair(k->part, 0);

	return hash_pair(of, k->pid);
}

static bool may_have_object(const struct kspan *k)
{
	return k->file.kind || (k->kind == KSPAN_WAIT && k->part == SPLIT_throttled);
}

/* Whether the peer is whom this end asked: another one has a port that says nothing. */
static bool asks(const struct fact_socket *s)
{
	u16 side = socket_side(&s->socket);

	return side & FILE_MADE || (!side && s->socket.remote_port < 32768);
}

static const char *address_keep(struct spans *s, const struct record_socket *socket)
{
	static const u8 mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN] = "";
	u8 bytes[16];
	bool is_v4;

	memcpy(bytes, &socket->remote_hi, 8);
	memcpy(bytes + 8, &socket->remote_lo, 8);
	is_v4 = socket->family == AF_INET || memcmp(bytes, mapped, sizeof(mapped)) == 0;
	inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? bytes + 12 : bytes, text, sizeof(text));
	return text_keep(s, text);
}

/* NULL: it is not known. */
static const char *program_keep(struct spans *s, const struct partial *p, u32 pid, u64 time_ns)
{
	char text[PROGRAM_BYTES];

	program_name(p, pid, time_ns, text, sizeof(text));
	return strcmp(text, "?") == 0 ? NULL : text_keep(s, text);
}

static int object_keep(struct spans *s, const struct handed_span *handed, const struct kspan *k,
		       struct told_object *to)
{
	struct object found;
	int err = object_find(&s->objects, handed, k, &found);

	if (err)
		return err;
	if (found.path)
		to->path = text_keep(s, found.path);
	if (found.cgroup)
		to->cgroup = text_keep(s, found.cgroup);
	if (found.socket && asks(found.socket)) {
		to->address = address_keep(s, &found.socket->socket);
		to->port = found.socket->socket.remote_port;
		if (found.server_pid)
			to->program = program_keep(s, handed->partial, found.server_pid, k->end_ns);
	}
	return (found.path && !to->path) || (found.cgroup && !to->cgroup) ? -ENOMEM : 0;
}

int told_objects_keep(struct spans *s, const struct handed_span *handed)
{
	int err = 0;

	for (size_t i = 0; i < handed->children_count && handed->partial && !err; i++) {
		const struct kspan *k = &handed->children[i];
		struct told_object *told;
		u64 hash = object_hash(k);

		if (!may_have_object(k) || map_get(&s->told, hash))
			continue;
		told = pool_alloc(&s->pool, 1, sizeof(*told));
		err = told ? object_keep(s, handed, k, told) : -ENOMEM;
		err = err ? err : map_put(&s->told, hash, told);
	}
	return err;
}

void told_object_add(struct spans *s, const struct kspan *k, struct list *list)
{
	const struct told_object *told = may_have_object(k) ? map_get(&s->told, object_hash(k))
							    : NULL;
	char text[64];
	const char *name = told ? told->path : NULL;

	if (!name && k->file.kind && file_name(text, sizeof(text), &k->file))
		name = text_keep(s, text);
	if (name)
		list_text(list, "fd.name", name);
	if (!told)
		return;
	if (told->address) {
		list_text(list, "network.peer.address", told->address);
		list_number(list, "network.peer.port", told->port);
	}
	if (told->program)
		list_text(list, "peer.program", told->program);
	if (told->cgroup)
		list_text(list, "cgroup", told->cgroup);
}
