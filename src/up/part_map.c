/* SPDX-License-Identifier: Apache-2.0 */
/* The part that maps: follows sealed chunks, and sends the spans that ended in each to serve. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "chunk/directory.h"
#include "map/chunk_map.h"
#include "map/handover/handover.h"
#include "serve/entry.h"
#include "up/part.h"
#include "up/sender.h"
#include "up/spans.h"
#include "wire/otlp_write.h"

#define KEEP_NS 10000000000u /* of traces that ended: a late stream may change them */
#define AGAIN_CHUNKS 30	     /* are mapped again by a part that was started again */
#define SLICE_SPANS 1024     /* of one request */
#define LOOK_MS 100
#define RETRY_NS 100000000u
#define RETRY_MAX_NS 2000000000u
#define END_NS 2000000000u /* for chunks that are sealed when it is to end */

struct mapping {
	struct part_context *context;
	struct board_map *board;
	char dir[PATH_MAX];
	struct handover *handover;
	char *after; /* owned: the path of the last chunk that was mapped; NULL: none */
	u64 covered_ns;
	struct spans spans;
	struct bytes body;
	struct sender sender;
	int watch;     /* inotify; -1: there is none */
	bool watching; /* the directory */
	u64 end_ns;    /* when it ends at the latest; 0: not asked to */
};

/* ---- waiting ---- */

static bool is_over(struct mapping *m, u64 wait_ns)
{
	if (!m->end_ns && part_is_asked_to_end(wait_ns))
		m->end_ns = clock_now_ns() + END_NS;
	return m->end_ns && clock_now_ns() >= m->end_ns;
}

/* Waits until a chunk is sealed, or for a moment where nothing tells of that. */
static void chunk_await(struct mapping *m)
{
	struct pollfd fd = {.fd = m->watch, .events = POLLIN};
	char events[4096];

	if (m->watch >= 0 && !m->watching)
		m->watching = inotify_add_watch(m->watch, m->dir, IN_MOVED_TO) >= 0;
	if (poll(&fd, m->watching ? 1 : 0, LOOK_MS) > 0)
		while (read(m->watch, events, sizeof(events)) > 0)
			;
}

/* ---- sending ---- */

/*
 * Sends the body until serve has it, if spans are kept. Spans of the program and of the kernel are
 * counted. -ECANCELED: there is no more time.
 */
static int body_send(struct mapping *m, size_t spans, size_t kernel)
{
	u64 wait_ns = RETRY_NS;

	while (!atomic_load(&m->context->board->serve.store_missing)) {
		int err = sender_send(&m->sender, &m->body, NULL);

		if (!err) {
			atomic_fetch_add(&m->board->spans, spans);
			atomic_fetch_add(&m->board->kernel_spans, kernel);
		} else if (err == -EPROTO) {
			atomic_fetch_add(&m->board->refused, spans + kernel);
		}
		if (!err || err == -EPROTO)
			return 0;
		if (is_over(m, wait_ns))
			return -ECANCELED;
		if (m->end_ns) /* the signal has come already */
			poll(NULL, 0, LOOK_MS);
		wait_ns = wait_ns < RETRY_MAX_NS ? 2 * wait_ns : wait_ns;
	}
	return 0;
}

/* Sends spans, in as many requests as their size asks for. */
static int slice_send(struct mapping *m, const struct received_span *spans, size_t count)
{
	size_t kernel = 0;
	int err;

	for (size_t i = 0; i < count; i++)
		kernel += spans_is_kernel(&spans[i]);
	m->body.count = 0;
	otlp_write(&m->body, spans, count);
	if (m->body.failed)
		return -ENOMEM;
	if (m->body.count <= BODY_BYTES_MAX || count == 1)
		return body_send(m, count - kernel, kernel);
	err = slice_send(m, spans, count / 2);
	return err ? err : slice_send(m, spans + count / 2, count - count / 2);
}

