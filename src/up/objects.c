/* SPDX-License-Identifier: Apache-2.0 */
#include "up/objects.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "map/fact/address.h"
#include "map/fact/containers.h"
#include "map/fact/kind.h"
#include "model/file_name.h"

void objects_reset(struct objects *o)
{
	map_free(&o->paths);
	map_free(&o->sockets);
	map_free(&o->servers);
	memset(o, 0, sizeof(*o));
}

/* pid 0: of any process. */
static u64 file_hash(const struct file_ref *file, u32 pid)
{
	return hash_pair(hash_pair(file->key, (u64)file->dev << 32 | file->kind), pid);
}

/* Whether one inode stands for all files of the kind, or the kernel names them by themselves. */
static bool has_no_path(const struct file_ref *file)
{
	char text[64];

	return (file->kind >= FILE_KIND_eventfd && file->kind <= FILE_KIND_anon_other) ||
	       file->kind == FILE_KIND_fanotify || file_name(text, sizeof(text), file);
}

/* Facts may be in any order. */
static int path_put(struct objects *o, const struct fact_fd *fd, u32 pid)
{
	u64 hash = file_hash(&fd->file, pid);
	const struct fact_fd *known = map_get(&o->paths, hash);

	return known && known->time_ns > fd->time_ns ? 0 : map_put(&o->paths, hash, (void *)fd);
}

static int paths_read(struct objects *o)
{
	const struct facts *f = &o->of->facts;
	int err = 0;

	for (size_t i = 0; i < f->fds.count && !err; i++) {
		const struct fact_fd *fd = &f->fds.data[i];

		if (!fd->path || has_no_path(&fd->file))
			continue;
		err = path_put(o, fd, fd->pid);
		err = err ? err : path_put(o, fd, 0);
	}
	return err;
}

static bool is_internet(const struct record_socket *s)
{
	return s->family == AF_INET || s->family == AF_INET6;
}

static int sockets_read(struct objects *o)
{
	const struct facts *f = &o->of->facts;
	int err = 0;

	for (size_t i = 0; i < f->sockets.count && !err; i++) {
		const struct fact_socket *s = &f->sockets.data[i];

		if (!is_internet(&s->socket))
			continue;
		err = map_put(&o->sockets, s->socket.file.key, (void *)s);
		if (!err && s->pid && s->socket.local_port &&
		    socket_side(&s->socket) & FILE_ACCEPTED)
			err = map_put(&o->servers, address_hash(&s->socket, true), (void *)s);
	}
	return err;
}

static const struct fact_fd *path_of(const struct objects *o, const struct kspan *k)
{
	const struct fact_fd *fd = map_get(&o->paths, file_hash(&k->file, k->pid));

	return fd ? fd : map_get(&o->paths, file_hash(&k->file, 0));
}

static void socket_find(const struct objects *o, const struct kspan *k, struct object *out)
{
	const struct fact_socket *s = map_get(&o->sockets, k->file.key), *server;

	if (!s || !s->socket.remote_port)
		return;
	out->socket = s;
	server = map_get(&o->servers, address_hash(&s->socket, false));
	out->server_pid = server ? server->pid : 0;
}

/* The hierarchy that limits CPU time, as the kernel numbers it; 0 is that of version 2. */
static u32 cpu_hierarchy(void)
{
	FILE *file = fopen("/proc/cgroups", "re");
	char line[128], name[32];
	u32 number, found = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%31s %u", name, &number) == 2 && strcmp(name, "cpu") == 0)
			found = number;
	}
	if (file)
		fclose(file);
	return found;
}

static const char *cgroup_path(const struct facts *f, u32 hierarchy, u64 id)
{
	for (size_t i = 0; i < f->cgroups.count; i++) {
		if (f->cgroups.data[i].id == id && f->cgroups.data[i].hierarchy == hierarchy)
			return f->cgroups.data[i].path;
	}
	return NULL;
}

/* Where processes are is known of the finished partial, the paths of the running one. */
static int cgroup_find(const struct objects *o, const struct handed_span *handed,
		       const struct kspan *k, struct object *out)
{
	struct places places = {0};
	u32 hierarchy = cpu_hierarchy();
	int err = places_find(&handed->partial->facts, k->pid, k->begin_ns, &places);

	for (size_t i = 0; i < places.list.count && !err; i++) {
		if (places.list.data[i].hierarchy == hierarchy)
			out->cgroup = cgroup_path(&o->of->facts, hierarchy,
						  places.list.data[i].cgroup);
	}
	vec_free(&places.list);
	return err;
}

int object_find(struct objects *o, const struct handed_span *handed, const struct kspan *k,
		struct object *out)
{
	const struct fact_fd *fd;
	int err = 0;

	*out = (struct object){0};
	if (!handed->running)
		return 0;
	if (!o->of) {
		o->of = handed->running;
		err = paths_read(o);
		err = err ? err : sockets_read(o);
	}
	if (err)
		return err;
	if (k->kind == KSPAN_WAIT && k->part == SPLIT_throttled)
		return cgroup_find(o, handed, k, out);
	if (k->file.kind == FILE_KIND_tcp || k->file.kind == FILE_KIND_udp) {
		socket_find(o, k, out);
	} else if (k->file.kind && !has_no_path(&k->file)) {
		fd = path_of(o, k);
		out->path = fd ? fd->path : NULL;
	}
	return 0;
}
