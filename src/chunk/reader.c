/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a chunk: merges its streams by time. */
#include "chunk/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what was lost ---- */

/* At the end of a stream, counts its missing records. */
static void finish_stream(struct chunk_reader *r, struct reader_stream *s)
{
	if (s->finished)
		return;
	s->finished = true;
	if (s->has_expected)
		stream_expect(&s->stream, s->expected, s->has_bytes ? &s->crc : NULL);
	else if ((s->stream.skipped || s->stream.truncated_packet || s->stream.read_err) &&
		 s->stream.damaged == 0)
		s->stream.damaged = 1; /* their number is unknown */
	r->info.lost.damaged += s->stream.damaged;
	if (r->count_losses)
		stream_count_untold(&s->stream, &r->info.lost);
	if (s->stream.damage)
		chunk_reader_set_damage(r, s->stream.name, s->stream.damage);
}

/* Without a manifest, the `lost` records are summed. */
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

/* 1: the stream has a next record; 0: it is at its end; or a negative errno. */
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

/* In the stream of a program: older writers left out the program that lost the records. */
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

/* ---- all streams, by (time, cpu, number of the stream) ---- */

static bool before_at_once(const struct reader_stream *x, const struct reader_stream *y)
{
	if (x->stream.unpacker.cpu != y->stream.unpacker.cpu)
		return x->stream.unpacker.cpu < y->stream.unpacker.cpu;
	return x < y;
}

static inline bool before(const struct reader_next *x, const struct reader_next *y)
{
	if (__builtin_expect(x->at_ns == y->at_ns, 0))
		return before_at_once(x->stream, y->stream);
	return x->at_ns < y->at_ns;
}

static void sift_down(struct chunk_reader *r, size_t at)
{
	struct reader_next *heap = r->heap, moving = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= r->heap_count)
			break;
		if (child + 1 < r->heap_count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &moving))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

static void others_find(struct chunk_reader *r)
{
	r->others_ns = UINT64_MAX;
	for (size_t i = 1; i < r->heap_count && i <= 2; i++)
		if (r->heap[i].at_ns < r->others_ns)
			r->others_ns = r->heap[i].at_ns;
}

/* PACKET_NO_CPU for a stream that is not of a CPU. */
static uint16_t cpu_of(const struct stream *s)
{
	return s->cpu < 0 ? PACKET_NO_CPU : (uint16_t)s->cpu;
}

/*
 * Records are missing before the next record, or (`got` is 0) before the end. For a program only
 * the end of the hole is delivered, as for its own losses (reader_losses.c).
 */
static void hole_open(const struct chunk_reader *r, struct reader_next *next, int got)
{
	struct reader_stream *s = next->stream;

	s->stream.hole = false;
	s->hole_from_ns = s->stream.hole_from_ns ? s->stream.hole_from_ns : r->info.begin_ns;
	s->hole_to_ns = got ? s->stream.unpacker.time_ns : r->info.end_ns;
	if (s->hole_from_ns >= s->hole_to_ns)
		return;
	if (cpu_of(&s->stream) != PACKET_NO_CPU) {
		s->hole = HOLE_BEGINS;
		next->at_ns = s->hole_from_ns;
	} else if (is_of_program(&s->stream)) {
		s->hole = HOLE_ENDS;
		next->at_ns = s->hole_to_ns;
	}
}

/* Moves a stream to its next record or hole. 1, 0 at its end, or a negative errno. */
static __attribute__((noinline)) int step(struct chunk_reader *r, struct reader_next *next)
{
	struct reader_stream *s = next->stream;
	int got = peek(r, s);

	if (got < 0)
		return got;
	next->at_ns = s->stream.unpacker.time_ns;
	if (__builtin_expect(s->stream.hole, 0))
		hole_open(r, next, got);
	return got || s->hole;
}

static __attribute__((noinline)) int start_merge(struct chunk_reader *r)
{
	int err = r->measured ? 0 : chunk_reader_find_losses(r);

	if (err)
		return err;
	r->heap = calloc(r->count ? r->count : 1, sizeof(*r->heap));
	if (!r->heap)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++) {
		struct reader_next next = {.stream = &r->streams[i]};
		int got = step(r, &next);

		if (got < 0)
			return got;
		if (got)
			r->heap[r->heap_count++] = next;
	}
	for (size_t i = r->heap_count / 2; i-- > 0;)
		sift_down(r, i);
	others_find(r);
	return 0;
}

/* Puts the stream on top back to its place by its next record, or removes it at its end. */
static __attribute__((noinline)) void replace_top(struct chunk_reader *r, bool more)
{
	if (!more)
		r->heap[0] = r->heap[--r->heap_count];
	if (r->heap_count > 1)
		sift_down(r, 0);
	others_find(r);
}

/* Moves on after the record of the stream on top was delivered. */
static inline int step_top(struct chunk_reader *r)
{
	struct reader_next *top = &r->heap[0];
	struct stream *s = &top->stream->stream;
	int got = 1;

	if (__builtin_expect(stream_peek_quick(s), 1)) {
		top->at_ns = s->unpacker.time_ns;
		if (top->at_ns < r->others_ns)
			return 0;
	} else {
		got = step(r, top);
	}
	if (got < 0)
		return got;
	replace_top(r, got);
	return 0;
}

/*
 * Delivers the begin of a hole of the stream on top, before later records of other streams, or its
 * end.
 */
static const struct record_head *hole_tell(struct chunk_reader *r)
{
	struct reader_next *top = &r->heap[0];
	struct reader_stream *s = top->stream;

	r->hole = (struct record_lost){
		.head = {.kind = RECORD_lost,
			 .slots = 1,
			 .cpu = cpu_of(&s->stream),
			 .time_ns = top->at_ns},
		.why = is_of_program(&s->stream) ? LOST_application : LOST_damaged,
		.begin_ns = s->hole_from_ns,
	};
	name_loser(&s->stream, &r->hole.head);
	if (s->hole == HOLE_BEGINS) {
		r->hole.count = LOST_BEGINS;
		s->hole = HOLE_ENDS;
		top->at_ns = s->hole_to_ns;
	} else {
		s->hole = HOLE_NONE;
		top->at_ns = s->stream.unpacker.time_ns;
	}
	replace_top(r, s->hole || !s->finished);
	return &r->hole.head;
}

/* The begin of a loss that is due before the record on top; NULL: none. */
static __attribute__((noinline)) const struct record_head *loss_tell(struct chunk_reader *r)
{
	if (r->begins_told < r->begins.count &&
	    r->begins.data[r->begins_told].head.time_ns <= r->heap[0].at_ns)
		return &r->begins.data[r->begins_told++].head;
	return r->heap[0].stream->hole ? hole_tell(r) : NULL;
}

int chunk_reader_next(struct chunk_reader *r, const struct record_head **record, struct error *e)
{
	int err = 0;

	if (__builtin_expect(r->stepping, 1))
		err = step_top(r);
	else if (!r->heap)
		err = start_merge(r);
	r->stepping = false;
	while (!err && r->heap_count) {
		struct reader_stream *s = r->heap[0].stream;

		if (__builtin_expect(s->hole || r->begins_told < r->begins.count, 0)) {
			*record = loss_tell(r);
			if (*record)
				return 1;
		}
		if (stream_take(&s->stream)) {
			r->stepping = true;
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
