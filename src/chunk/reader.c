/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk, read: its streams merged by time. */
#include "chunk/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what was lost ---- */

/* The end of a stream: what is missing of it is counted. */
static void finish_stream(struct chunk_reader *r, struct reader_stream *s)
{
	if (s->finished)
		return;
	s->finished = true;
	if (s->has_expected)
		stream_expect(&s->stream, s->expected, s->has_bytes ? &s->crc : NULL);
	else if ((s->stream.skipped || s->stream.truncated_packet || s->stream.read_err) &&
		 s->stream.damaged == 0)
		s->stream.damaged = 1; /* nobody knows how many */
	r->info.lost.damaged += s->stream.damaged;
	if (r->count_losses)
		stream_count_untold(&s->stream, &r->info.lost);
	if (s->stream.damage)
		chunk_reader_set_damage(r, s->stream.name, s->stream.damage);
}

/* Where no manifest says what was lost, the records do. */
static void count_loss(struct chunk_reader *r, struct stream *s)
{
	r->info.records++;
	if (s->unpacker.record.head.kind == RECORD_lost)
		stream_count_lost(s, &r->info.lost);
}

/* ---- one stream ---- */

size_t chunk_reader_streams(const struct chunk_reader *r)
{
	return r->count;
}

const char *chunk_reader_stream_name(const struct chunk_reader *r, size_t index)
{
	return r->streams[index].stream.name;
}

/* 1 and the stream stands before a record, 0 at its end, negative. */
static int peek(struct chunk_reader *r, struct reader_stream *s)
{
	int got = stream_peek(&s->stream);

	if (got == 0)
		finish_stream(r, s);
	return got;
}

static bool is_of_program(const struct stream *s)
{
	return strncmp(s->name, "app-", 4) == 0;
}

/* Of a program: older writers left out who lost it. */
static void name_loser(const struct stream *s, struct record_head *lost)
{
	if (!lost->pid && is_of_program(s))
		lost->tid = lost->pid = (uint32_t)strtoul(s->name + 4, NULL, 10);
}

static const struct record_head *taken(struct chunk_reader *r, struct reader_stream *s)
{
	struct record_head *record = &s->stream.unpacker.record.head;

	if (__builtin_expect(record->kind == RECORD_lost, 0))
		name_loser(&s->stream, record);
	if (__builtin_expect(r->count_losses, 0))
		count_loss(r, &s->stream);
	return record;
}

int chunk_reader_stream_next(struct chunk_reader *r, size_t index,
			     const struct record_head **record, struct error *e)
{
	struct reader_stream *s = &r->streams[index];

	for (;;) {
		int got = peek(r, s);

		if (got < 0)
			return error_set(e, got, "cannot read %s", r->info.path);
		if (got == 0)
			return 0;
		if (stream_take(&s->stream)) {
			*record = taken(r, s);
			return 1;
		}
	}
}

/* ---- all of them, by (time, cpu, number of the stream) ---- */

static inline bool before(const struct chunk_reader *r, uint32_t a, uint32_t b)
{
	const struct reader_stream *x = &r->streams[a], *y = &r->streams[b];

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns;
	if (x->stream.unpacker.cpu != y->stream.unpacker.cpu)
		return x->stream.unpacker.cpu < y->stream.unpacker.cpu;
	return a < b;
}

static void sift_down(struct chunk_reader *r, size_t at)
{
	uint32_t moving = r->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= r->heap_count)
			break;
		if (child + 1 < r->heap_count && before(r, r->heap[child + 1], r->heap[child]))
			child++;
		if (!before(r, r->heap[child], moving))
			break;
		r->heap[at] = r->heap[child];
		at = child;
	}
	r->heap[at] = moving;
}

/* PACKET_NO_CPU if it is none of a CPU. */
static uint16_t cpu_of(const struct stream *s)
{
	return s->cpu < 0 ? PACKET_NO_CPU : (uint16_t)s->cpu;
}

/*
 * Something is missing before the next record, or (`got` is 0) before the end. Of a program only
 * the end is told, as of what it lost itself (reader_losses.c).
 */
static void hole_open(const struct chunk_reader *r, struct reader_stream *s, int got)
{
	s->stream.hole = false;
	s->hole_from_ns = s->stream.hole_from_ns ? s->stream.hole_from_ns : r->info.begin_ns;
	s->hole_to_ns = got ? s->stream.unpacker.time_ns : r->info.end_ns;
	if (s->hole_from_ns >= s->hole_to_ns)
		return;
	if (cpu_of(&s->stream) != PACKET_NO_CPU) {
		s->hole = HOLE_BEGINS;
		s->at_ns = s->hole_from_ns;
	} else if (is_of_program(&s->stream)) {
		s->hole = HOLE_ENDS;
		s->at_ns = s->hole_to_ns;
	}
}

