/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "cli/flight_names.h"

/* Bytes of two lists. What does not fit drops the oldest half. */
#define RECENT_BYTES (32u << 20)
#define LASTING_BYTES (4u << 20)
#define LOSSES_MAX 1024

struct kept {
	struct capture_stream stream;
	struct record_head *record; /* owned */
};

struct kept_list {
	VEC(struct kept) list;
	size_t bytes;
};

struct kept_loss {
	struct capture_stream stream;
	struct record_lost lost;
};

struct flight {
	struct kept_list recent; /* what happened: life of threads, fds, application records */
	struct kept_list stated; /* what is true from then on, and of the host: few */
	struct kept_list lasting; /* the same of processes: services, mapped files, follows */
	/* what did not fit into lasting */
	u64 forgotten_services, forgotten_mappings, forgotten_follows;
	struct kept_list rings;	   /* copied by flight_take() */
	struct flight_names names; /* of who lived before recent */
	u64 recent_from_ns;	   /* recent has nothing older: it was dropped */
	VEC(struct kept_loss) losses;
};

struct flight *flight_new(void)
{
	return calloc(1, sizeof(struct flight));
}

static size_t record_bytes(const struct record_head *r)
{
	return (size_t)r->slots * RECORD_SLOT_BYTES;
}

/* Frees the first `count` records. */
static void kept_drop(struct kept_list *l, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		l->bytes -= record_bytes(l->list.data[i].record);
		free(l->list.data[i].record);
	}
	l->list.count -= count;
	if (count)
		memmove(l->list.data, l->list.data + count, l->list.count * sizeof(*l->list.data));
}

static int kept_add(struct kept_list *l, const struct capture_stream *s,
		    const struct record_head *r)
{
	size_t bytes = record_bytes(r);
	struct record_head *copy = malloc(bytes);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, r, bytes);
	if (vec_push(&l->list, ((struct kept){*s, copy}))) {
		free(copy);
		return -ENOMEM;
	}
	l->bytes += bytes;
	return 0;
}

void flight_free(struct flight *f)
{
	if (!f)
		return;

	struct kept_list *const lists[] = {&f->recent, &f->stated, &f->lasting, &f->rings};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		kept_drop(lists[i], lists[i]->list.count);
		vec_free(&lists[i]->list);
	}
	flight_names_free(&f->names);
	vec_free(&f->losses);
	free(f);
}

/* ---- keeping ---- */

static bool is_follow(const struct record_head *r)
{
	return r->kind == RECORD_filter &&
	       ((const struct record_filter *)r)->flags & FILTER_FOLLOWS;
}

/* What stays true of the host: as many as there are formats, and functions of the kernel. */
static bool is_stated(const struct record_head *r)
{
	return r->kind == RECORD_format || (r->kind == RECORD_filter && !is_follow(r)) ||
	       (r->kind == RECORD_mapping && r->pid == 0);
}

/* What stays true of a process until something else is said. */
static bool is_lasting(const struct record_head *r)
{
	return r->kind == RECORD_service || r->kind == RECORD_mapping || is_follow(r);
}

/* What capture_look() tells again when it is wanted. */
static bool is_snapshot(const struct record_head *r)
{
	return r->kind == RECORD_process || r->kind == RECORD_thread ||
	       (r->kind == RECORD_fd && ((const struct record_fd *)r)->op == FD_snapshot);
}

static int recent_add(struct flight *f, const struct capture_stream *s, const struct record_head *r)
{
	if (f->recent.bytes > RECENT_BYTES) {
		size_t half = f->recent.list.count / 2;

		for (size_t i = 0; i < half; i++) {
			const struct record_head *old = f->recent.list.data[i].record;

			if (old->time_ns >= f->recent_from_ns)
				f->recent_from_ns = old->time_ns + 1;
			flight_names_fold(&f->names, old);
		}
		kept_drop(&f->recent, half);
	}
	return kept_add(&f->recent, s, r);
}

/* Does one say anew what the other says? Formats and filters are told at each cut. */
static bool is_restated(const struct record_head *a, const struct record_head *b)
{
	if (a->kind != b->kind || a->kind == RECORD_mapping)
		return false;
	return a->kind == RECORD_filter || ((const struct record_format *)a)->format ==
						   ((const struct record_format *)b)->format;
}