static int spans_send(struct mapping *m)
{
	const struct received_batch *batch = &m->spans.batch;
	int err = 0;

	for (size_t i = 0; i < batch->count && !err; i += SLICE_SPANS) {
		size_t left = batch->count - i;

		err = slice_send(m, &batch->data[i], left < SLICE_SPANS ? left : SLICE_SPANS);
	}
	return err;
}

/* ---- mapping ---- */

static int span_take(void *arg, const struct handed_span *handed)
{
	return spans_add_handed(arg, handed);
}

static void counts_tell(struct mapping *m)
{
	const struct handover_counts counts = handover_counts(m->handover);

	atomic_store(&m->board->late, counts.late);
	atomic_store(&m->board->given_up, counts.given_up);
	atomic_store(&m->board->forgotten, counts.forgotten);
}

/* When the chunk ended, by the clock at its begin. */
static u64 end_unix_ns(const struct chunk_info *info)
{
	return info->clock.unix_ns + (info->end_ns - info->clock.monotonic_ns);
}

static int chunk_hand(struct mapping *m, const struct chunk_info *info, struct partial *partial)
{
	int err;

	spans_begin(&m->spans, info);
	err = handover_take(m->handover, partial, span_take, &m->spans);
	err = err ? err : spans_finish(&m->spans);
	counts_tell(m);
	/* an earlier life of this part may have sent them */
	if (!err && end_unix_ns(info) > atomic_load(&m->board->sent_unix_ns)) {
		atomic_fetch_add(&m->board->kernel_left_out, m->spans.kernel_left_out);
		err = spans_send(m);
	}
	if (err)
		return err;
	if (end_unix_ns(info) > atomic_load(&m->board->sent_unix_ns))
		atomic_store(&m->board->sent_unix_ns, end_unix_ns(info));
	atomic_fetch_add(&m->board->chunks, 1);
	atomic_store(&m->board->to_ns, info->end_ns);
	return 0;
}

/* A chunk that cannot be read is a gap. */
static int chunk_take(struct mapping *m, const struct chunk_info *info, struct error *e)
{
	const struct chunk_task task = {
		.info = info, .covered_ns = m->covered_ns, .options = handover_partial_options()};
	struct chunk_found found = {0};
	struct partial *partial = NULL;
	struct error why = {0};
	char *path = strdup(info->path);
	int err = path ? chunk_map(&partial, &task, &found, &why) : -ENOMEM;

	if (!path)
		return error_set(e, ENOMEM, "cannot map %s", info->path);
	free(m->after);
	m->after = path;
	if (err && err != -ENOMEM) {
		atomic_fetch_add(&m->board->damaged, 1);
		notice_tell(&m->context->options->notice, "map: %s", why.text);
		return 0;
	}
	if (*found.damage) {
		atomic_fetch_add(&m->board->damaged, 1);
		notice_tell(&m->context->options->notice, "map: %s", found.damage);
	}
	err = err ? err : chunk_hand(m, info, partial);
	m->covered_ns = chunk_covers_to(info);
	return err ? error_set(e, err, "cannot map %s", info->path) : 0;
}

/* Maps what is sealed. 0, also if there is nothing, or a negative errno. */
static int chunks_take(struct mapping *m, struct error *e)
{
	const struct recording_options later = {.after = m->after};
	const char *const dirs[] = {m->dir};
	const struct recording_info *info;
	struct recording *recording;
	int err = recording_open(&recording, dirs, 1, &later, NULL);

	if (err) /* there is none, or one was deleted just now */
		return err == -ENOMEM ? error_set(e, err, "cannot map") : 0;
	info = recording_info(recording);
	for (size_t i = 0; i < info->chunk_count && !err && !is_over(m, 0); i++) {
		const struct chunk_info *chunk = &info->chunks[i];

		if (chunk->begin_ns < chunk->end_ns)
			err = chunk_take(m, chunk, e);
	}
	recording_close(recording);
	return err;
}

