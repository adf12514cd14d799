/* SPDX-License-Identifier: Apache-2.0 */
#include "up/follower.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "request/learned_keep.h"
#include "up/decider.h"
#include "up/post.h"
#include "up/quota.h"
#include "up/recent.h"
#include "up/requests_kept.h"
#include "up/spans_request.h"

#define PERIOD_NS UINT64_C(10000000000) /* of the recording, between two passes */
#define BEFORE_NS UINT64_C(2000000000)	/* of the recording, before the first undecided request */
/* Times the cost of a pass, before the next one: a tenth of a CPU. Where room is short, a quarter.
 */
#define REST_COSTS 9
#define REST_COSTS_SHORT 3
/* Where room is short, a request waits so long after its end, and is open for so long. */
#define SHORT_WAIT_NS UINT64_C(2000000000)
#define SHORT_OPEN_NS UINT64_C(5000000000)
#define LAST_COST_NS UINT64_C(500000000) /* of a pass, with which there is time for a last one */
#define LOOK_MS 100
#define POST_SPANS 4096 /* at most about so many are made before they are posted */
#define FADE_REQUESTS 20000u
#define LEARNED_ROWS_MAX 65536u
#define FOLDER "map"

struct follower {
	struct part_context *context;
	struct board_requests *board;
	struct joiner *joiner;
	pthread_t thread;
	bool has_thread;
	atomic_bool stopping;
	struct post post;
	struct spans spans;
	struct recent recent;
	struct decider decider;
	struct quota quota;
	u64 left_out; /* board->chunks_left_out behind the last pass */
	struct requests_kept kept;
	int dir;
	char boot_id[CHUNK_BOOT_BYTES];
	bool has_looked;	/* since it took a chunk */
	u64 passed_ns;		/* when the last pass ended */
	u64 last_cost_ns;	/* of the last pass, with that of the chunks before it */
	struct talkers talkers; /* of the thread of the hand-over */
	/* with the lock: what the thread of the hand-over brings */
	pthread_mutex_t lock;
	VEC(struct recent_chunk *) brought;
	struct recent_came came;
	size_t brought_bytes;
	u64 brought_cost_ns;
};

static u64 cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- chunks come ---- */

static void left_out_count(struct follower *f, size_t chunks)
{
	atomic_fetch_add(&f->board->chunks_left_out, chunks);
}

int follower_chunk(struct follower *f, const struct chunk_info *info, struct partial *p)
{
	u64 begun_ns = cpu_ns();
	struct recent_chunk *chunk;
	bool is_full;
	int err = 0;

	if (!f)
		return 0;
	chunk = recent_chunk_new(info, p, &f->talkers);
	if (!chunk)
		return -ENOMEM;
	pthread_mutex_lock(&f->lock);
	(void)recent_came_add(&f->came, chunk); /* else fewer requests are counted */
	is_full = f->brought_bytes + chunk->bytes.count > RECENT_BYTES_MAX ||
		  f->brought.count >= RECENT_CHUNKS_MAX;
	if (!is_full)
		err = vec_push(&f->brought, chunk);
	if (!is_full && !err)
		f->brought_bytes += chunk->bytes.count;
	f->brought_cost_ns += cpu_ns() - begun_ns;
	pthread_mutex_unlock(&f->lock);
	if (!is_full && !err)
		return 0;
	left_out_count(f, 1); /* the next one does not follow, which tells the thread */
	recent_chunk_free(chunk);
	return err;
}

/* Takes one chunk; NULL: there is none. */
static struct recent_chunk *brought_take(struct follower *f)
{
	struct recent_chunk *chunk = NULL;

	pthread_mutex_lock(&f->lock);
	if (f->brought.count) {
		chunk = f->brought.data[0];
		f->brought.count--;
		memmove(f->brought.data, f->brought.data + 1,
			f->brought.count * sizeof(*f->brought.data));
		f->brought_bytes -= chunk->bytes.count;
	}
	pthread_mutex_unlock(&f->lock);
	return chunk;
}

/*
 * Lets the window begin at the latest state that ended by then, if that is later than now. False:
 * there is no such state.
 */
static bool window_move(struct follower *f, u64 from_ns)
{
	struct recording_checkpoint state;
	u64 first;

	if (joiner_state(f->joiner, from_ns, &state, &first))
		return false;
	if (recent_begin(&f->recent, &state, first))
		return true;
	recording_checkpoint_free(&state);
	return false;
}

