/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of the file: "fathomcv", FILE_VERSION (4), known_ns (8), the number of intervals (4);
 * of each its begin, end and count (8 each) and kind (4); and a hash of all that (8).
 */
#include "up/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "chunk/file.h"

#define FILE_NAME "coverage"
#define FILE_VERSION 1
#define HEAD_BYTES 24u
#define INTERVAL_BYTES 28u
#define FILE_BYTES_MAX (HEAD_BYTES + COVERAGE_MAX * INTERVAL_BYTES + 8)
#define NEAR_NS 10000000u	      /* the clocks of neighbours differ by less */
#define SOON_NS UINT64_C(10000000000) /* until the last chunk is mapped */

static const char magic[8] = "fathomcv";

/* ---- the table ---- */

static bool has_count(u32 kind)
{
	return kind == COVERAGE_LOST || kind == COVERAGE_CUT;
}

/* Whether `next`, which begins later, touches or overlaps `last`. */
static bool is_near(const struct coverage_interval *last, const struct coverage_interval *next)
{
	return next->begin_ns <= last->end_ns + NEAR_NS;
}

/* The last interval of the kind that begins then or before; NULL: there is none. */
static struct coverage_interval *last_of(struct coverage_table *t, u32 kind, u64 begin_ns)
{
	for (size_t i = t->list.count; i > 0; i--) {
		struct coverage_interval *found = &t->list.data[i - 1];

		if (found->kind == kind && found->begin_ns <= begin_ns)
			return found;
	}
	return NULL;
}

/* Joins neighbours of the older half that have counts, in pairs. */
static void pairs_join(struct coverage_table *t)
{
	struct coverage_interval *list = t->list.data, *last[COVERAGE_KINDS] = {0};
	size_t half = t->list.count / 2, left = 0;

	for (size_t i = 0; i < t->list.count; i++) {
		struct coverage_interval next = list[i], **single = &last[next.kind];

		if (i < half && has_count(next.kind) && *single && is_near(*single, &next)) {
			(*single)->count += next.count;
			if (next.end_ns > (*single)->end_ns)
				(*single)->end_ns = next.end_ns;
			*single = NULL;
			continue;
		}
		list[left] = next;
		*single = &list[left++];
	}
	t->list.count = left;
}

/* Gives up what ended before the latest of the oldest quarter began. */
static void oldest_drop(struct coverage_table *t)
{
	struct coverage_interval *list = t->list.data;
	size_t left = 0, over;

	t->known_ns = list[t->list.count / 4].begin_ns;
	for (size_t i = 0; i < t->list.count; i++) {
		if (list[i].end_ns > t->known_ns)
			list[left++] = list[i];
	}
	over = left > COVERAGE_MAX ? left - COVERAGE_MAX : 0; /* a clock was set back many times */
	memmove(list, list + over, (left - over) * sizeof(*list));
	t->list.count = left - over;
}

static void table_bound(struct coverage_table *t)
{
	if (t->list.count <= COVERAGE_MAX)
		return;
	pairs_join(t);
	if (t->list.count > COVERAGE_MAX - COVERAGE_MAX / 16)
		oldest_drop(t);
}

static int interval_insert(struct coverage_table *t, const struct coverage_interval *interval)
{
	size_t at = t->list.count;
	int err = vec_push(&t->list, *interval);

	if (err)
		return err;
	while (at && t->list.data[at - 1].begin_ns > interval->begin_ns) {
		t->list.data[at] = t->list.data[at - 1];
		at--;
	}
	t->list.data[at] = *interval;
	table_bound(t);
	return 0;
}

int coverage_add(struct coverage_table *t, const struct coverage_interval *interval)
{
	struct coverage_interval *last;

	if (interval->begin_ns >= interval->end_ns)
		return 0;
	if (!t->known_ns || interval->begin_ns < t->known_ns) /* the clock may have been set back */
		t->known_ns = interval->begin_ns;
	last = last_of(t, interval->kind, interval->begin_ns);
	if (last && interval->end_ns <= last->end_ns)
		return 0;
	if (!last || has_count(interval->kind) || !is_near(last, interval))
		return interval_insert(t, interval);
	last->end_ns = interval->end_ns;
	last->count += interval->count;
	return 0;
}

