/* SPDX-License-Identifier: Apache-2.0 */
#include "request/ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/order.h"
#include "map/fact/bytes.h"
#include "map/fact/kind.h"

#define NO_END UINT32_MAX
#define RANGE_LIGHTS_MOST 0x7fffffffu /* the bits of byte_range.light */

/* One host whose ends are being found. */
struct finding {
	struct connection_ends *out;
	const struct partial *p;
	u32 host;
	u32 first;	    /* its first end */
	struct map by_key;  /* key -> its first end, + 1: those of a key follow each other */
	VEC(u32) of_range;  /* of each fact: its end, or NO_END */
	VEC(size_t) counts; /* of each end and direction */
};

/* ---- sockets ---- */

/* Whether two facts of one number are of one socket: a later one may know more. */
static bool same_socket(const struct record_socket *a, const struct record_socket *b)
{
	if (a->family == AF_UNIX || b->family == AF_UNIX)
		return a->family == b->family && (!a->peer || !b->peer || a->peer == b->peer);
	if (!a->remote_port)
		return !a->local_port || a->local_port == b->local_port;
	return a->remote_port == b->remote_port && a->remote_hi == b->remote_hi &&
	       a->remote_lo == b->remote_lo && a->netns == b->netns &&
	       (!a->local_port || a->local_port == b->local_port);
}

static bool is_stream(const struct record_socket *s)
{
	return s->file.kind == FILE_KIND_tcp || s->file.kind == FILE_KIND_unix;
}

static int end_add(struct finding *f, u64 key, const struct fact_socket *socket, u64 from_ns)
{
	struct socket_end end = {.key = key,
				 .host = f->host,
				 .socket = socket,
				 .sides = socket ? socket_side(&socket->socket) : 0,
				 .from_ns = from_ns,
				 .told_ns = socket ? socket->time_ns : 0};
	int err = vec_push(&f->out->list, end);

	if (!err && !map_get(&f->by_key, key))
		err = map_put(&f->by_key, key, (void *)(uintptr_t)f->out->list.count);
	return err;
}

/* Facts are sorted by number and time. */
static int sockets_find(struct finding *f)
{
	const struct fact_socket *list = f->p->facts.sockets.data;
	int err = 0;

	for (size_t i = 0; i < f->p->facts.sockets.count && !err; i++) {
		const struct record_socket *r = &list[i].socket;
		struct socket_end *last = f->out->list.count > f->first
						  ? &f->out->list.data[f->out->list.count - 1]
						  : NULL;
		bool again = last && last->key == r->file.key;

		if (!is_stream(r))
			continue;
		if (again && same_socket(&last->socket->socket, r)) {
			last->sides |= socket_side(r);
			last->socket = &list[i];
		} else {
			err = end_add(f, r->file.key, &list[i], again ? list[i].time_ns : 0);
		}
	}
	return err;
}

/* The end for which a number stood at a time; NO_END: none is known. */
static u32 end_at(const struct finding *f, u64 key, u64 time_ns)
{
	u32 at = (u32)(uintptr_t)map_get(&f->by_key, key);

	if (!at)
		return NO_END;
	for (at--; at + 1 < f->out->list.count; at++) {
		const struct socket_end *next = &f->out->list.data[at + 1];

		if (next->key != key || next->from_ns > time_ns)
			break;
	}
	return at;
}

/* ---- ranges ---- */

/* The end of a range; NO_END: it says nothing of a stream. */
static int range_end(struct finding *f, const struct fact_bytes *b, u32 *end)
{
	int err = 0;

	*end = NO_END;
	if (b->flags & BYTES_MESSAGE || !b->length || b->length > UINT64_MAX - b->from)
		return 0;
	if (b->flags & BYTES_UNSURE) {
		f->out->unsure++;
		return 0;
	}
	*end = end_at(f, b->key, b->time_ns);
	if (*end == NO_END)
		err = end_add(f, b->key, NULL, 0);
	if (*end == NO_END)
		*end = (u32)f->out->list.count - 1;
	return err;
}

static int ranges_count(struct finding *f)
{
	const struct thread_facts *all = &f->p->facts.bytes;
	struct thread_place place = {0};
	const struct fact_bytes *b;
	int err = vec_reserve(&f->of_range, all->count);

	while (!err && (b = thread_facts_next(all, sizeof(*b), &place))) {
		u32 end;

		err = range_end(f, b, &end);
		err = err ? err : vec_push(&f->of_range, end);
	}
	err = err ? err : vec_reserve(&f->counts, 2 * (f->out->list.count - f->first) + 1);
	if (err)
		return err;
	f->counts.count = 2 * (f->out->list.count - f->first);
	memset(f->counts.data, 0, (f->counts.count + 1) * sizeof(*f->counts.data));
	place = (struct thread_place){0};
	for (size_t i = 0; (b = thread_facts_next(all, sizeof(*b), &place)); i++)
		if (f->of_range.data[i] != NO_END)
			f->counts.data[2 * (f->of_range.data[i] - f->first) +
				       (b->direction == BYTES_RECEIVED)]++;
	return 0;
}

/* The number of the light thread that moved bytes. 0 or -ENOMEM. */
static int light_add(struct connection_ends *ends, const struct fact_bytes *b,
		     struct byte_range *range)
{
	int err = ends->lights.count ? 0 : vec_push(&ends->lights, (struct range_light){0});