/* Makes room: what goes is not followed. Half of it stays, or as much as there is a state for. */
static void window_bound(struct follower *f)
{
	while (recent_is_full(&f->recent)) {
		size_t had = f->recent.chunks.count;

		for (size_t i = had / 2; i < had && f->recent.chunks.count == had; i++)
			window_move(f, f->recent.chunks.data[i]->info.begin_ns);
		if (f->recent.chunks.count == had)
			recent_free(&f->recent);
		left_out_count(f, had - f->recent.chunks.count);
	}
}

/* Whether chunks are about to be left out: it looks earlier and rests less then. */
static bool room_is_short(const struct follower *f)
{
	return f->recent.bytes > RECENT_BYTES_MAX / 4 * 3;
}

/* Begins with the first chunk before which there is a state. False: there is none yet. */
static bool window_open(struct follower *f)
{
	for (size_t i = 0; i < f->recent.chunks.count && !f->recent.state.data; i++)
		window_move(f, f->recent.chunks.data[i]->info.end_ns);
	return f->recent.state.data;
}

/* Whether there is so much to look at that a pass is worth it. */
static bool pass_is_due(struct follower *f, u64 wait_ns, u64 period_ns)
{
	const struct chunk_info *last = recent_last(&f->recent);
	u64 since_ns;

	if (!last || !window_open(f) || recent_turn_waits(&f->recent, wait_ns))
		return false;
	since_ns = f->recent.chunks.data[0]->info.begin_ns;
	if (f->decider.decided_ns > since_ns)
		since_ns = f->decider.decided_ns;
	return last->end_ns >= since_ns + wait_ns + period_ns;
}

/* Where room is short, chunks wait for the next look, which makes room, unless none is due yet. */
static bool takes_more(struct follower *f)
{
	return f->has_looked || !room_is_short(f) || !pass_is_due(f, SHORT_WAIT_NS, 0);
}

static void chunks_take(struct follower *f)
{
	struct recent_chunk *chunk;

	while (takes_more(f) && (chunk = brought_take(f))) {
		int gone = recent_add(&f->recent, chunk);

		f->has_looked = false;
		left_out_count(f, gone < 0 ? 1 : (size_t)gone);
		window_bound(f);
	}
}

/* ---- a pass ---- */

struct pass {
	struct follower *f;
	struct sent sent; /* what applications sent in the time of the window */
	struct request_host host;
	struct requests requests;
	struct decider_input input;
	struct decision decision;
};

/* The parts of this program. */
static void own_fill(struct pass *p)
{
	const struct board *board = p->f->context->board;

	p->input.own[0] = (u32)atomic_load(&board->pid);
	for (int part = 0; part < PARTS; part++)
		p->input.own[1 + part] = (u32)atomic_load(&board->parts[part].pid);
}

static int slice_post(struct follower *f)
{
	int err = post_spans(&f->post, &f->spans.batch);

	atomic_fetch_add(&f->context->board->map.kernel_left_out, f->spans.kernel_left_out);
	spans_begin(&f->spans, recent_last(&f->recent));
	return err;
}

static const struct request_trace *decided_trace(const struct pass *p, size_t i)
{
	return &p->requests.traces.data[p->decision.traces.data[i]];
}

/* Which of the decided requests are stored: `chosen` gets each. 0 or -ENOMEM. */
static int decided_choose(struct pass *p, struct quota_request *chosen)
{
	size_t count = p->decision.traces.count;

	for (size_t i = 0; i < count; i++) {
		const struct request_trace *t = decided_trace(p, i);

		chosen[i] = (struct quota_request){.kind = decider_kind(&p->input, t),
						   .spans = (u32)(t->end - t->first)};
	}
	return quota_choose(&p->f->quota, chosen, count, recent_last(&p->f->recent)->end_ns);
}

/* For how long byte ranges were recorded of which the requests are decided now. */
static u64 came_take(struct pass *p)
{
	struct follower *f = p->f;
	u64 ns;

	pthread_mutex_lock(&f->lock);
	ns = recent_came_take(&f->came, f->decider.decided_ns, p->decision.decided_ns);
	pthread_mutex_unlock(&f->lock);
	return ns;
}

