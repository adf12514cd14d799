// SPDX-License-Identifier: Apache-2.0
/* Polls the rings of applications, and cuts them. */
#include "base/counter.h"
#include "base/host_clock.h"
#include "capture/app/internal.h"

#define RENEW_NS 500000000ull
#define ENDED_NS 10000000ull  /* how often ends of processes are looked for */
#define TELL_NS 100000000ull  /* how often losses are told */
#define LATE_NS 1000000000ull /* a thread that takes longer for a record is not waited for */
#define BATCH 16384	      /* records of one ring in a drain; a lane may go beyond */
#define OFF_NS 1000 /* how much a stamp by the counter may be before its slots were reserved */
#define LOOKS 64    /* lanes that are looked at in a drain, whether they came into use */

/* The process has ended: its lanes are marked, so that records left unfinished are passed over. */
static void source_end(struct app_source *s)
{
	u32 lanes = app_ring_lanes(s->r->ring);

	for (u32 i = 0; i < lanes; i++)
		__atomic_store_n(&s->r->ring->table[i].state, APP_LANE_LEFT, __ATOMIC_RELAXED);
}

static bool lane_has(void *arg, u32 lane, u64 offset)
{
	const struct app_take *take = arg;

	return app_source_has(take->source, lane, offset);
}

/* Makes room for what is kept of a lane. False: there is no memory. */
static bool lane_keep(struct app_source *s, u32 lane)
{
	const struct app_taken first = {.mark = {.ns = s->since_ns, .before_ns = s->since_ns}};

	while (s->taken.count <= lane) {
		if (vec_push(&s->taken, first))
			return false;
	}
	return true;
}

/* Takes records out of a lane, up to a head that was read after now_ns. True: all were published.
 */
static bool lane_drain(struct app_source *s, const struct app_goal *goal, u64 now_ns,
		       struct app_take *take, struct app_drained *drained)
{
	const struct app_ring_sink sink = {app_record_taken, lane_has, take};
	bool kept = lane_keep(s, goal->lane);
	struct app_taken nothing = {0}, *taken = kept ? &s->taken.data[goal->lane] : &nothing;
	bool all;

	take->newest_ns = &taken->newest_ns;
	all = app_ring_drain_lane(s->r->ring, goal->lane, goal->head, &sink, drained);
	if (kept) /* without a mark a cut does not wait for the lane */
		ring_mark_set(&taken->mark, s->r->ring->lane[goal->lane].control.tail, goal->head,
			      now_ns - (s->asked ? OFF_NS : 0));
	return all;
}

/* Drains lane after lane until a batch is full. True if all lanes were looked at. */
static bool source_drain(struct app_source *s, struct app_take *take)
{
	struct app_ring *ring = s->r->ring;
	struct app_drained drained = {0};
	u32 lanes = app_ring_lanes(ring), i;

	app_process_refill(&s->r->process);
	app_source_look(s,
			s->ended ? APP_RING_LANES : LOOKS); /* at the end no lane may be missed */
	for (i = 0; i < lanes && drained.records + drained.damaged < BATCH && !take->err; i++) {
		struct app_goal goal = {.lane = (s->next_lane + i) % lanes};

		if (app_source_head(s, goal.lane, &goal.head))
			lane_drain(s, &goal, take->polled_ns, take, &drained);
	}
	s->next_lane = lanes ? (s->next_lane + i) % lanes : 0;
	s->damaged += drained.damaged;
	return i == lanes;
}

static int source_poll(struct app_rings *rings, struct app_source *s,
		       const struct capture_sink *sink, u64 now)
{
	struct app_take take = {.rings = rings,
				.source = s,
				.sink = sink,
				.until_ns = ~0ull,
				.polled_ns = now,
				.now_ns = now};
	bool all, ended = s->ended |= s->broken || app_ring_is_stopped(s->r->ring);

	if (ended) {
		/* until all is taken, which may need several batches */
		app_source_attend(rings, s, now);
		source_end(s);
	}
	all = source_drain(s, &take);
	if (!take.err && ((ended && all) || now >= s->told_ns + TELL_NS))
		take.err = app_source_tell(rings, s, app_source_lost(s), sink, now);
	if (!take.err && ended && all) {
		app_source_close(s);
		s->r = NULL;
	}
	return take.err;
}

/* Asks programs to stamp by the counter, as soon as we can convert such stamps to times. */
static void sources_count(struct app_rings *rings)
{
	bool counted;

	if (rings->sources.count)
		counter_clock_look(&rings->clock);
	counted = rings->counted && counter_clock_is_ready(&rings->clock);
	for (size_t i = 0; i < rings->sources.count; i++) {
		struct app_source *s = &rings->sources.data[i];

		if (s->counted != counted)
			app_ring_count(s->r->ring, counted ? rings->session : 0);
		s->counted = counted;
		s->asked |= counted;
	}
}

