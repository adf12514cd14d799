/* SPDX-License-Identifier: Apache-2.0 */
/* The values of --by: a function for each, and the table of them. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/group.h"
#include "map/fact/query.h"
#include "map/tree/tree.h"
#include "model/file_name.h"
#include "model/syscall_format.h"
#include "model/uring.h"

static const char *comm_or_unknown(const char *comm)
{
	return comm ? comm : "?";
}

static int fill_spans(struct rows *out, const struct partial *p, bool by_name)
{
	struct span_time *times = calloc(p->spans.count + 1, sizeof(*times));
	int err = times ? span_times(p, times) : -ENOMEM;

	for (size_t i = 0; i < p->spans.count && !err; i++) {
		const struct app_span *s = p->spans.data[i];
		u64 begin_ns = times[i].begin_ns;
		u32 pid = query_span_place(p, s, begin_ns).pid;
		const char *service = query_resource(p, pid, begin_ns, "service.name");
		char id[17], key[2048];
		const char *name = s->name;
		struct group *g;

		if (!partial_in_range(p, times[i].end_ns))
			continue;
		if (!name) { /* only its context was seen */
			snprintf(id, sizeof(id), "%016llx",
				 (unsigned long long)span_number(s->ctx.span));
			name = id;
		}
		snprintf(key, sizeof(key), "%s%c%s", by_name ? name : "", 1,
			 service ? service : "");
		g = group_of(out, key);
		if (!g)
			err = -ENOMEM;
		else if (!g->row.key)
			g->row.key = rows_text(out, "%s", by_name ? name : service ? service : "?");
		if (!err) {
			g->row.service = service;
			err = group_add(g, &times[i].split, times[i].end_ns - times[i].begin_ns,
					s->status == 2);
		}
	}
	free(times);
	return err;
}

static int fill_name(struct rows *out, const struct partial *p)
{
	return fill_spans(out, p, true);
}

static int fill_service(struct rows *out, const struct partial *p)
{
	return fill_spans(out, p, false);
}

/* Whether it ended before the range, or began after it. */
static bool lives_beside(const struct partial *p, const struct life *l)
{
	bool behind = p->options.to_ns && l->origin_ns >= p->options.to_ns;

	return behind || partial_over_before(p, l->state.last_ns);
}

static u32 life_process(const struct partial *p, const struct life *l)
{
	return l->pid ? l->pid : query_pid(p, l->tid, query_held_until(p, l->tid, l->origin_ns));
}

/* Processes with the same pid are distinguished by the time at which another one got the pid. */
static int fill_process(struct rows *out, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct life *l = p->lives.data[i];
		u32 pid = life_process(p, l);
		u64 until_ns = query_held_until(p, pid, l->origin_ns);
		const char *comm = comm_or_unknown(query_comm(p, pid, until_ns));
		struct group *g;
		char key[48];

		if (lives_beside(p, l))
			continue;
		snprintf(key, sizeof(key), "%u %" PRIu64, pid, until_ns);
		g = group_of(out, key);
		if (!g)
			return -ENOMEM;
		g->row.key = g->row.process = comm;
		g->row.pid = pid;
		g->row.absent = ROW_NO_ERRORS;
		err = group_add(g, &l->total, (u64)split_total(&l->total), false);
	}
	return err;
}

/* At most so many lives of the same tid and origin are compared; further ones use their index. */
#define SAME_MOST 16

/*
 * Makes a group for the life at `i`. Its identity is the tid and the origin, and a count if several
 * lives have the same ones, as after an exec by a thread that is not the leader.
 */
static struct group *thread_group(struct rows *out, const struct life *l, size_t i)
{
	for (size_t same = 0;; same++) {
		struct group *g;
		char key[80];

		snprintf(key, sizeof(key), "%u %" PRIu64 " %s%zu", l->tid, l->origin_ns,
			 same < SAME_MOST ? "" : "at ", same < SAME_MOST ? same : i);
		g = group_of(out, key);
		if (!g || !g->row.key)
			return g;
	}
}