static int chosen_post(struct pass *p, const struct quota_request *chosen)
{
	struct follower *f = p->f;
	u64 seen_ns = recent_seen_ns(&f->recent, f->decider.decided_ns, p->decision.decided_ns);
	u64 came_ns = came_take(p), left_out = atomic_load(&f->board->chunks_left_out);
	struct request_stored stored = {
		.spans = &f->decider.stored, .sent = &p->sent, .input = &p->input};
	u64 count = 0;
	int err = 0;

	if (left_out == f->left_out) /* what was not seen came before the first state */
		came_ns = seen_ns;
	f->left_out = left_out;
	spans_begin(&f->spans, recent_last(&f->recent));
	for (size_t i = 0; i < p->decision.traces.count && !err; i++) {
		const struct request_trace *t = decided_trace(p, i);

		if (!chosen[i].times)
			continue;
		count++;
		stored.times = chosen[i].times;
		stored.stands_for = quota_stands_for(&chosen[i], decider_stands_for(&p->input, t),
						     seen_ns, came_ns);
		err = spans_add_request(&f->spans, &p->requests, t, &stored);
		if (!err && f->spans.batch.count >= POST_SPANS)
			err = slice_post(f);
	}
	err = err ? err : slice_post(f);
	if (err)
		return err;
	atomic_fetch_add(&f->board->requests, count);
	atomic_fetch_add(&f->board->decided, p->decision.traces.count);
	atomic_fetch_add(&f->board->open, p->decision.open);
	return 0;
}

static int decided_post(struct pass *p)
{
	struct quota_request *chosen = calloc(p->decision.traces.count + 1, sizeof(*chosen));
	int err = chosen ? decided_choose(p, chosen) : -ENOMEM;

	err = err ? err : chosen_post(p, chosen);
	free(chosen);
	return err;
}

/*
 * What was decided is learned: each request once. The window moves on to what is not decided. 0 or
 * -ENOMEM.
 */
static int window_follow(struct pass *p)
{
	struct follower *f = p->f;
	u64 from_ns = f->decider.undecided_ns, until_ns = f->decider.decided_ns;
	int err = 0;

	window_move(f, from_ns > BEFORE_NS ? from_ns - BEFORE_NS : 0);
	if (until_ns > f->kept.learned_ns) {
		err = requests_learn(&p->requests, f->kept.learned_ns, until_ns, &f->kept.learned);
		f->kept.learned_ns = until_ns;
	}
	err = err ? err : learned_fade(&f->kept.learned, FADE_REQUESTS, LEARNED_ROWS_MAX);
	f->kept.decided_ns = f->decider.decided_ns;
	f->kept.undecided_ns = f->decider.undecided_ns;
	requests_kept_write(f->dir, f->boot_id, &f->kept);
	atomic_store(&f->board->learned, f->kept.learned.rows.count);
	atomic_store(&f->board->to_ns, f->decider.decided_ns);
	return err;
}

static int pass_run(struct pass *p, u64 wait_ns, u64 open_ns)
{
	struct follower *f = p->f;
	const struct follow_options options = {.min_probability_ppm = REQUEST_PROBABILITY_PPM,
					       .learned = &f->kept.learned,
					       .learned_ns = f->kept.learned_ns};
	int err = requests_follow(&p->requests, &p->host, 1, &options);

	p->input = (struct decider_input){.r = &p->requests,
					  .p = p->host.p,
					  .to_ns = recent_last(&f->recent)->end_ns,
					  .wait_ns = wait_ns,
					  .open_ns = open_ns};
	own_fill(p);
	err = err ? err : decider_own_find(&f->decider, &p->input);
	err = err ? err : decider_choose(&f->decider, &p->input, &p->decision);
	err = err ? err : decided_post(p);
	err = err ? err
		  : decider_done(&f->decider, &p->input, &p->decision,
				 f->recent.chunks.data[0]->info.begin_ns);
	err = err ? err : window_follow(p);
	vec_free(&p->decision.traces);
	requests_free(&p->requests);
	return err;
}

/* The service as which a process sends spans, so that its requests are of the same one. */
static const char *service_name(void *arg, u32 pid)
{
	const struct sent *sent = arg;

	return map_get(&sent->services, pid);
}

static int window_pass(struct follower *f, u64 wait_ns, u64 open_ns)
{
	const struct chunk_info *last = recent_last(&f->recent);
	struct pass p = {.f = f,
			 .host = {.name = last->host,
				  .boot = hash_bytes(last->boot_id, strlen(last->boot_id))}};
	struct partial *partial;
	int err = recent_partial(&f->recent, &partial);

	if (err)
		return err;
	p.host.p = partial;
	p.host.service_name = service_name;
	p.host.service_arg = &p.sent;
	err = sent_take(joiner_sent(f->joiner), f->recent.chunks.data[0]->info.begin_ns, &p.sent);
	err = err ? err : pass_run(&p, wait_ns, open_ns);
	sent_free(&p.sent);
	partial_free(partial);
	return err;
}