int coverage_chunk(struct coverage_table *t, const struct chunk_info *info,
		   const struct chunk_lost *lost)
{
	const struct chunk_clock *clock = &info->clock;
	u64 to_ns = lost ? chunk_covers_to(info) : info->end_ns;
	struct coverage_interval one = {.begin_ns = info->begin_ns - clock->monotonic_ns +
						    clock->unix_ns,
					.end_ns = to_ns - clock->monotonic_ns + clock->unix_ns,
					.count = 1,
					.kind = lost ? COVERAGE_RECORDED : COVERAGE_DAMAGED};
	int err;

	if (!clock->unix_ns) /* a chunk so damaged that nothing tells its time */
		return 0;
	err = coverage_add(t, &one);
	if (!lost || err)
		return err;
	one.kind = info->filters & FILTER_BYTES_TURNS ? COVERAGE_TURNS : COVERAGE_NO_BYTES;
	if (info->filters & (FILTER_BYTES | FILTER_BYTES_TURNS))
		err = coverage_add(t, &one);
	one.end_ns = info->end_ns - clock->monotonic_ns + clock->unix_ns;
	one.kind = COVERAGE_LOST;
	one.count = lost->buffer + lost->recursion + lost->application + lost->damaged;
	if (!err && one.count)
		err = coverage_add(t, &one);
	one.kind = COVERAGE_CUT;
	one.count = info->incomplete;
	if (!err && one.count)
		err = coverage_add(t, &one);
	return err;
}

void coverage_free(struct coverage_table *t)
{
	vec_free(&t->list);
	t->known_ns = 0;
}

/* ---- answers ---- */

static void gap_add(struct coverage *out, u64 begin_ns, u64 end_ns, const char *reason)
{
	if (begin_ns < end_ns && out->gaps_count < COVERAGE_GAPS_MAX)
		out->gaps[out->gaps_count++] = (struct coverage_gap){begin_ns, end_ns, reason};
}

/* The end of what was mapped until now. */
static u64 table_end(const struct coverage_table *t, u64 now_ns)
{
	u64 end_ns = 0;

	for (size_t i = 0; i < t->list.count && t->list.data[i].begin_ns <= now_ns; i++) {
		if (t->list.data[i].end_ns > end_ns)
			end_ns = t->list.data[i].end_ns;
	}
	return end_ns;
}

/* A time that is looked at from its begin to its end. */
struct looking {
	struct coverage *out;
	u64 at_ns, to_ns; /* what lies before at_ns is told */
	u64 recorded_ns;
};

/* Recorded, or of a chunk that could not be read. */
static void stretch_look(struct looking *l, const struct coverage_interval *i)
{
	u64 end_ns = i->end_ns < l->to_ns ? i->end_ns : l->to_ns;

	if (i->begin_ns > l->at_ns) {
		gap_add(l->out, l->at_ns, i->begin_ns, "not_recorded");
		l->at_ns = i->begin_ns;
	}
	if (end_ns <= l->at_ns)
		return;
	if (i->kind == COVERAGE_DAMAGED)
		gap_add(l->out, l->at_ns, end_ns, "damaged");
	else
		l->recorded_ns += end_ns - l->at_ns;
	l->at_ns = end_ns;
}

static void interval_look(struct looking *l, const struct coverage_interval *i, u64 from_ns)
{
	switch (i->kind) {
	case COVERAGE_LOST:
		l->out->lost += i->count;
		break;
	case COVERAGE_CUT:
		l->out->incomplete += i->count;
		break;
	case COVERAGE_NO_BYTES:
	case COVERAGE_TURNS:
		gap_add(l->out, i->begin_ns > from_ns ? i->begin_ns : from_ns,
			i->end_ns < l->to_ns ? i->end_ns : l->to_ns,
			i->kind == COVERAGE_TURNS ? "bytes_in_turns" : "bytes_left_out");
		break;
	default:
		stretch_look(l, i);
	}
}

