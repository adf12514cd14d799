/* SPDX-License-Identifier: Apache-2.0 */
#include "up/joiner.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "up/join_pass.h"
#include "up/join_source.h"
#include "up/post.h"
#include "up/spans.h"
#include "up/task_names.h"

#define SECOND_NS UINT64_C(1000000000)
#define PENDING_MAX 50000u
#define RECENT_MAX 50000u
#define RECENT_NS (30 * SECOND_NS)   /* so long a claim may meet a later one */
#define PATIENCE_NS (30 * SECOND_NS) /* for a chunk */
#define SHORT_NS (8 * SECOND_NS)     /* older claims have passes of their own */
#define REST_NS SECOND_NS	     /* between two passes, at least */
#define REST_COSTS 20		     /* and so many times the cost of the last one */
#define LOOK_MS 100

struct claims { /* a VEC */
	struct join_claim **data;
	size_t count, capacity;
};

struct joiner {
	pthread_t thread;
	bool has_thread;
	atomic_bool stopping;
	int fd;
	struct board_join *board;
	struct post post;
	struct spans spans;
	struct task_names names;
	struct claims pending, recent, taken;
	struct claims judged; /* those of `taken` that are mapped */
	struct sent_ring sent;
	u64 again_ns; /* when the next pass is due */
	bool longs;   /* it is the turn of claims that began long ago */
	struct join_source source;
	struct join_chunks chunks; /* of the pass */
	struct partial *partial;   /* of these; NULL: none is mapped */
};

/* ---- claims come ---- */

static void claim_free(struct join_claim *c)
{
	if (c)
		vec_free(&c->children);
	free(c);
}

static void claims_free(struct claims *list)
{
	for (size_t i = 0; i < list->count; i++)
		claim_free(list->data[i]);
	vec_free(list);
}

static void joined_count(struct joiner *j, enum joined joined)
{
	atomic_fetch_add(&j->board->spans[joined], 1);
}

static char *text_append(char **at, const char *text)
{
	char *copy = *at;
	size_t bytes = strlen(text) + 1;

	memcpy(copy, text, bytes);
	*at += bytes;
	return copy;
}

static struct join_claim *claim_copy(const struct claim *from)
{
	size_t texts = strlen(from->service) + strlen(from->name) + strlen(from->thread) + 3;
	struct join_claim *c = calloc(1, sizeof(*c) + texts);
	char *at = c ? (char *)(c + 1) : NULL;

	if (!c)
		return NULL;
	c->claim = *from;
	c->claim.service = text_append(&at, from->service);
	c->claim.name = text_append(&at, from->name);
	c->claim.thread = text_append(&at, from->thread);
	c->came_ns = clock_now_ns();
	c->nested = (struct nested){
		.trace = from->trace, .span_id = from->span_id, .parent_id = from->parent_id};
	return c;
}

/* A number that is no thread may be one that the language counts; or the thread is gone. */
static u32 thread_of(struct joiner *j, const struct claim *c)
{
	u32 named;

	if (c->tid && task_is_of(c->pid, c->tid))
		return c->tid;
	named = *c->thread ? task_by_name(&j->names, c->pid, c->thread) : 0;
	if (named || !c->tid || *c->thread)
		return named;
	return task_is_of(c->tid, c->tid) ? 0 : c->tid;
}

/* Tells who follows requests, with the thread if that is known. An empty span tells nothing. */
static void claim_tell(struct joiner *j, const struct join_claim *c)
{
	const struct sent_span sent = {.trace = c->claim.trace,
				       .span_id = c->claim.span_id,
				       .parent_id = c->claim.parent_id,
				       .begin_ns = c->nested.begin_ns,
				       .end_ns = c->nested.end_ns,
				       .pid = c->claim.pid,
				       .tid = c->thread ? c->thread : c->tid,
				       .kind = c->claim.kind,
				       .service = c->claim.service};

	if (sent.begin_ns && sent.begin_ns < sent.end_ns && sent.end_ns < RECORD_TIME_END_NS)
		sent_add(&j->sent, &sent);
}