/* What cannot be followed, for want of memory, is left out. */
static void pass(struct follower *f, u64 wait_ns, u64 open_ns)
{
	u64 begun_ns = cpu_ns(), cost_ns;
	int err = window_pass(f, wait_ns, open_ns);

	if (err && err != -ECANCELED) {
		left_out_count(f, f->recent.chunks.count);
		recent_free(&f->recent);
	}
	cost_ns = cpu_ns() - begun_ns;
	pthread_mutex_lock(&f->lock);
	cost_ns += f->brought_cost_ns;
	f->brought_cost_ns = 0;
	pthread_mutex_unlock(&f->lock);
	atomic_fetch_add(&f->board->passes, 1);
	atomic_fetch_add(&f->board->cpu_ns, cost_ns);
	f->last_cost_ns = cost_ns;
	f->passed_ns = clock_now_ns();
	f->has_looked = true;
}

static bool has_rested(const struct follower *f, bool is_short)
{
	return clock_now_ns() >=
	       f->passed_ns + (is_short ? REST_COSTS_SHORT : REST_COSTS) * f->last_cost_ns;
}

static void look(struct follower *f)
{
	bool is_short = room_is_short(f);
	u64 wait_ns = is_short ? SHORT_WAIT_NS : DECIDER_WAIT_NS;

	if (has_rested(f, is_short) && pass_is_due(f, wait_ns, is_short ? 0 : PERIOD_NS))
		pass(f, wait_ns, is_short ? SHORT_OPEN_NS : DECIDER_OPEN_NS);
}

static void *follower_run(void *arg)
{
	struct follower *f = arg;

	prctl(PR_SET_NAME, "fathom-follow");
	while (!atomic_load(&f->stopping)) {
		poll(NULL, 0, LOOK_MS);
		chunks_take(f);
		look(f);
	}
	chunks_take(f);
	if (f->last_cost_ns < LAST_COST_NS && pass_is_due(f, 0, 0))
		pass(f, 0, DECIDER_OPEN_NS);
	return NULL;
}

/* ---- begin and end ---- */

/* The last pass has no time to wait. */
static bool post_is_over(void *arg, uint64_t wait_ns)
{
	struct follower *f = arg;
	u64 until_ns = clock_now_ns() + wait_ns;

	while (!atomic_load(&f->stopping) && clock_now_ns() < until_ns)
		poll(NULL, 0, LOOK_MS);
	return atomic_load(&f->stopping);
}

static int kept_begin(struct follower *f)
{
	int err;

	f->dir = recording_make_at(f->context->dir, FOLDER, NULL, NULL);
	chunk_boot_read(f->boot_id);
	err = requests_kept_read(f->dir, f->boot_id, &f->kept);
	f->decider.decided_ns = f->kept.decided_ns;
	f->decider.undecided_ns = f->kept.undecided_ns;
	return err;
}

int follower_start(struct part_context *c, struct joiner *joiner, struct chooser *chooser,
		   const char *socket, struct follower **out)
{
	struct follower *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->context = c;
	f->joiner = joiner;
	f->board = &c->board->requests;
	f->spans.chooser = chooser;
	f->quota.rate = c->options->request_spans;
	atomic_store(&f->board->rate, c->options->request_spans);
	f->post = (struct post){
		.board = c->board,
		.counts = {&f->board->spans, &f->board->kernel_spans, &f->board->refused},
		.sender = {.path = socket, .fd = -1},
		.is_over = post_is_over,
		.arg = f};
	pthread_mutex_init(&f->lock, NULL);
	err = kept_begin(f);
	err = err ? err : thread_start(&f->thread, follower_run, f);
	f->has_thread = !err;
	atomic_store(&f->board->followed, !err);
	if (err)
		follower_stop(f);
	else
		*out = f;
	return err;
}

void follower_stop(struct follower *f)
{
	if (!f)
		return;
	atomic_store(&f->stopping, true);
	if (f->has_thread)
		pthread_join(f->thread, NULL);
	for (size_t i = 0; i < f->brought.count; i++)
		recent_chunk_free(f->brought.data[i]);
	vec_free(&f->brought);
	vec_free(&f->came.list);
	recent_free(&f->recent);
	talkers_free(&f->talkers);
	decider_free(&f->decider);
	learned_free(&f->kept.learned);
	spans_end(&f->spans);
	post_end(&f->post);
	if (f->dir >= 0)
		close(f->dir);
	pthread_mutex_destroy(&f->lock);
	free(f);
}