static int fill_thread(struct rows *out, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct life *l = p->lives.data[i];
		u64 until_ns = query_held_until(p, l->tid, l->origin_ns);
		struct group *g;

		if (lives_beside(p, l))
			continue;
		if (l->state.place ==
		    LIFE_GONE) /* by an exec, after which the tid can belong to another thread */
			until_ns = l->state.last_ns;
		g = thread_group(out, l, i);
		if (!g)
			return -ENOMEM;
		g->row.pid = life_process(p, l);
		g->row.tid = l->tid;
		g->row.thread = comm_or_unknown(query_comm(p, l->tid, until_ns));
		g->row.process = comm_or_unknown(
			query_comm(p, g->row.pid, query_held_until(p, g->row.pid, l->origin_ns)));
		g->row.key = g->row.thread;
		g->row.absent = ROW_NO_ERRORS;
		err = group_add(g, &l->total, (u64)split_total(&l->total), false);
	}
	return err;
}

static int fill_syscall(struct rows *out, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->syscalls.list.count && !err; i++) {
		const struct sum *sum = &p->syscalls.list.data[i];
		u16 nr = sum->key & 0xffff;
		const char *name = syscall_name(sum->key >> 16 ? SYSCALL_COMPAT : 0, nr);
		struct group *g;

		if (!name) /* not in the table: named as strace does */
			name = rows_text(out, "syscall_0x%x", nr);
		g = name ? group_of(out, name) : NULL;
		if (!g)
			return -ENOMEM;
		g->row.key = name;
		err = group_add_sum(g, sum);
	}
	for (size_t i = 0; i < p->urings.list.count && !err; i++) {
		const struct sum *sum = &p->urings.list.data[i];
		const char *name = uring_name((u8)sum->key);
		struct group *g;

		if (!name)
			name = rows_text(out, "io_uring 0x%llx", (unsigned long long)sum->key);
		g = name ? group_of(out, name) : NULL;
		if (!g)
			return -ENOMEM;
		g->row.key = name;
		err = group_add_sum(g, sum);
	}
	return err;
}

/* A row for each part of the time of all threads; waits also have a count and durations. */
static int fill_cause(struct rows *out, const struct partial *p)
{
	struct split total = {0};
	int err = 0;

	for (size_t i = 0; i < p->lives.count; i++)
		split_add(&total, &p->lives.data[i]->total);
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT && !err; part++) {
		struct group *g = group_of(out, split_part_name(part));

		if (!g)
			return -ENOMEM;
		g->row.key = split_part_name(part);
		g->row.absent = ROW_NO_ERRORS;
		g->row.total_ns = (u64)total.ns[part];
		g->row.time.ns[part] = total.ns[part];
		for (size_t i = 0; i < p->causes.list.count && !err; i++) {
			const struct sum *sum = &p->causes.list.data[i];

			if (sum->key != part)
				continue;
			g->row.count = sum->count;
			err = histogram_merge(&g->durations, &sum->durations);
		}
		if (!g->row.count) /* time on a CPU is not counted */
			g->row.absent |= ROW_NO_PERCENTILES;
	}
	return err;
}

static const char *file_text(const struct partial *p, const struct sum *sum, char buf[256])
{
	static const char *const kinds[] = {
#define V(name, value) [value] = #name,
		RECORD_FILE_KINDS(V)
#undef V
	};
	const char *path = query_file_path(p, sum->pid, &sum->file, UINT64_MAX);

	if (path)
		return path;
	if (file_name(buf, 256, &sum->file))
		return buf;
	snprintf(buf, 256, "%s:[%llu]",
		 sum->file.kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[sum->file.kind] : "?",
		 (unsigned long long)sum->file.key);
	return buf;
}

static int fill_file(struct rows *out, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->files.list.count && !err; i++) {
		const struct sum *sum = &p->files.list.data[i];
		char buf[256];
		const char *name = file_text(p, sum, buf);
		struct group *g = group_of(out, name);

		if (!g)
			return -ENOMEM;
		if (!g->row.key)
			g->row.key = rows_text(out, "%s", name);
		err = group_add_sum(g, sum);
	}
	return err;
}

