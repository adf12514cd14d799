/* SPDX-License-Identifier: Apache-2.0 */
/* Sums with their histograms, and tracepoints that the user chose. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/internal.h"
#include "map/fact/kind.h"
#include "map/file/internal.h"
#include "map/kernel/events.h"
#include "map/kernel/kspan_filter.h"
#include "map/kernel/sums.h"
#include "map/partial.h"

/* ---- histograms ---- */

struct buckets { /* a VEC */
	struct histogram_bucket *data;
	size_t count, capacity;
};

static int buckets_of(const struct histogram *h, struct buckets *to)
{
	struct histogram_bucket b;
	int err = 0;

	for (size_t at = 0; !err && histogram_next(h, &at, &b);)
		if (b.count)
			err = vec_push(to, b);
	return err;
}

static void archive_bucket(struct archive *a, struct histogram_bucket *bucket)
{
	archive_u32(a, &bucket->index);
	archive_u64(a, &bucket->count);
}

static void archive_histogram(struct archive *a, struct histogram *h)
{
	struct buckets buckets = {0};
	int err;

	if (!archive_reads(a) && buckets_of(h, &buckets))
		archive_fail(a, -ENOMEM);
	archive_list(a, &buckets, archive_bucket);
	archive_u64(a, &h->min);
	archive_u64(a, &h->max);
	if (archive_reads(a) && !a->err) {
		err = histogram_fill(h, buckets.data, buckets.count, h->min, h->max);
		if (err)
			archive_fail(a, err == -ENOMEM ? err : -EBADMSG);
	}
	vec_free(&buckets);
}

/* ---- sums ---- */

static void archive_sum(struct archive *a, struct sum *sum)
{
	archive_u64(a, &sum->key);
	archive_u32(a, &sum->pid);
	archive_file(a, &sum->file);
	archive_u64(a, &sum->opening);
	archive_u64(a, &sum->count);
	archive_u64(a, &sum->errors);
	archive_u64(a, &sum->read_bytes);
	archive_u64(a, &sum->written_bytes);
	archive_split(a, &sum->split);
	archive_work(a, &sum->idle);
	archive_histogram(a, &sum->durations);
}

static void sums_read(struct archive *a, struct sums *s)
{
	size_t count = archive_count(a, 0);

	for (size_t i = 0; i < count && !a->err; i++) {
		struct sum sum = {0};
		int err;

		archive_sum(a, &sum);
		err = a->err ? 0 : sums_take(s, &sum);
		if (err)
			archive_fail(a, err == -ENOMEM ? err : -EBADMSG);
		histogram_free(&sum.durations);
	}
}

static void archive_sums(struct archive *a, struct sums *s)
{
	if (archive_reads(a)) {
		sums_read(a, s);
		return;
	}
	if (sums_settle(s))
		archive_fail(a, -ENOMEM);
	archive_set(a, &s->list, archive_sum);
}

static void archive_told(struct archive *a, struct opening *o)
{
	struct fact_socket none = {0}, *s = archive_reads(a) ? &none : (void *)o->told;
	const char *path = s->path;

	fact_kind_socket.archive(a, s);
	if (!archive_reads(a) || a->err)
		return;
	path = s->path ? texts_keep(a->texts, s->path, strlen(s->path)) : NULL;
	o->told = arena_take(&a->texts->arena, sizeof(none));
	if (!o->told || !path != !s->path)
		archive_fail(a, -ENOMEM);
	free(s->path);
	s->path = (char *)path;
	if (o->told)
		*(struct fact_socket *)o->told = *s;
	else
		o->kind = OPENING_PATH;
}

static void archive_opening(struct archive *a, struct opening *o)
{
	archive_u8(a, &o->kind);
	archive_shared_path(a, &o->path);
	archive_u32(a, &o->mounts);
	archive_u32(a, &o->pid);
	archive_s32(a, &o->fd);
	archive_u64(a, &o->socket);
	archive_u32(a, &o->dev);
	archive_u16(a, &o->file_kind);
	archive_time(a, &o->first_ns);
	archive_time(a, &o->only_ns);
	if (o->kind == OPENING_SOCKET)
		archive_told(a, o);
	if (o->kind > OPENING_SOCKET_BEFORE || !o->path != (o->kind != OPENING_PATH))
		archive_fail(a, -EBADMSG);
}

static void archive_openings(struct archive *a, struct openings *o)
{
	size_t count;

	if (!archive_reads(a)) {
		archive_set(a, &o->list, archive_opening);
		return;
	}
	count = archive_count(a, 0);
	for (size_t i = 0; i < count && !a->err; i++) {
		struct opening opening = {0};

		archive_opening(a, &opening);
		if (!a->err && openings_take(o, &opening))
			archive_fail(a, -ENOMEM);
	}
}

static void archive_details(struct archive *a, struct details *d)
{
	struct waiting_details all = {0};

	if (!archive_reads(a) && waiting_details_of(d, &all))
		archive_fail(a, -ENOMEM);
	archive_set(a, &all, archive_waiting);
	if (archive_reads(a) && !a->err && waiting_details_put(d, &all))
		archive_fail(a, -ENOMEM);
	vec_free(&all);
}

void whole_sums(struct archive *a, struct partial *p)
{
	archive_details(a, &p->details);
	archive_openings(a, &p->openings);
	archive_sums(a, &p->calls);
	archive_sums(a, &p->call_waits);
	archive_sums(a, &p->waits);
	archive_sums(a, &p->blocks);
	archive_sums(a, &p->futexes);
	archive_sums(a, &p->events.counts);
}

/* ---- events ---- */

static void archive_kevent(struct archive *a, struct kevent *event)
{
	archive_time(a, &event->time_ns);
	archive_u32(a, &event->tid);
	archive_u32(a, &event->pid);
	archive_u32(a, &event->format);
	archive_context(a, &event->ctx);
	archive_text(a, &event->payload, &event->bytes);
	if (!event->payload)
		archive_fail(a, -EBADMSG);
}

/* Keeps only the events that the options ask for. */
static void events_choose(struct partial *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->events.list.count; i++) {
		struct kevent *event = &p->events.list.data[i];

		if (partial_wants(p, &event->ctx, event->pid, event->tid))
			p->events.list.data[kept++] = *event;
		else
			free(event->payload);
	}
	p->events.list.count = kept;
}

void whole_events(struct archive *a, struct partial *p)
{
	int err;

	archive_set(a, &p->events.formats, archive_format);
	archive_set(a, &p->events.list, archive_kevent);
	if (!archive_reads(a) || a->err)
		return;
	events_choose(p);
	err = events_index(&p->events);
	if (err)
		archive_fail(a, err);
}