/* ---- where to begin ---- */

static int chunk_take_by_name(struct mapping *m, const char *name, struct error *e)
{
	char path[PATH_MAX];
	const char *const dirs[] = {path};
	struct recording *recording;
	int err;

	snprintf(path, sizeof(path), "%.*s/%.*s", PATH_MAX - CHUNK_NAME_BYTES - 2, m->dir,
		 CHUNK_NAME_BYTES, name);
	if (recording_open(&recording, dirs, 1, NULL, NULL))
		return 0;
	err = chunk_take(m, &recording_info(recording)->chunks[0], e);
	recording_close(recording);
	return err;
}

static int after_set(struct mapping *m, const char *name)
{
	free(m->after);
	if (asprintf(&m->after, "%s/%s", m->dir, name) >= 0)
		return 0;
	m->after = NULL;
	return -ENOMEM;
}

/* The first of the sealed chunks that began at that time or later; the count: there is none. */
static size_t chunk_since(const struct chunk_names *names, u64 unix_ns)
{
	size_t i = 0;

	while (i < names->count &&
	       (names->names[i].open || names->names[i].begin_unix_ns < unix_ns))
		i++;
	return i;
}

/*
 * Chunks of an earlier run are mapped already. If this part was started again, the first chunk of
 * the recording tells which processes there were; then come the last ones that were mapped, whose
 * open spans go on. Their spans are not sent again.
 */
static int chunks_begin(struct mapping *m, struct error *e)
{
	u64 begun = atomic_load(&m->context->board->capture.begun_unix_ns);
	u64 sent = atomic_load(&m->board->sent_unix_ns);
	struct chunk_names names = {0};
	size_t first, next;
	int err = chunk_names_list(m->dir, NULL, &names, NULL);

	if (err)
		return 0;
	first = chunk_since(&names, begun);
	next = chunk_since(&names, sent);
	if (sent && first < names.count && next > first + AGAIN_CHUNKS) {
		err = chunk_take_by_name(m, names.names[first].name, e);
		first = next - AGAIN_CHUNKS;
	}
	while (first > 0 && names.names[first - 1].open)
		first--;
	if (!err && first > 0)
		err = after_set(m, names.names[first - 1].name);
	chunk_names_free(&names);
	return err;
}

static int chunks_follow(struct mapping *m, struct error *e)
{
	int err;

	while (!atomic_load(&m->context->board->capture.begun_unix_ns)) {
		if (is_over(m, LOOK_MS * 1000000u) || m->end_ns)
			return 0;
	}
	err = chunks_begin(m, e);
	while (!err) {
		bool last = m->end_ns;

		err = chunks_take(m, e);
		if (last || is_over(m, 0))
			break;
		if (!err && !m->end_ns)
			chunk_await(m);
	}
	return err == -ECANCELED ? 0 : err;
}

int part_map(struct part_context *c, struct error *e)
{
	const struct handover_options options = {.keep_ns = KEEP_NS, .contexts = true};
	struct mapping m = {.context = c, .board = &c->board->map};
	char socket[PATH_MAX];
	int err;

	snprintf(m.dir, sizeof(m.dir), "%s/" CHUNKS_DIR, c->path);
	snprintf(socket, sizeof(socket), "%s/" SPANS_SOCKET, c->path);
	m.sender = (struct sender){.path = socket, .fd = -1};
	m.watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	m.handover = handover_new(&options);
	m.spans.chooser = chooser_new();
	if (!m.handover || !m.spans.chooser)
		return error_set(e, ENOMEM, "cannot map");
	part_runs(c, PART_MAP);
	err = chunks_follow(&m, e);
	sender_close(&m.sender);
	handover_free(m.handover);
	chooser_free(m.spans.chooser);
	spans_end(&m.spans);
	bytes_free(&m.body);
	free(m.after);
	if (m.watch >= 0)
		close(m.watch);
	return err;
}
