/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The size of a window at which all but its newest quarter is encoded. A window should stay in the
 * CPU's cache, and each busy CPU has one. Its records are out of order by a few only, since an
 * unpublished slot delays the following ones. Threads of a program read the clock before they take
 * a place in the ring, so their windows are larger.
 */
#define WINDOW_MAX_BYTES ((size_t)1 << 20)
#define WINDOW_CPU_MAX_BYTES ((size_t)1 << 16)
#define LATE_MAX_BYTES ((size_t)64 << 20) /* beyond it, late records are lost */
/* Rings that share a stream are drained one after another, each from its oldest record on. */
#define WINDOW_SHARED_MAX_BYTES ((size_t)64 << 20)

#define CPUS_MAX 8192u /* of any kernel */
_Static_assert(CHUNK_PROGRAMS_MAX + CPUS_MAX + 2 <= CHUNK_STREAMS_MAX, "a reader takes them all");

static void name_stream(struct chunk_stream *s)
{
	switch (s->kind) {
	case CHUNK_STREAM_CPU:
		snprintf(s->name, sizeof(s->name), "cpu%u", s->number);
		break;
	case CHUNK_STREAM_APP:
		snprintf(s->name, sizeof(s->name), "app-%u", s->number);
		break;
	case CHUNK_STREAM_LIFE:
		snprintf(s->name, sizeof(s->name), "life");
		break;
	case CHUNK_STREAM_LATE:
		snprintf(s->name, sizeof(s->name), "late");
		break;
	}
	snprintf(s->file.name, sizeof(s->file.name), "%s", s->name);
}

static struct chunk_stream *make_stream(struct chunk_writer *w, enum chunk_stream_kind kind,
					uint32_t number)
{
	struct chunk_stream *s = calloc(1, sizeof(*s));

	if (!s) {
		errno = ENOMEM;
		return NULL;
	}
	s->writer = w;
	s->kind = kind;
	s->number = number;
	s->cpu = kind == CHUNK_STREAM_CPU ? (u16)number : PACKET_NO_CPU;
	s->advanced_ns = kind == CHUNK_STREAM_LATE ? 0 : w->info.begin_ns;
	packet_init(&s->packet);
	name_stream(s);
	*w->last_stream = s;
	w->last_stream = &s->next;
	if (kind == CHUNK_STREAM_LATE)
		w->late = s;
	if (kind == CHUNK_STREAM_LIFE)
		w->life = s;
	if (kind == CHUNK_STREAM_APP && ++w->programs == CHUNK_PROGRAMS_MAX)
		w->shared = s;
	return s;
}

struct chunk_stream *chunk_writer_stream(struct chunk_writer *w, enum chunk_stream_kind kind,
					 uint32_t number)
{
	if (kind == CHUNK_STREAM_LIFE || kind == CHUNK_STREAM_LATE)
		number = 0;
	for (struct chunk_stream *s = w->streams; s; s = s->next) {
		if (s->kind == kind && s->number == number)
			return s;
	}
	return kind == CHUNK_STREAM_APP && w->shared ? w->shared : make_stream(w, kind, number);
}

/* Takes a record that is older than the time its stream has advanced to. */
static int add_late(struct chunk_writer *w, const struct record_head *record)
{
	struct chunk_stream *late = chunk_writer_stream(w, CHUNK_STREAM_LATE, 0);

	if (!late)
		return -ENOMEM;
	if (late->window.used > LATE_MAX_BYTES) {
		chunk_stream_lose(late, 1, record->time_ns);
		return -ENOBUFS;
	}
	return chunk_writer_add(late, record);
}

static bool window_is_full(const struct chunk_stream *s)
{
	size_t most = s->kind == CHUNK_STREAM_CPU ? WINDOW_CPU_MAX_BYTES
		      : s == s->writer->shared	  ? WINDOW_SHARED_MAX_BYTES
						  : WINDOW_MAX_BYTES;

	return s->window.used > most && s->kind != CHUNK_STREAM_LATE;
}