static void claim_take(struct joiner *j, const struct claim *claim)
{
	struct join_claim *c;

	atomic_fetch_add(&j->board->claims, 1);
	if (claim->end_ns <= claim->begin_ns || !claim->pid)
		return joined_count(j, JOINED_NO_THREAD);
	c = j->pending.count < PENDING_MAX ? claim_copy(claim) : NULL;
	if (c) {
		u64 ahead_ns = clock_read_ns(CLOCK_REALTIME) - clock_now_ns();

		c->tid = thread_of(j, claim);
		c->nested.begin_ns = claim->begin_ns - ahead_ns;
		c->nested.end_ns = claim->end_ns - ahead_ns;
		claim_tell(j, c);
	}
	if (!c || vec_push(&j->pending, c)) {
		claim_free(c);
		joined_count(j, JOINED_LEFT_OUT);
	}
}

static void messages_read(struct joiner *j)
{
	static char message[2 * CLAIM_MESSAGE_BYTES];
	struct pollfd fd = {.fd = j->fd, .events = POLLIN};
	ssize_t n;

	poll(&fd, 1, LOOK_MS);
	while ((n = recv(j->fd, message, sizeof(message), MSG_DONTWAIT)) > 0) {
		struct bytes_reader r = bytes_reader_over(message, (size_t)n);
		struct claim claim;

		while (claim_get(&r, &claim))
			claim_take(j, &claim);
	}
}

/* ---- what a pass takes ---- */

static u64 monotonic_of(const struct chunk_clock *clock, u64 unix_ns)
{
	u64 time_ns = unix_ns - clock->unix_ns + clock->monotonic_ns;

	/* before this boot, or damaged */
	return time_ns < RECORD_TIME_END_NS ? time_ns : 0;
}

/* Whether a claim waits for no chunk; sets its times. */
static bool claim_is_due(struct join_claim *c, const struct join_times *t)
{
	if (!t->to_ns)
		return t->now_ns - c->came_ns > PATIENCE_NS;
	c->nested.begin_ns = monotonic_of(&t->clock, c->claim.begin_ns);
	c->nested.end_ns = monotonic_of(&t->clock, c->claim.end_ns);
	return c->nested.end_ns <= t->to_ns || t->now_ns - c->came_ns > PATIENCE_NS;
}

static bool claim_has_chunks(const struct join_claim *c, const struct join_times *t)
{
	return t->to_ns && c->nested.begin_ns && c->nested.end_ns <= t->to_ns &&
	       c->nested.end_ns > t->from_ns && c->nested.begin_ns < c->nested.end_ns;
}

/*
 * Moves claims that are due into `taken`: those of the last seconds, or in their turn those that
 * began before. What no chunk has is judged at once.
 */
static void claims_take(struct joiner *j, const struct join_times *t)
{
	u64 long_ns = t->to_ns > SHORT_NS ? t->to_ns - SHORT_NS : 0;
	size_t left = 0, skipped = 0;

	for (size_t i = 0; i < j->pending.count; i++) {
		struct join_claim *c = j->pending.data[i];
		bool due = claim_is_due(c, t), taken = false;

		c->joined = JOINED_NO_CHUNK;
		if (due && join_source_has_context(&j->source, c->claim.trace, c->claim.span_id)) {
			joined_count(j, JOINED_CONTEXT);
			claim_free(c);
			continue;
		}
		if (due)
			taken = !claim_has_chunks(c, t) ||
				(c->nested.begin_ns < long_ns) == j->longs;
		skipped += due && !taken;
		if (!taken)
			j->pending.data[left++] = c;
		else if (vec_push(&j->taken, c))
			claim_free(c);
	}
	j->pending.count = left;
	j->longs = skipped && !j->longs;
}

/* Adds what earlier passes judged, where it may meet a claim of this one. */
static int recent_take(struct joiner *j, const struct join_times *t, u64 from_ns, u64 to_ns)
{
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < j->recent.count; i++) {
		struct join_claim *c = j->recent.data[i];

		if (err || t->now_ns - c->came_ns <= RECENT_NS) {
			if (!err && c->nested.begin_ns < to_ns && c->nested.end_ns > from_ns)
				err = vec_push(&j->taken, c) || vec_push(&j->judged, c) ? -ENOMEM
											: 0;
			j->recent.data[left++] = c;
		} else {
			claim_free(c);
		}
	}
	j->recent.count = left;
	return err;
}

