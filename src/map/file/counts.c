/* SPDX-License-Identifier: Apache-2.0 */
/* Sums with their histograms, and tracepoints that the user chose. */
#include <errno.h>
#include <stdlib.h>

#include "map/checkpoint/internal.h"
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
	archive_u64(a, &sum->count);
	archive_u64(a, &sum->errors);
	archive_u64(a, &sum->read_bytes);
	archive_u64(a, &sum->written_bytes);
	archive_split(a, &sum->split);
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

void whole_sums(struct archive *a, struct partial *p)
{
	archive_sums(a, &p->calls);
	archive_sums(a, &p->call_waits);
	archive_sums(a, &p->waits);
	archive_sums(a, &p->blocks);
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