/* Goes to what is next of a stream: 1, 0 at its end, negative. */
static int step(struct chunk_reader *r, struct reader_stream *s)
{
	int got = peek(r, s);

	if (got < 0)
		return got;
	s->at_ns = s->stream.unpacker.time_ns;
	if (__builtin_expect(s->stream.hole, 0))
		hole_open(r, s, got);
	return got || s->hole;
}

static int start_merge(struct chunk_reader *r)
{
	int err = r->measured ? 0 : chunk_reader_find_losses(r);

	if (err)
		return err;
	r->heap = calloc(r->count ? r->count : 1, sizeof(*r->heap));
	if (!r->heap)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++) {
		int got = step(r, &r->streams[i]);

		if (got < 0)
			return got;
		if (got)
			r->heap[r->heap_count++] = (uint32_t)i;
	}
	for (size_t i = r->heap_count / 2; i-- > 0;)
		sift_down(r, i);
	return 0;
}

/* What the stream on top has next finds its place, if there is anything. */
static void replace_top(struct chunk_reader *r, bool more)
{
	if (!more)
		r->heap[0] = r->heap[--r->heap_count];
	if (r->heap_count > 1)
		sift_down(r, 0);
}

/* The stream on top has given its record. */
static int step_top(struct chunk_reader *r)
{
	int got = step(r, &r->streams[r->heap[0]]);

	if (got < 0)
		return got;
	replace_top(r, got);
	return 0;
}

/*
 * Tells that a hole of the stream on top begins, before what others recorded behind that, or
 * that it ends.
 */
static const struct record_head *hole_tell(struct chunk_reader *r)
{
	struct reader_stream *s = &r->streams[r->heap[0]];

	r->hole = (struct record_lost){
		.head = {.kind = RECORD_lost,
			 .slots = 1,
			 .cpu = cpu_of(&s->stream),
			 .time_ns = s->at_ns},
		.why = is_of_program(&s->stream) ? LOST_application : LOST_damaged,
		.begin_ns = s->hole_from_ns,
	};
	name_loser(&s->stream, &r->hole.head);
	if (s->hole == HOLE_BEGINS) {
		r->hole.count = LOST_BEGINS;
		s->hole = HOLE_ENDS;
		s->at_ns = s->hole_to_ns;
	} else {
		s->hole = HOLE_NONE;
		s->at_ns = s->stream.unpacker.time_ns;
	}
	replace_top(r, s->hole || !s->finished);
	return &r->hole.head;
}

/* NULL: none begins before what comes at that time. */
static const struct record_head *begin_tell(struct chunk_reader *r, uint64_t time_ns)
{
	if (r->begins_told == r->begins.count ||
	    r->begins.data[r->begins_told].head.time_ns > time_ns)
		return NULL;
	return &r->begins.data[r->begins_told++].head;
}

int chunk_reader_next(struct chunk_reader *r, const struct record_head **record, struct error *e)
{
	int err = 0;

	if (!r->heap)
		err = start_merge(r);
	else if (r->current != SIZE_MAX && r->heap_count)
		err = step_top(r);
	r->current = SIZE_MAX;
	while (!err && r->heap_count) {
		struct reader_stream *s = &r->streams[r->heap[0]];

		const struct record_head *begin = begin_tell(r, s->at_ns);

		if (__builtin_expect(begin != NULL, 0)) {
			*record = begin;
			return 1;
		}
		if (__builtin_expect(s->hole, 0)) {
			*record = hole_tell(r);
			return 1;
		}
		if (stream_take(&s->stream)) {
			r->current = r->heap[0];
			*record = taken(r, s);
			return 1;
		}
		err = step_top(r);
	}
	return err ? error_set(e, err, "cannot read %s", r->info.path) : 0;
}

/* ---- the rest ---- */

const struct chunk_info *chunk_reader_info(const struct chunk_reader *r)
{
	return &r->info;
}

const char *chunk_reader_damage(const struct chunk_reader *r)
{
	return r->damage[0] ? r->damage : NULL;
}

void chunk_reader_close(struct chunk_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		stream_free(&r->streams[i].stream);
	free(r->streams);
	free(r->heap);
	vec_free(&r->begins);
	if (r->dir >= 0)
		close(r->dir);
	free(r);
}

bool chunk_error_is_own(int err)
{
	static const int own[] = {EBADMSG, ENOENT, EPROTO,	 ENOTDIR, ELOOP,
				  EINVAL,  EFBIG,  ENAMETOOLONG, ENXIO,	  EISDIR};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (err == -own[i])
			return true;
	return false;
}

int chunk_reader_failed(const struct chunk_reader *r)
{
	if (r->manifest_err && !chunk_error_is_own(r->manifest_err))
		return r->manifest_err;
	for (size_t i = 0; i < r->count; i++) {
		int err = r->streams[i].stream.read_err;

		if (err && !chunk_error_is_own(err))
			return err;
	}
	return 0;
}
