/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Bytes of the two lists. What does not fit drops the oldest half. */
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
	struct kept_list recent;  /* what happened: life of threads, fds, application records */
	struct kept_list lasting; /* what is true from then on: services, formats, filters */
	struct kept_list rings;	  /* copied by flight_take() */
	u64 recent_from_ns;	  /* recent has nothing older: it was dropped */
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
	struct kept_list *const lists[] = {&f->recent, &f->lasting, &f->rings};

	for (size_t i = 0; f && i < 3; i++) {
		kept_drop(lists[i], lists[i]->list.count);
		vec_free(&lists[i]->list);
	}
	if (f)
		vec_free(&f->losses);
	free(f);
}

/* ---- keeping ---- */

/* What stays true until something else is said. */
static bool is_lasting(const struct record_head *r)
{
	return r->kind == RECORD_service || r->kind == RECORD_format || r->kind == RECORD_filter ||
	       r->kind == RECORD_mapping;
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
			u64 t = f->recent.list.data[i].record->time_ns;

			if (t >= f->recent_from_ns)
				f->recent_from_ns = t + 1;
		}
		kept_drop(&f->recent, half);
	}
	return kept_add(&f->recent, s, r);
}

int flight_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	struct flight *f = arg;

	if (s->kind == CAPTURE_STREAM_CPU)
		return kept_add(&f->rings, s, r);
	if (is_lasting(r)) {
		if (f->lasting.bytes > LASTING_BYTES)
			kept_drop(&f->lasting, f->lasting.list.count / 2);
		return kept_add(&f->lasting, s, r);
	}
	return is_snapshot(r) ? 0 : recent_add(f, s, r);
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

static int lasting_write(const struct flight *f, u64 from_ns, const struct capture_sink *to)
{
	int err = 0;

	for (size_t i = 0; i < f->lasting.list.count && !err; i++) {
		const struct kept *k = &f->lasting.list.data[i];

		err = restamp(to, &k->stream, k->record,
			      k->record->time_ns > from_ns ? k->record->time_ns : from_ns);
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

int flight_write(struct flight *f, struct capture *c, u64 from_ns, const struct capture_sink *to,
		 struct error *e)
{
	struct look look = {.to = to, .from_ns = from_ns};
	const struct capture_sink sink = {.arg = &look, .record = look_record, .lost = look_lost};
	int err = capture_look(c, &sink, e);

	if (err)
		return err;
	err = lasting_write(f, from_ns, to);
	if (!err)
		err = list_write(&f->recent, from_ns, to);
	if (!err)
		err = list_write(&f->rings, from_ns, to);
	if (!err)
		err = losses_write(f, from_ns, to);
	kept_drop(&f->rings, f->rings.list.count);
	return err ? error_set(e, err, "cannot write what the rings hold") : 0;
}