int chunk_writer_add(struct chunk_stream *s, const struct record_head *record)
{
	bool cut = false;
	int err;

	if (record->kind == RECORD_context_entry || record->kind == RECORD_file_entry ||
	    record->kind == RECORD_thread_entry) {
		chunk_stream_lose(s, 1, record->time_ns);
		return -EINVAL;
	}
	if (__builtin_expect(record->time_ns < s->advanced_ns, 0))
		return add_late(s->writer, record);
	err = window_add(&s->window, record, &cut);
	if (__builtin_expect(err != 0, 0)) {
		chunk_stream_lose(s, 1, record->time_ns);
		return err;
	}
	s->writer->info.incomplete += cut;
	if (window_is_full(s)) {
		size_t kept = (s->window.count - s->window.first) / 4;

		window_sort(&s->window);
		chunk_stream_encode(s, s->window.entries[s->window.count - 1 - kept].time_ns + 1);
	}
	return 0;
}

int chunk_writer_lost(struct chunk_stream *s, const struct record_lost *lost)
{
	struct record_lost r = *lost;

	r.head = (struct record_head){
		.kind = RECORD_lost,
		.slots = 1,
		.cpu = s->kind == CHUNK_STREAM_CPU ? (u16)s->number : PACKET_NO_CPU,
		.time_ns = lost->head.time_ns,
	};
	if (s->kind == CHUNK_STREAM_APP)
		r.head.tid = r.head.pid = s->number;
	return r.count || r.begin_ns < r.head.time_ns ? chunk_writer_add(s, &r.head) : 0;
}

void chunk_writer_incomplete(struct chunk_writer *w, uint64_t count)
{
	w->info.incomplete += count;
}

static int take_write_error(struct chunk_writer *w, struct error *e)
{
	int err = w->write_err;

	w->write_err = 0;
	return err ? error_set(e, err, "cannot write to %s", w->path) : 0;
}

/* The end of a packet must not be before the end of the previous one. */
static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Writes an empty packet to `life`, after all other streams: it says that all of them are in their
 * files up to that time. No other stream shows that. A busy CPU's packets are written as they fill,
 * before records of programs, and a program that ends early may have no records.
 */
static void tell_written(struct chunk_writer *w, uint64_t up_to_ns)
{
	struct chunk_stream *s = w->life;

	up_to_ns = later(up_to_ns, w->info.begin_ns);
	if (s && !w->write_err && s->encoded_ns <= up_to_ns && !chunk_stream_begin(s, s->cpu))
		chunk_stream_write(s, up_to_ns);
}

int chunk_writer_flush(struct chunk_writer *w, uint64_t up_to_ns, struct error *e)
{
	for (struct chunk_stream *s = w->streams; s; s = s->next) {
		if (s->kind == CHUNK_STREAM_LATE)
			continue;
		if (up_to_ns > s->advanced_ns)
			chunk_stream_encode(s, up_to_ns);
		if (!s->in_packet && (s->kind != CHUNK_STREAM_CPU || chunk_stream_begin(s, s->cpu)))
			continue;
		chunk_stream_write(s, later(s->advanced_ns, s->encoded_ns));
	}
	tell_written(w, up_to_ns);
	return take_write_error(w, e);
}

/* Moves the records that are left in the window to the next chunk. */
static void hand_over(struct chunk_stream *s, struct chunk_writer *next)
{
	struct chunk_stream *to = NULL;

	if (next)
		to = chunk_writer_stream(next, s->kind, s->number);
	for (; !window_is_empty(&s->window); window_pop(&s->window)) {
		struct record_head *record = (struct record_head *)window_first(&s->window);

		record->slots = 0; /* in the window the record is complete */
		if (!to)
			chunk_stream_lose(s, 1, s->advanced_ns);
		else
			chunk_writer_add(to, record);
	}
	window_free(&s->window);
}

void chunk_writer_complete(struct chunk_writer *w, uint64_t complete_ns)
{
	w->info.complete_ns = complete_ns;
}

/* Encodes and writes the remaining records. */
static void stream_finish(struct chunk_stream *s, uint64_t cut_ns, uint64_t complete_ns,
			  struct chunk_writer *next)
{
	uint64_t last_ns;