static int stated_add(struct flight *f, const struct capture_stream *s, const struct record_head *r)
{
	for (size_t i = 0; i < f->stated.list.count && r->kind != RECORD_mapping; i++)
		if (is_restated(f->stated.list.data[i].record, r))
			return 0;
	return kept_add(&f->stated, s, r);
}

/* What is said of a process once: its service, and that it is followed. 0: anything else. */
static u64 lasting_key(const struct record_head *r)
{
	return r->kind == RECORD_mapping ? 0 : (u64)r->kind << 32 | r->pid;
}

/* Drops what a later one of the same process has replaced: nothing is missed. */
static void lasting_drop_replaced(struct kept_list *l)
{
	struct map seen = {0};
	size_t kept = l->list.count;

	for (size_t i = l->list.count; i-- > 0;) {
		struct kept *k = &l->list.data[i];

		if (lasting_key(k->record)) {
			if (map_get(&seen, lasting_key(k->record))) {
				l->bytes -= record_bytes(k->record);
				free(k->record);
				continue;
			}
			(void)map_put(&seen, lasting_key(k->record), l);
		}
		l->list.data[--kept] = *k;
	}
	l->list.count -= kept;
	memmove(l->list.data, l->list.data + kept, l->list.count * sizeof(*l->list.data));
	map_free(&seen);
}

static int lasting_add(struct flight *f, const struct capture_stream *s,
		       const struct record_head *r)
{
	size_t oldest = 0;

	if (f->lasting.bytes > LASTING_BYTES) {
		lasting_drop_replaced(&f->lasting);
		for (size_t left = f->lasting.bytes; left > LASTING_BYTES / 2; oldest++) {
			const struct record_head *k = f->lasting.list.data[oldest].record;

			left -= record_bytes(k);
			f->forgotten_services += k->kind == RECORD_service;
			f->forgotten_mappings += k->kind == RECORD_mapping;
			f->forgotten_follows += k->kind == RECORD_filter;
		}
		kept_drop(&f->lasting, oldest);
	}
	return kept_add(&f->lasting, s, r);
}

int flight_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	struct flight *f = arg;

	if (s->kind == CAPTURE_STREAM_CPU)
		return kept_add(&f->rings, s, r);
	if (is_stated(r))
		return stated_add(f, s, r);
	if (is_lasting(r))
		return lasting_add(f, s, r);
	if (!is_snapshot(r))
		return recent_add(f, s, r);
	flight_names_fold(&f->names, r);
	return 0;
}

int flight_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	struct flight *f = arg;

	if (f->losses.count >= LOSSES_MAX) {
		f->losses.count -= LOSSES_MAX / 2;
		memmove(f->losses.data, f->losses.data + LOSSES_MAX / 2,
			f->losses.count * sizeof(*f->losses.data));
		if (f->losses.data[0].lost.head.time_ns > f->recent_from_ns)
			f->recent_from_ns = f->losses.data[0].lost.head.time_ns;
	}
	return vec_push(&f->losses, ((struct kept_loss){*s, *lost}));
}

/* ---- writing ---- */

int flight_take(struct flight *f, struct capture *c, u64 *from_ns, u64 *cut_ns, struct error *e)
{
	const struct capture_sink sink = {.arg = f, .record = flight_record, .lost = flight_lost};
	u64 from;
	int err;

	kept_drop(&f->rings, f->rings.list.count);
	err = capture_flight(c, &sink, cut_ns);
	if (err < 0)
		return error_set(e, err, "cannot read the rings");
	from = capture_flight_from(c);
	*from_ns = from > f->recent_from_ns ? from : f->recent_from_ns;
	return 0;
}

/* From capture_look() to the sink: as if it had been looked at when the chunk begins. */
struct look {
	const struct capture_sink *to;
	u64 from_ns;
};

static u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static int restamp(const struct capture_sink *to, const struct capture_stream *s,
		   const struct record_head *r, u64 time_ns)
{
	union {
		struct record_head head;
		struct record_thread thread;
		u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	} copy;

	memcpy(&copy, r, record_bytes(r));
	if (r->kind == RECORD_thread) /* counted from the new time; 0: not known */
		copy.thread.since_ns -= min_u64(copy.thread.since_ns, r->time_ns - time_ns);
	copy.head.time_ns = time_ns;
	return to->record(to->arg, s, &copy.head);
}