	if (!b->light)
		return 0;
	err = err ? err : vec_push(&ends->lights, ((struct range_light){b->light, b->light_maker}));
	if (!err)
		range->light = (u32)(ends->lights.count - 1) & RANGE_LIGHTS_MOST;
	return err;
}

/* Puts the ranges of each end and direction together. */
static int ranges_fill(struct finding *f)
{
	const struct thread_facts *all = &f->p->facts.bytes;
	struct thread_place place = {0};
	const struct fact_bytes *b;
	size_t base = f->out->ranges.count, sum = 0;
	int err = vec_reserve(&f->out->ranges, f->of_range.count);

	if (err)
		return err;
	for (size_t i = 0; i < f->counts.count; i++) {
		size_t count = f->counts.data[i];

		f->counts.data[i] = sum;
		sum += count;
	}
	for (size_t i = 0; !err && (b = thread_facts_next(all, sizeof(*b), &place)); i++) {
		size_t list, at;

		if (f->of_range.data[i] == NO_END)
			continue;
		list = 2 * (f->of_range.data[i] - f->first) + (b->direction == BYTES_RECEIVED);
		at = base + f->counts.data[list]++;
		f->out->ranges.data[at] = (struct byte_range){.from = b->from,
							      .to = b->from + b->length,
							      .time_ns = b->time_ns,
							      .tid = b->tid};
		err = light_add(f->out, b, &f->out->ranges.data[at]);
	}
	f->out->ranges.count = base + sum;
	return err;
}

static int range_compare(const void *a, const void *b)
{
	const struct byte_range *x = a, *y = b;

	COMPARE(x->from, y->from);
	COMPARE(x->to, y->to);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->tid, y->tid);
	return 0;
}

static void ranges_sort(struct byte_range *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (range_compare(&list[i - 1], &list[i]) > 0) {
			qsort(list, count, sizeof(*list), range_compare);
			return;
		}
	}
}

/*
 * Notes holes. Bytes that were told twice, as only a hostile recording or a reused number has them,
 * count once. Returns how many ranges are left.
 */
static size_t ranges_clean(struct byte_range *list, size_t count)
{
	size_t kept = 0;
	u64 to = 0;

	for (size_t i = 0; i < count; i++) {
		struct byte_range r = list[i];

		if (kept && r.to <= to)
			continue;
		if (kept && r.from < to)
			r.from = to;
		r.hole = kept && r.from > to;
		to = r.to;
		list[kept++] = r;
	}
	return kept;
}

/* Gives each end its ranges. They point to memory that may still move: see ranges_point(). */
static void ranges_give(struct finding *f)
{
	size_t base = f->out->ranges.count, lists = f->counts.count;

	base -= lists ? f->counts.data[lists - 1] : 0;
	for (size_t i = 0; i < lists; i++) {
		struct socket_end *end = &f->out->list.data[f->first + i / 2];
		struct byte_ranges *to = i & 1 ? &end->received : &end->sent;
		size_t first = i ? f->counts.data[i - 1] : 0;
		size_t count = f->counts.data[i] - first;
		struct byte_range *list = count ? f->out->ranges.data + base + first : NULL;

		ranges_sort(list, count);
		to->count = ranges_clean(list, count);
		to->data = (const void *)(uintptr_t)(base + first);
		for (size_t k = 0; k < to->count; k++) {
			u64 time_ns = list[k].time_ns;

			if (!end->first_ns || time_ns < end->first_ns)
				end->first_ns = time_ns;
			if (time_ns > end->last_ns)
				end->last_ns = time_ns;
		}
	}
}

/* Numbers of ranges become pointers once no more come. */
static void ranges_point(struct connection_ends *ends)
{
	for (size_t i = 0; i < ends->list.count; i++) {
		struct socket_end *end = &ends->list.data[i];

		if (end->sent.count)
			end->sent.data = ends->ranges.data + (uintptr_t)end->sent.data;
		if (end->received.count)
			end->received.data = ends->ranges.data + (uintptr_t)end->received.data;
	}
}

/* ---- peers ---- */

/* The end that the kernel told as the other one of a connection, told at either end. */
static void peers_find(struct finding *f)
{
	for (u32 i = f->first; i < f->out->list.count; i++) {
		struct socket_end *end = &f->out->list.data[i];
		u64 key = end->socket ? end->socket->socket.peer : 0;
		u32 other = key ? end_at(f, key, end->last_ns ? end->last_ns : end->told_ns)
				: NO_END;

		if (other == NO_END || other == i)
			continue;
		end->peer = other + 1;
		if (!f->out->list.data[other].peer)
			f->out->list.data[other].peer = i + 1;
	}
}

static int host_find(struct finding *f)
{
	int err = sockets_find(f);

	err = err ? err : ranges_count(f);
	err = err ? err : ranges_fill(f);
	if (!err) {
		ranges_give(f);
		peers_find(f);
	}
	return err;
}

int connection_ends_find(struct connection_ends *out, const struct request_host *hosts,
			 size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct finding f = {
			.out = out, .p = hosts[i].p, .host = (u32)i, .first = (u32)out->list.count};

		err = host_find(&f);
		map_free(&f.by_key);
		vec_free(&f.of_range);
		vec_free(&f.counts);
	}
	if (!err)
		ranges_point(out);
	return err;
}

void connection_ends_free(struct connection_ends *ends)
{
	vec_free(&ends->list);
	vec_free(&ends->ranges);
	vec_free(&ends->lights);
}
