/* SPDX-License-Identifier: Apache-2.0 */
/* The part that maps: follows sealed chunks, and sends the spans that ended in each to serve. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "chunk/checkpoint.h"
#include "chunk/directory.h"
#include "map/chunk_map.h"
#include "map/handover/handover.h"
#include "up/coverage.h"
#include "up/follower.h"
#include "up/joiner.h"
#include "up/part.h"
#include "up/pins.h"
#include "up/post.h"
#include "up/progress.h"
#include "up/spans.h"

#define KEEP_NS 10000000000u /* of traces that ended: a late stream may change them */
#define AGAIN_CHUNKS PROGRESS_CHUNKS
#define LOOK_MS 100
#define END_NS 2000000000u /* for chunks that are sealed when it is to end */

struct mapping {
	struct part_context *context;
	struct board_map *board;
	char dir[PATH_MAX];
	struct handover *handover;
	struct progress progress;
	struct coverage_table coverage;
	u64 next; /* the number of the next chunk to map */
	u64 covered_ns;
	struct spans spans;
	struct post post;
	struct joiner *joiner;
	struct follower *follower; /* NULL: requests are not followed */
	int watch;		   /* inotify; -1: there is none */
	bool watching;		   /* the directory */
	u64 end_ns;		   /* when it ends at the latest; 0: not asked to */
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

/* A post waits here before it is sent again. */
static bool post_is_over(void *arg, uint64_t wait_ns)
{
	struct mapping *m = arg;

	if (is_over(m, wait_ns))
		return true;
	if (m->end_ns) /* the signal has come already */
		poll(NULL, 0, LOOK_MS);
	return false;
}

/* ---- mapping ---- */

static int span_take(void *arg, const struct handed_span *handed)
{
	struct mapping *m = arg;

	if (!handed->span->begun && !handed->span->ended)
		joiner_context(m->joiner, &handed->span->ctx);
	return spans_add_handed(&m->spans, handed);
}

static void counts_tell(struct mapping *m)
{
	const struct handover_counts counts = handover_counts(m->handover);

	atomic_store(&m->board->late, counts.late);
	atomic_store(&m->board->given_up, counts.given_up);
	atomic_store(&m->board->forgotten, counts.forgotten);
}

/* Asks capture for the calls of a process that got slow. */
static void raise_ask(struct mapping *m)
{
	uint64_t number = atomic_load(&m->board->raise) >> 32;
	uint32_t pid;

	if (chooser_raise_take(m->spans.chooser, clock_now_ns(), &pid))
		atomic_store(&m->board->raise, (number + 1) << 32 | pid);
}

/* Pins the chunks of a span that was far too slow, with the state before them. */
static void pin_follow(struct mapping *m, const struct chunk_info *info)
{
	const struct chunk_clock *clock = &info->clock;
	struct recording_checkpoint checkpoint = {0};
	struct chooser_pin slow;
	struct pin pin = {.why = "slow"};
	struct pin_state state = {.checkpoint = &checkpoint};
	struct error e = {0};
	bool has_state;
	u64 begin_ns;

	if (!chooser_pin_take(m->spans.chooser, &slow))
		return;
	begin_ns = slow.begin_ns - clock->unix_ns + clock->monotonic_ns;
	pin.from_ns = slow.begin_ns;
	pin.to_ns = slow.end_ns;
	snprintf(pin.trace, sizeof(pin.trace), "%016" PRIx64 "%016" PRIx64, slow.trace.high,
		 slow.trace.low);
	has_state = joiner_state(m->joiner, begin_ns, &checkpoint, &state.first) == 0;
	if (pin_make(m->context->dir, &pin, has_state ? &state : NULL,
		     pins_bytes(m->context->options->keep.bytes), &e))
		atomic_fetch_add(&m->board->pins_failed, 1);
	else
		atomic_fetch_add(&m->board->pins, 1);
	recording_checkpoint_free(&checkpoint);
}

static void sent_set(struct mapping *m, u64 next)
{
	atomic_store(&m->board->sent_next, next);
	progress_sent_set(&m->progress, next);
}

static int chunk_hand(struct mapping *m, const struct chunk_info *info, struct partial *partial)
{
	int err;

	err = follower_chunk(m->follower, info, partial);
	if (err) {
		partial_free(partial);
		return err;
	}
	spans_begin(&m->spans, info);
	err = handover_take(m->handover, partial, span_take, m);
	err = err ? err : spans_finish(&m->spans);
	counts_tell(m);
	raise_ask(m);
	/* an earlier life of this part may have sent them */
	if (!err && info->seq >= atomic_load(&m->board->sent_next)) {
		atomic_fetch_add(&m->board->kernel_left_out, m->spans.kernel_left_out);
		err = post_spans(&m->post, &m->spans.batch);
		if (!err)
			sent_set(m, info->seq + 1);
	}
	err = err ? err : progress_taken(&m->progress, m->handover, info);
	err = err ? err : joiner_chunk(m->joiner, info, m->handover);
	if (!err)
		pin_follow(m, info);
	if (err)
		return err;
	atomic_fetch_add(&m->board->chunks, 1);
	atomic_store(&m->board->to_ns, info->end_ns);
	return 0;
}

/*
 * Keeps what a chunk tells of its time; without what it lost (NULL), it could not be read. Without
 * memory for that, the answers about its time say that it was not recorded.
 */
static void coverage_tell(struct mapping *m, const struct chunk_info *info,
			  const struct chunk_lost *lost)
{
	if (info->seq < atomic_load(&m->board->sent_next))
		return; /* an earlier life of this part has told of it */
	coverage_chunk(&m->coverage, info, lost);
	coverage_write(&m->coverage, m->progress.dir);
}

/* A chunk that cannot be read is a gap. */
static int chunk_take(struct mapping *m, const struct chunk_info *info, struct error *e)
{
	const struct chunk_task task = {
		.info = info, .covered_ns = m->covered_ns, .options = handover_partial_options()};
	struct chunk_found found = {0};
	struct partial *partial = NULL;
	struct error why = {0};
	int err = chunk_map(&partial, &task, &found, &why);

	m->next = info->seq + 1;
	if (err && err != -ENOMEM) {
		atomic_fetch_add(&m->board->damaged, 1);
		notice_tell(&m->context->options->notice, "map: %s", why.text);
		coverage_tell(m, info, NULL);
		return 0;
	}
	if (*found.damage) {
		atomic_fetch_add(&m->board->damaged, 1);
		notice_tell(&m->context->options->notice, "map: %s", found.damage);
	}
	if (!err)
		coverage_tell(m, info, &found.lost);
	err = err ? err : chunk_hand(m, info, partial);
	m->covered_ns = chunk_covers_to(info);
	return err ? error_set(e, err, "cannot map %s", info->path) : 0;
}

/* Maps what is sealed. 0, also if there is nothing, or a negative errno. */
static int chunks_take(struct mapping *m, struct error *e)
{
	char after[PATH_MAX], name[CHUNK_NAME_BYTES];
	const struct recording_options later = {.after = m->next ? after : NULL,
						.only_sealed = true};
	const char *const dirs[] = {m->dir};
	const struct recording_info *info;
	struct recording *recording;
	int err;

	/* the number alone decides: no chunk began later than this name says */
	chunk_name_sealed(name, UINT64_MAX, UINT64_MAX, m->next - 1);
	snprintf(after, sizeof(after), "%.*s/%s", PATH_MAX - CHUNK_NAME_BYTES - 2, m->dir, name);
	err = recording_open(&recording, dirs, 1, &later, NULL);
	if (err) /* there is none, or one was deleted just now */
		return err == -ENOMEM ? error_set(e, err, "cannot map") : 0;
	info = recording_info(recording);
	for (size_t i = 0; i < info->chunk_count && !err && !is_over(m, 0); i++) {
		const struct chunk_info *chunk = &info->chunks[i];

		/* a chunk that a crash left may be of another boot */
		if (chunk->begin_ns < chunk->end_ns &&
		    strcmp(chunk->boot_id, m->progress.boot_id) == 0)
			err = chunk_take(m, chunk, e);
	}
	recording_close(recording);
	return err;
}

/* ---- where to begin ---- */

/*
 * Goes on from the checkpoint of the recording, which knows the processes of deleted chunks; then
 * come the last chunks that were mapped.
 */
static int recording_begin(struct mapping *m, u64 begun, u64 sent)
{
	struct recording_checkpoint checkpoint;
	int err = recording_checkpoint_read(m->dir, NULL, &checkpoint, NULL);

	m->next = sent > begun + AGAIN_CHUNKS ? sent - AGAIN_CHUNKS : begun;
	if (err)
		return err == -ENOMEM ? err : 0;
	if (strcmp(checkpoint.boot_id, m->progress.boot_id) == 0)
		err = handover_begin(m->handover, checkpoint.data, checkpoint.bytes);
	if (!err)
		m->covered_ns = checkpoint.end_ns;
	recording_checkpoint_free(&checkpoint);
	return err == -ENOMEM ? err : 0;
}

/*
 * Spans of chunks that were sent are not sent again, neither by a part that was started again, nor
 * by another run in the same boot, which begins with the first chunk that was not sent. The chunks
 * before that are mapped again from a state on, so that open spans go on, and names are known. A
 * run without such chunks begins with its own first chunk, which tells all processes.
 */
static int chunks_begin(struct mapping *m, struct error *e)
{
	u64 begun = atomic_load(&m->context->board->capture.begun_next) - 1;
	u64 sent = atomic_load(&m->board->sent_next);
	int err = 0;

	if (!sent) {
		sent = progress_sent(&m->progress);
		if (!sent || sent > begun) /* numbers began again */
			sent = begun;
		sent_set(m, sent);
	}
	m->next = sent;
	if (sent == begun)
		return 0;
	err = progress_begin(&m->progress, m->handover, sent, &m->next, &m->covered_ns);
	if (err && err != -ENOMEM)
		err = sent > begun ? recording_begin(m, begun, sent) : 0;
	return err ? error_set(e, err, "cannot begin to map") : 0;
}

static void coverage_begin(struct mapping *m)
{
	int err = coverage_read(&m->coverage, m->progress.dir);

	if (err)
		notice_tell(
			&m->context->options->notice,
			"map: the file map/coverage cannot be used (%s): answers about the time "
			"before do not say what was recorded or lost",
			err == -EBADMSG ? "it is damaged" : strerror(-err));
}

static int chunks_follow(struct mapping *m, struct error *e)
{
	int err;

	while (!atomic_load(&m->context->board->capture.begun_next)) {
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
	m.post = (struct post){
		.board = c->board,
		.counts = {&m.board->spans, &m.board->kernel_spans, &m.board->refused},
		.sender = {.path = socket, .fd = -1},
		.is_over = post_is_over,
		.arg = &m};
	m.watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	m.handover = handover_new(&options);
	m.spans.chooser = chooser_new();
	if (!m.handover || !m.spans.chooser)
		return error_set(e, ENOMEM, "cannot map");
	chooser_rules_set(m.spans.chooser, c->options->slow, c->options->slow_count);
	err = joiner_start(c, m.spans.chooser, socket, &m.joiner);
	if (!err && !c->options->no_bytes)
		err = follower_start(c, m.joiner, m.spans.chooser, socket, &m.follower);
	if (err)
		return error_set(e, err, "cannot map");
	progress_open(&m.progress, c->dir);
	coverage_begin(&m);
	part_runs(c, PART_MAP);
	err = chunks_follow(&m, e);
	follower_stop(m.follower);
	joiner_stop(m.joiner);
	post_end(&m.post);
	handover_free(m.handover);
	chooser_free(m.spans.chooser);
	spans_end(&m.spans);
	coverage_free(&m.coverage);
	progress_close(&m.progress);
	if (m.watch >= 0)
		close(m.watch);
	return err;
}