/* "address:port", "[address]:port", or the path of a Unix socket, or its peer's inode. */
static const char *peer_text(const struct partial *p, const struct fact_socket *s, char buf[256])
{
	const struct record_socket *r = &s->socket;
	char address[INET6_ADDRSTRLEN] = "?";
	u8 bytes[16];

	if (r->family == AF_UNIX) {
		if (s->path)
			snprintf(buf, 256, "unix:%s", s->path);
		else /* a socket pair, which has no name */
			snprintf(buf, 256, "unix:[%llu]",
				 (unsigned long long)query_socket_peer(p, s));
		return buf;
	}
	memcpy(bytes, &r->remote_hi, 8);
	memcpy(bytes + 8, &r->remote_lo, 8);
	if (r->family == AF_INET) {
		inet_ntop(AF_INET, bytes + 12, address, sizeof(address));
		snprintf(buf, 256, "%s:%u", address, r->remote_port);
	} else {
		inet_ntop(AF_INET6, bytes, address, sizeof(address));
		snprintf(buf, 256, "[%s]:%u", address, r->remote_port);
	}
	return buf;
}

static bool socket_has_peer(const struct partial *p, const struct fact_socket *s)
{
	if (s->socket.family == AF_UNIX)
		return s->path || query_socket_peer(p, s);
	return s->socket.remote_port;
}

/* Only a socket: a file on a disk may have the same number. */
static const struct fact_socket *sum_socket(const struct partial *p, const struct sum *sum)
{
	switch (sum->file.kind) {
	case FILE_KIND_tcp:
	case FILE_KIND_udp:
	case FILE_KIND_unix:
		return query_socket(p, sum->file.key, UINT64_MAX);
	default:
		return NULL;
	}
}

static int fill_peer(struct rows *out, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->files.list.count && !err; i++) {
		const struct sum *sum = &p->files.list.data[i];
		const struct fact_socket *s = sum_socket(p, sum);
		struct group *g;
		const char *name;
		char buf[256];

		if (!s || !socket_has_peer(p, s))
			continue;
		name = peer_text(p, s, buf);
		g = group_of(out, name);
		if (!g)
			return -ENOMEM;
		if (!g->row.key)
			g->row.key = rows_text(out, "%s", name);
		err = group_add_sum(g, sum);
	}
	return err;
}

static int fill_event(struct rows *out, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->events.counts.list.count && !err; i++) {
		const struct sum *sum = &p->events.counts.list.data[i];
		const struct event_text *text = query_event_format(p, (u32)sum->key);
		/* the name ends with NUL; without its format an event has a number */
		const char *name = text ? rows_text(out, "%s", text->text)
					: rows_text(out, "event:%llu",
						    (unsigned long long)sum->key);
		struct group *g = name ? group_of(out, name) : NULL;

		if (!g)
			return -ENOMEM;
		g->row.key = name;
		g->row.absent = ROW_NO_ERRORS | ROW_NO_DURATIONS | ROW_NO_SPLIT;
		err = group_add_sum(g, sum);
	}
	return err;
}

const struct grouping groupings[] = {
	{"name", "total", fill_name},	    {"service", "total", fill_service},
	{"process", "cpu", fill_process},   {"thread", "cpu", fill_thread},
	{"syscall", "total", fill_syscall}, {"file", "total", fill_file},
	{"peer", "total", fill_peer},	    {"cause", "total", fill_cause},
	{"event", "count", fill_event},	    {NULL, NULL, NULL},
};

const struct grouping *grouping_find(const char *name)
{
	for (const struct grouping *g = groupings; g->name; g++)
		if (strcmp(g->name, name) == 0)
			return g;
	return NULL;
}

const struct grouping *grouping_default(const struct partial *p)
{
	for (size_t i = 0; i < p->spans.count; i++)
		if (p->spans.data[i]->begun || p->spans.data[i]->ended)
			return grouping_find("name");
	return grouping_find("process");
}
