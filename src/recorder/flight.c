/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "recorder/flight_first.h"
#include "recorder/flight_kept.h"
#include "recorder/flight_lasting.h"
#include "recorder/flight_names.h"

/* The limit of `recent`; beyond it, the oldest half is dropped. */
#define RECENT_BYTES (32u << 20)
#define LOSSES_MAX 1024

struct kept_loss {
	struct capture_stream stream;
	struct record_lost lost;
};

struct flight {
	struct kept_list recent; /* events: begin and end of threads, fds, application records */
	struct kept_list stated; /* records that hold for the host from then on; few */
	struct flight_lasting lasting; /* records that hold for a process from then on */
	struct kept_list rings;	       /* copied by flight_take() */
	struct flight_names names;     /* of threads that existed before `recent` */
	u64 recent_from_ns;	       /* older records of `recent` were dropped */
	VEC(struct kept_loss) losses;
};

struct flight *flight_new(void)
{
	return calloc(1, sizeof(struct flight));
}

void flight_free(struct flight *f)
{
	if (!f)
		return;
	kept_free(&f->recent);
	kept_free(&f->stated);
	kept_free(&f->rings);
	flight_lasting_free(&f->lasting);
	flight_names_free(&f->names);
	vec_free(&f->losses);
	free(f);
}

/* ---- keeping ---- */

/*
 * Whether a record holds for the host from then on: formats of events, filters, and functions of
 * the kernel. (Records that hold for a process are in `lasting`.) A level of detail holds from its
 * time on; each chunk names that of its begin.
 */
static bool is_stated(const struct record_head *r)
{
	if (r->kind == RECORD_filter)
		return !(((const struct record_filter *)r)->flags & FILTER_DETAIL);
	return r->kind == RECORD_format || r->kind == RECORD_mapping;
}

/* Whether a record is from a snapshot. capture_look() makes a new snapshot for each chunk. */
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

/* Whether `b` repeats `a`. Formats and filters are recorded again at each cut. */
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

int flight_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	struct flight *f = arg;

	if (s->kind == CAPTURE_STREAM_CPU)
		return kept_add(&f->rings, s, r);
	if (flight_lasting_wants(&f->lasting, r))
		return flight_lasting_add(&f->lasting, s, r);
	if (is_stated(r))
		return stated_add(f, s, r);
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
		return error_set(e, err, "cannot read the ring buffers");
	from = capture_flight_from(c);
	*from_ns = from > f->recent_from_ns ? from : f->recent_from_ns;
	return 0;
}

/* Hands the snapshot of capture_look() to a sink as a snapshot at the begin of the chunk. */
struct look {
	const struct capture_sink *to;
	const struct flight_first *first;
	u64 from_ns;
};

static int look_thread(const struct look *l, const struct capture_stream *s,
		       const struct record_head *r)
{
	union {
		struct record_head head;
		struct record_thread thread;
		u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	} copy;

	memcpy(&copy, r, kept_bytes(r));
	flight_first_state(l->first, &copy.thread, l->from_ns);
	return kept_restamp(l->to, s, &copy.head, l->from_ns);
}

/* Skips threads and processes that began in the chunk: their fork is in `recent`. */
static int look_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	const struct look *l = arg;
	u64 start_ns = 0;

	if (r->kind == RECORD_process)
		start_ns = ((const struct record_process *)r)->start_ns;
	else if (r->kind == RECORD_thread)
		start_ns = ((const struct record_thread *)r)->start_ns;
	if (start_ns >= l->from_ns)
		return 0;
	return r->kind == RECORD_thread ? look_thread(l, s, r)
					: kept_restamp(l->to, s, r, l->from_ns);
}

static int look_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	return 0; /* an iterator reports no losses */
}

static int list_write(const struct kept_list *l, u64 from_ns, const struct capture_sink *to)
{
	int err = 0;

	for (size_t i = 0; i < l->list.count && !err; i++)
		if (l->list.data[i].record->time_ns >= from_ns)
			err = to->record(to->arg, &l->list.data[i].stream, l->list.data[i].record);
	return err;
}

struct fold {
	struct flight_names *names;
	u64 from_ns;
};

static bool is_since(void *arg, const struct record_head *r)
{
	const struct fold *fold = arg;

	if (r->time_ns < fold->from_ns)
		flight_names_fold(fold->names, r);
	return r->time_ns >= fold->from_ns;
}

/* Records older than this chunk are in no later chunk, either: only their names are kept. */
static void recent_fold(struct flight *f, u64 from_ns)
{
	struct fold fold = {&f->names, from_ns};

	kept_filter(&f->recent, false, is_since, &fold);
}

/* Writes the names of threads that end in the chunk, or wake a thread in it. */
static int names_write(struct flight *f, u64 from_ns, const struct capture_sink *to)
{
	int err = 0;

	for (size_t i = 0; i < f->recent.list.count && !err; i++) {
		const struct record_head *r = f->recent.list.data[i].record;

		if (r->kind == RECORD_exit)
			err = flight_names_write(&f->names, r, from_ns, to);
	}
	for (size_t i = 0; i < f->rings.list.count && !err; i++) {
		const struct record_head *r = f->rings.list.data[i].record;

		if (r->kind == RECORD_waking && r->time_ns >= from_ns)
			err = flight_names_write_waker(&f->names,
						       ((const struct record_waking *)r)->waker_tid,
						       from_ns, to);
	}
	return err;
}

static int losses_write(const struct flight *f, u64 from_ns, const struct capture_sink *to)
{
	int err = 0;

	for (size_t i = 0; i < f->losses.count && !err; i++)
		if (f->losses.data[i].lost.head.time_ns >= from_ns)
			err = to->lost(to->arg, &f->losses.data[i].stream, &f->losses.data[i].lost);
	return err;
}

/* Writes the threads that exist now, with their states at the begin of the chunk. */
static int look_write(const struct flight *f, struct capture *c, u64 from_ns,
		      const struct capture_sink *to, struct error *e)
{
	struct flight_first first = {0};
	struct look look = {.to = to, .first = &first, .from_ns = from_ns};
	const struct capture_sink sink = {.arg = &look, .record = look_record, .lost = look_lost};
	int err = 0;

	for (size_t i = 0; i < f->rings.list.count && !err; i++)
		if (f->rings.list.data[i].record->time_ns >= from_ns)
			err = flight_first_add(&first, f->rings.list.data[i].record);
	if (err)
		error_set(e, err, "cannot find the first record of each thread");
	else
		err = capture_look(c, &sink, e);
	flight_first_free(&first);
	return err;
}

int flight_write(struct flight *f, struct capture *c, u64 from_ns, const struct capture_sink *to,
		 struct error *e)
{
	int err = look_write(f, c, from_ns, to, e);

	if (err)
		return err;
	recent_fold(f, from_ns);
	err = names_write(f, from_ns, to);
	if (!err)
		err = kept_write(&f->stated, from_ns, to);
	if (!err)
		err = flight_lasting_write(&f->lasting, from_ns, to);
	if (!err)
		err = list_write(&f->recent, from_ns, to);
	if (!err)
		err = list_write(&f->rings, from_ns, to);
	if (!err)
		err = losses_write(f, from_ns, to);
	kept_drop(&f->rings, f->rings.list.count);
	return err ? error_set(e, err, "cannot write the contents of the ring buffers") : 0;
}