void coverage_look(const struct coverage_table *t, const struct coverage_query *query,
		   struct coverage *out)
{
	u64 from_ns = query->from_ns, end_ns = table_end(t, query->now_ns);
	struct looking l = {.out = out, .at_ns = from_ns, .to_ns = query->to_ns};

	if (l.to_ns > query->now_ns)
		l.to_ns = query->now_ns;
	if (query->is_recording && l.to_ns > end_ns && query->now_ns < end_ns + SOON_NS)
		l.to_ns = end_ns;
	if (!t->list.count || from_ns >= l.to_ns || l.to_ns <= t->known_ns)
		return;
	if (from_ns < t->known_ns) {
		gap_add(out, from_ns, t->known_ns, "unknown");
		l.at_ns = t->known_ns;
	}
	for (size_t i = 0; i < t->list.count; i++) {
		const struct coverage_interval *each = &t->list.data[i];

		if (each->begin_ns < l.to_ns && each->end_ns > from_ns)
			interval_look(&l, each, from_ns);
	}
	gap_add(out, l.at_ns, l.to_ns, query->is_recording ? "not_mapped" : "not_recorded");
	out->is_known = true;
	out->share = (double)l.recorded_ns / (double)(l.to_ns - from_ns);
}

/* ---- the file ---- */

static int table_parse(struct coverage_table *t, const void *data, size_t bytes)
{
	struct bytes_reader r = bytes_reader_over(data, bytes);
	const void *head = bytes_get(&r, sizeof(magic));
	u32 version = bytes_get_u32(&r), count;
	u64 last_ns = 0;

	t->known_ns = bytes_get_u64(&r);
	count = bytes_get_u32(&r);
	if (r.failed || memcmp(head, magic, sizeof(magic)) != 0 || version != FILE_VERSION ||
	    count > COVERAGE_MAX || bytes != HEAD_BYTES + count * INTERVAL_BYTES + sizeof(u64))
		return -EBADMSG;
	if (vec_reserve(&t->list, count))
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		struct coverage_interval *one = &t->list.data[t->list.count++];

		one->begin_ns = bytes_get_u64(&r);
		one->end_ns = bytes_get_u64(&r);
		one->count = bytes_get_u64(&r);
		one->kind = bytes_get_u32(&r);
		if (one->kind >= COVERAGE_KINDS || one->begin_ns >= one->end_ns ||
		    one->begin_ns < last_ns)
			return -EBADMSG;
		last_ns = one->begin_ns;
	}
	return bytes_get_u64(&r) == hash_bytes(data, bytes - sizeof(u64)) ? 0 : -EBADMSG;
}

int coverage_read(struct coverage_table *t, int folder)
{
	size_t bytes;
	void *data;
	int err = folder < 0 ? -ENOENT
			     : file_read_all(folder, FILE_NAME, FILE_BYTES_MAX, &data, &bytes);

	if (err)
		return err == -ENOENT ? 0 : err == -EFBIG || err == -EINVAL ? -EBADMSG : err;
	err = table_parse(t, data, bytes);
	free(data);
	if (err)
		coverage_free(t);
	return err;
}

void coverage_write(const struct coverage_table *t, int folder)
{
	struct bytes out = {0};

	if (folder < 0)
		return;
	bytes_put(&out, magic, sizeof(magic));
	bytes_put_u32(&out, FILE_VERSION);
	bytes_put_u64(&out, t->known_ns);
	bytes_put_u32(&out, (u32)t->list.count);
	for (size_t i = 0; i < t->list.count; i++) {
		const struct coverage_interval *one = &t->list.data[i];

		bytes_put_u64(&out, one->begin_ns);
		bytes_put_u64(&out, one->end_ns);
		bytes_put_u64(&out, one->count);
		bytes_put_u32(&out, one->kind);
	}
	if (!out.failed)
		bytes_put_u64(&out, hash_bytes(out.data, out.count));
	if (!out.failed)
		file_replace(folder, FILE_NAME, out.data, out.count, false);
	bytes_free(&out);
}