	chunk_stream_encode(s, cut_ns);
	hand_over(s, next);
	if (s->unwritten != s->told) {
		last_ns = later(later(s->encoded_ns, s->packet.end_ns), s->writer->info.begin_ns);
		if (s->kind != CHUNK_STREAM_LATE)
			last_ns = later(last_ns, complete_ns - 1);
		chunk_stream_tell(s, last_ns);
	}
	/* shows that the stream of a CPU is complete, in case the manifest is lost */
	if (s->in_packet || (s->kind == CHUNK_STREAM_CPU && !chunk_stream_begin(s, s->cpu)))
		chunk_stream_write(s, later(later(s->encoded_ns, s->packet.end_ns),
					    s->kind == CHUNK_STREAM_CPU ? complete_ns - 1 : 0));
	s->writer->info.incomplete += s->packet.incomplete;
	packet_free(&s->packet);
}

/*
 * The time from which records of a stream are missing in the chunk. Late records matter from the
 * time on at which the previous chunk is complete, and so for the state in which all threads begin.
 * Records of a program do not show where its threads were.
 */
static uint64_t missing_from(const struct chunk_stream *s)
{
	const struct chunk_info *info = &s->writer->info;

	if (s->kind == CHUNK_STREAM_APP)
		return info->end_ns;
	if (s->kind != CHUNK_STREAM_LATE)
		return s->unwritten_since_ns;
	return info->late_ns < info->begin_ns ? info->begin_ns : UINT64_MAX;
}

/*
 * Handles losses for which the disk has no room for a `lost` record, either. The chunk is complete
 * only up to their begin, and the next chunk, if there is one, counts them. The late_ns of the next
 * chunk, which is in its file already, shows a reader that the missing records never arrive.
 */
static void leave_untold(struct chunk_writer *w, struct chunk_writer *next)
{
	for (struct chunk_stream *s = w->streams; s; s = s->next) {
		uint64_t from_ns = missing_from(s);
		struct chunk_stream *to;

		if (!s->unwritten || from_ns == UINT64_MAX)
			continue;
		if (from_ns < w->info.complete_ns)
			w->info.complete_ns = from_ns;
		to = next ? chunk_writer_stream(next, s->kind, s->number) : NULL;
		if (!to)
			continue;
		chunk_stream_lose(to, s->unwritten,
				  s->kind == CHUNK_STREAM_APP ? s->unwritten_since_ns : from_ns);
		s->unwritten = 0;
	}
}

int chunk_writer_cut(struct chunk_writer *w, uint64_t cut_ns, struct chunk_writer *next,
		     struct error *e)
{
	uint64_t complete_ns = w->info.complete_ns;

	if (w->is_cut)
		return error_say(e, EINVAL, "%s has been cut already", w->path);
	if (!complete_ns || complete_ns > cut_ns)
		complete_ns = later(cut_ns, w->info.begin_ns);
	for (struct chunk_stream *s = w->streams; s; s = s->next)
		stream_finish(s, cut_ns, complete_ns, next);
	tell_written(w, complete_ns - 1);
	w->info.end_ns = later(cut_ns, w->info.begin_ns);
	w->info.complete_ns = complete_ns;
	leave_untold(w, next);
	if (next)
		w->end_unix_ns = chunk_unix_ns(&next->info, w->info.end_ns);
	w->is_cut = true;
	return take_write_error(w, e);
}

uint64_t chunk_writer_bytes(const struct chunk_writer *w)
{
	uint64_t bytes = 0;

	for (const struct chunk_stream *s = w->streams; s; s = s->next)
		bytes += s->file.bytes + (s->in_packet ? s->packet.used : 0) + s->window.used;
	return bytes;
}

const char *chunk_writer_path(const struct chunk_writer *w)
{
	return w->path;
}

uint64_t chunk_writer_seq(const struct chunk_writer *w)
{
	return w->info.seq;
}

void chunk_writer_moved(struct chunk_writer *w, const char *dir)
{
	char name[CHUNK_NAME_BYTES];

	snprintf(name, sizeof(name), "%s", strrchr(w->path, '/') + 1);
	snprintf(w->recording, sizeof(w->recording), "%s", dir);
	snprintf(w->path, sizeof(w->path), "%s/%s", w->recording, name);
}

void chunk_stream_free(struct chunk_stream *s)
{
	window_free(&s->window);
	packet_free(&s->packet);
	free(s);
}