/* ---- a pass ---- */

static int trace_compare(const void *a, const void *b)
{
	const struct join_claim *x = *(struct join_claim *const *)a;
	const struct join_claim *y = *(struct join_claim *const *)b;
	const struct claim *p = &x->claim, *q = &y->claim;

	if (p->trace.high != q->trace.high)
		return p->trace.high < q->trace.high ? -1 : 1;
	if (p->trace.low != q->trace.low)
		return p->trace.low < q->trace.low ? -1 : 1;
	return (p->begin_ns > q->begin_ns) - (p->begin_ns < q->begin_ns);
}

static int claim_add(struct joiner *j, const struct join_claim *c)
{
	const struct joined_span joined = {.claim = &c->claim,
					   .joined = c->joined,
					   .pid = c->thread ? c->claim.pid : 0,
					   .tid = c->thread,
					   .split = c->split,
					   .children = c->children.data,
					   .children_count = c->children.count,
					   .more_count = c->more_count,
					   .more_ns = c->more_ns,
					   .partial = j->partial,
					   .version = j->spans.chunk->seq + 1};

	return spans_add_joined(&j->spans, &joined);
}

/* Whether there is news of a claim: the first, or that it was wrong to give it the time. */
static bool claim_is_news(const struct join_claim *c)
{
	if (!c->done)
		return c->joined != JOINED_LEFT_OUT;
	return c->joined == JOINED_AMBIGUOUS && !c->was_ambiguous;
}

/* Posts what was found out. Takes the new ones over. */
static int outcome_post(struct joiner *j, const struct chunk_info *chunk)
{
	int err = 0;

	spans_begin(&j->spans, chunk);
	if (j->taken.count)
		qsort(j->taken.data, j->taken.count, sizeof(*j->taken.data), trace_compare);
	for (size_t i = 0; i < j->taken.count && !err; i++) {
		if (claim_is_news(j->taken.data[i]))
			err = claim_add(j, j->taken.data[i]);
	}
	err = err ? err : spans_finish(&j->spans);
	partial_free(j->partial);
	j->partial = NULL; /* a post may take long */
	atomic_fetch_add(&j->post.board->map.kernel_left_out, j->spans.kernel_left_out);
	return err ? err : post_spans(&j->post, &j->spans.batch);
}

static void outcome_count(struct joiner *j)
{
	for (size_t i = 0; i < j->taken.count; i++) {
		struct join_claim *c = j->taken.data[i];

		if (c->done && claim_is_news(c)) { /* it was counted as something else */
			joined_count(j, JOINED_AMBIGUOUS);
			c->was_ambiguous = true;
		}
		if (c->done)
			continue;
		joined_count(j, c->joined);
		claim_tell(j, c);
		c->was_ambiguous = c->joined == JOINED_AMBIGUOUS;
	}
}

/* Those that had a thread may yet meet a later claim. */
static void taken_keep(struct joiner *j)
{
	for (size_t i = 0; i < j->taken.count; i++) {
		struct join_claim *c = j->taken.data[i];

		if (c->done)
			continue;
		c->done = true;
		vec_free(&c->children);
		if (c->joined == JOINED_NO_CHUNK || c->joined == JOINED_LEFT_OUT ||
		    j->recent.count >= RECENT_MAX || vec_push(&j->recent, c))
			claim_free(c);
	}
	j->taken.count = 0;
}

static int claims_judge(struct joiner *j, const struct join_times *t)
{
	u64 from_ns = UINT64_MAX, to_ns = 0;
	struct join_mapped mapped = {0};
	struct join_range range;
	int err = 0;

	j->judged.count = 0;
	for (size_t i = 0; i < j->taken.count && !err; i++) {
		struct join_claim *c = j->taken.data[i];

		if (!claim_has_chunks(c, t))
			continue;
		from_ns = c->nested.begin_ns < from_ns ? c->nested.begin_ns : from_ns;
		to_ns = c->nested.end_ns > to_ns ? c->nested.end_ns : to_ns;
		err = vec_push(&j->judged, c);
	}
	if (err || !j->judged.count)
		return err;
	err = recent_take(j, t, from_ns, to_ns);
	if (err)
		return err;
	err = join_source_range(&j->source, from_ns > t->from_ns ? from_ns : t->from_ns, to_ns,
				&j->chunks);
	if (err)
		return err;
	range = (struct join_range){.state = j->chunks.state.count ? &j->chunks.state : NULL,
				    .state_end_ns = j->chunks.state_end_ns,
				    .chunks = j->chunks.list.data,
				    .chunks_count = j->chunks.list.count};
	err = join_pass(j->judged.data, j->judged.count, &range, &mapped);
	atomic_fetch_add(&j->board->chunks, mapped.chunks);
	j->partial = mapped.partial;
	return err;
}