/* Renews leases, and looks for processes that have ended. */
static void sources_tend(struct app_rings *rings, u64 now)
{
	bool renew = now >= rings->renewed_ns + RENEW_NS;
	bool look = now >= rings->ended_ns + ENDED_NS;

	for (size_t i = 0; i < rings->sources.count && (renew || look); i++) {
		struct app_source *s = &rings->sources.data[i];

		if (look && !s->ended)
			s->ended = app_ring_is_ended(s->r);
		if (renew && !s->ended)
			app_source_attend(rings, s, now);
	}
	if (renew) {
		rings->counted = counter_is_clock();
		rings->renewed_ns = now;
	}
	if (look)
		rings->ended_ns = now;
}

int app_rings_poll(struct app_rings *rings, const struct capture_sink *sink)
{
	u64 now = host_clock_now_ns();
	int err = app_records_deliver_held(rings, sink, ~0ull);
	size_t kept = 0;

	sources_tend(rings, now);
	sources_count(rings);
	if (!err && rings->missed.count)
		err = app_rings_tell_missed(rings, sink, now);
	for (size_t i = 0; i < rings->sources.count; i++) {
		struct app_source *s = &rings->sources.data[i];

		if (!err)
			err = source_poll(rings, s, sink, now);
		if (s->r)
			rings->sources.data[kept++] = *s;
	}
	rings->sources.count = kept;
	return err;
}

/* ---- cut ---- */

static bool lane_is_fresh(const struct app_source *s, u32 lane, u64 tail)
{
	return lane >= s->taken.count || tail >= s->taken.data[lane].mark.head;
}

int app_rings_cut_begin(struct app_rings *rings, u64 cut_ns)
{
	u64 now;
	int err = 0;

	rings->cut_ns = cut_ns;
	now = host_clock_now_ns();
	for (size_t i = 0; i < rings->sources.count && !err; i++) {
		struct app_source *s = &rings->sources.data[i];
		u32 lanes = app_ring_lanes(s->r->ring);

		app_source_attend(rings, s, now);
		s->goals.count = 0;
		app_source_look(s, APP_RING_LANES);
		s->lost_cut = app_source_lost(s);
		app_process_refill(&s->r->process);
		for (u32 lane = 0; lane < lanes && !err; lane++) {
			u64 head, tail;

			if (!app_source_head(s, lane, &head))
				continue;
			tail = s->r->ring->lane[lane].control.tail;
			if (head != tail)
				err = vec_push(&s->goals,
					       ((struct app_goal){lane, head,
								  lane_is_fresh(s, lane, tail)}));
		}
	}
	return err;
}

/* Whether a cut waits for the lane. A thread in the middle of a record may be stopped for days. */
static bool lane_is_awaited(const struct app_source *s, u32 lane, u64 cut_ns, u64 *clear_ns)
{
	if (lane >= s->taken.count)
		return false;
	*clear_ns = ring_mark_clear_ns(&s->taken.data[lane].mark,
				       s->r->ring->lane[lane].control.tail);
	return *clear_ns + LATE_NS >= cut_ns;
}

/* Drains to the goals, and removes those that are reached. True: no goal is left to wait for. */
static bool source_cut(struct app_source *s, struct app_take *take)
{
	struct app_drained drained = {0};
	bool all = true;
	size_t kept = 0;

	if (s->broken)
		s->goals.count = 0;
	for (size_t i = 0; i < s->goals.count; i++) {
		struct app_goal *goal = &s->goals.data[i];
		bool full = take->err || drained.records + drained.damaged >= BATCH;
		u64 clear_ns;

		if (!full && lane_drain(s, goal, take->polled_ns, take, &drained))
			continue;
		all &= !full && !goal->fresh &&
		       !lane_is_awaited(s, goal->lane, take->until_ns, &clear_ns);
		s->goals.data[kept++] = *goal;
	}
	s->goals.count = kept;
	s->damaged += drained.damaged;
	return all;
}

int app_rings_cut_pass(struct app_rings *rings, const struct capture_sink *sink)
{
	int err = app_records_deliver_held(rings, sink, rings->cut_ns);
	bool all = true;

	counter_clock_look(&rings->clock);
	for (size_t i = 0; i < rings->sources.count && !err; i++) {
		struct app_take take = {.rings = rings,
					.source = &rings->sources.data[i],
					.sink = sink,
					.until_ns = rings->cut_ns,
					.polled_ns = rings->cut_ns,
					.now_ns = host_clock_now_ns()};

		if (take.source->goals.count &&
		    (take.source->ended || app_ring_is_ended(take.source->r))) /* in mid-record */
			source_end(take.source);
		all &= source_cut(take.source, &take);
		err = take.err;
	}
	return err ? err : all;
}

u64 app_rings_complete(const struct app_rings *rings)
{
	u64 complete = rings->cut_ns;

	for (size_t i = 0; i < rings->sought.count; i++) {
		u64 made_ns = rings->sought.data[i].made_ns;

		if (made_ns < complete && made_ns + SOUGHT_NS >= rings->cut_ns)
			complete = made_ns;
	}
	for (size_t i = 0; i < rings->sources.count; i++) {
		const struct app_source *s = &rings->sources.data[i];

		for (size_t k = 0; k < s->goals.count; k++) {
			u64 clear_ns;

			if (lane_is_awaited(s, s->goals.data[k].lane, rings->cut_ns, &clear_ns) &&
			    clear_ns < complete)
				complete = clear_ns;
		}
	}
	return complete;
}