/* Threads and processes that were made meanwhile have their fork among what happened. */
static int look_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	const struct look *l = arg;
	u64 start_ns = 0;

	if (r->kind == RECORD_process)
		start_ns = ((const struct record_process *)r)->start_ns;
	else if (r->kind == RECORD_thread)
		start_ns = ((const struct record_thread *)r)->start_ns;
	return start_ns >= l->from_ns ? 0 : restamp(l->to, s, r, l->from_ns);
}

static int look_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	return 0; /* none comes from an iterator */
}

static int list_write(const struct kept_list *l, u64 from_ns, const struct capture_sink *to)
{
	int err = 0;

	for (size_t i = 0; i < l->list.count && !err; i++)
		if (l->list.data[i].record->time_ns >= from_ns)
			err = to->record(to->arg, &l->list.data[i].stream, l->list.data[i].record);
	return err;
}

/* What is older than a chunk is in no later one, either: of it names are left. */
static void recent_fold(struct flight *f, u64 from_ns)
{
	struct kept_list *l = &f->recent;
	size_t kept = 0;

	for (size_t i = 0; i < l->list.count; i++) {
		struct kept *k = &l->list.data[i];

		if (k->record->time_ns >= from_ns) {
			l->list.data[kept++] = *k;
			continue;
		}
		flight_names_fold(&f->names, k->record);
		l->bytes -= record_bytes(k->record);
		free(k->record);
	}
	l->list.count = kept;
}

/* Those whose end is in the chunk, and what tells their names before it. */
static int names_write(struct flight *f, u64 from_ns, const struct capture_sink *to)
{
	int err = 0;

	for (size_t i = 0; i < f->recent.list.count && !err; i++) {
		const struct record_head *r = f->recent.list.data[i].record;

		if (r->kind == RECORD_exit)
			err = flight_names_tell(&f->names, r, from_ns, to);
	}
	return err;
}

static int lasting_write(const struct kept_list *l, u64 from_ns, const struct capture_sink *to)
{
	int err = 0;

	for (size_t i = 0; i < l->list.count && !err; i++) {
		const struct kept *k = &l->list.data[i];

		err = restamp(to, &k->stream, k->record,
			      k->record->time_ns > from_ns ? k->record->time_ns : from_ns);
	}
	return err;
}

/* Each chunk misses it. */
static int forgotten_write(u16 kind, u64 count, u64 from_ns, const struct capture_sink *to)
{
	const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	struct record_lost lost = {
		.why = LOST_buffer, .lost_kind = kind, .count = count, .begin_ns = from_ns};

	lost.head.kind = RECORD_lost;
	lost.head.slots = 1;
	lost.head.time_ns = from_ns;
	return count ? to->lost(to->arg, &stream, &lost) : 0;
}

static int losses_write(const struct flight *f, u64 from_ns, const struct capture_sink *to)
{
	int err = forgotten_write(RECORD_service, f->forgotten_services, from_ns, to);

	if (!err)
		err = forgotten_write(RECORD_mapping, f->forgotten_mappings, from_ns, to);
	if (!err)
		err = forgotten_write(RECORD_filter, f->forgotten_follows, from_ns, to);
	for (size_t i = 0; i < f->losses.count && !err; i++)
		if (f->losses.data[i].lost.head.time_ns >= from_ns)
			err = to->lost(to->arg, &f->losses.data[i].stream, &f->losses.data[i].lost);
	return err;
}

int flight_write(struct flight *f, struct capture *c, u64 from_ns, const struct capture_sink *to,
		 struct error *e)
{
	struct look look = {.to = to, .from_ns = from_ns};
	const struct capture_sink sink = {.arg = &look, .record = look_record, .lost = look_lost};
	int err = capture_look(c, &sink, e);

	if (err)
		return err;
	recent_fold(f, from_ns);
	err = names_write(f, from_ns, to);
	if (!err)
		err = lasting_write(&f->stated, from_ns, to);
	if (!err)
		err = lasting_write(&f->lasting, from_ns, to);
	if (!err)
		err = list_write(&f->recent, from_ns, to);
	if (!err)
		err = list_write(&f->rings, from_ns, to);
	if (!err)
		err = losses_write(f, from_ns, to);
	kept_drop(&f->rings, f->rings.list.count);
	return err ? error_set(e, err, "cannot write what the rings hold") : 0;
}