static u64 cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void pass(struct joiner *j)
{
	static struct chunk_info last;
	const struct join_times t = join_source_times(&j->source);
	u64 begun_ns = cpu_ns(), cost_ns;
	int err = 0;

	claims_take(j, &t);
	if (j->taken.count)
		err = claims_judge(j, &t);
	for (size_t i = 0; err && i < j->taken.count; i++) {
		if (!j->taken.data[i]->done)
			j->taken.data[i]->joined = JOINED_LEFT_OUT;
	}
	if (!err && j->taken.count && join_source_last(&j->source, &last))
		outcome_post(j, &last);
	partial_free(j->partial);
	j->partial = NULL;
	outcome_count(j);
	taken_keep(j);
	cost_ns = cpu_ns() - begun_ns;
	atomic_fetch_add(&j->board->cpu_ns, cost_ns);
	atomic_fetch_add(&j->board->passes, 1);
	cost_ns *= REST_COSTS;
	j->again_ns = clock_now_ns() + (cost_ns > REST_NS ? cost_ns : REST_NS);
}

static void *joiner_run(void *arg)
{
	struct joiner *j = arg;

	prctl(PR_SET_NAME, "fathom-join");
	while (!atomic_load(&j->stopping)) {
		messages_read(j);
		if (j->pending.count && clock_now_ns() >= j->again_ns)
			pass(j);
	}
	return NULL;
}

/* ---- begin and end ---- */

static bool post_is_over(void *arg, uint64_t wait_ns)
{
	struct joiner *j = arg;
	u64 until_ns = clock_now_ns() + wait_ns;

	while (!atomic_load(&j->stopping) && clock_now_ns() < until_ns)
		poll(NULL, 0, LOOK_MS);
	return atomic_load(&j->stopping);
}

int joiner_start(struct part_context *c, struct chooser *chooser, const char *socket,
		 struct joiner **out)
{
	struct joiner *j = calloc(1, sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	j->fd = c->claims[1];
	j->board = &c->board->join;
	j->spans.chooser = chooser;
	j->post = (struct post){
		.board = c->board,
		.counts = {&j->board->posted, &j->board->kernel_spans, &j->board->refused},
		.sender = {.path = socket, .fd = -1},
		.is_over = post_is_over,
		.arg = j};
	pthread_mutex_init(&j->sent.lock, NULL);
	err = join_source_init(&j->source);
	err = err ? err : thread_start(&j->thread, joiner_run, j);
	j->has_thread = !err;
	if (err)
		joiner_stop(j);
	else
		*out = j;
	return err;
}

void joiner_stop(struct joiner *j)
{
	if (!j)
		return;
	atomic_store(&j->stopping, true);
	if (j->has_thread)
		pthread_join(j->thread, NULL);
	claims_free(&j->pending);
	claims_free(&j->recent);
	vec_free(&j->taken);
	vec_free(&j->judged);
	join_chunks_free(&j->chunks);
	spans_end(&j->spans);
	task_names_free(&j->names);
	post_end(&j->post);
	join_source_end(&j->source);
	sent_ring_free(&j->sent);
	free(j);
}

int joiner_chunk(struct joiner *j, const struct chunk_info *info, struct handover *h)
{
	return join_source_chunk(&j->source, info, h);
}

int joiner_state(struct joiner *j, u64 from_ns, struct recording_checkpoint *out, u64 *first)
{
	return join_source_state(&j->source, from_ns, out, first);
}

void joiner_context(struct joiner *j, const struct context *ctx)
{
	join_source_context(&j->source, ctx);
}

struct sent_ring *joiner_sent(struct joiner *j)
{
	return &j->sent;
}
