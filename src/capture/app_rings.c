// SPDX-License-Identifier: Apache-2.0
#include "capture/app_rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

#include "base/host_clock.h"
#include "base/vec.h"
#include "capture/app_rings_internal.h"
#include "capture/app_threads.h"
#include "capture/held.h"
#include "capture/mark.h"

#define LEASE_NS 2000000000ull
#define RENEW_NS 500000000ull
#define ENDED_NS 10000000ull  /* how often we look who ended */
#define TELL_NS 100000000ull  /* how often losses are told */
#define LATE_NS 1000000000ull /* who is longer in the middle of a record is not waited for */
#define BATCH 16384	      /* records of one ring in a drain; a lane may go beyond */
#define FILES_WANTED 65536
#define LOST_MAX UINT32_MAX /* more at once was never counted by a library of ours */

/* A lane that a cut waits for. */
struct app_goal {
	u32 lane;
	u64 head;
};

struct app_source {
	struct app_ring_reached *r; /* owned */
	u64 since_ns;		    /* older records are another listener's */
	u64 until_ns;		    /* another process has its number from then on; 0: no */
	u64 lost_told;		    /* as the ring counts them */
	u64 lost_cut;		    /* likewise, at the cut */
	u64 damaged, damaged_told;
	u64 told_ns;
	u32 next_lane; /* where the next batch begins */
	bool ended;    /* the process has, or its ring was succeeded */
	VEC(struct app_goal) goals;
	VEC(struct ring_mark) marks; /* by lane */
};

struct app_rings {
	VEC(struct app_source) sources;
	struct held_records held; /* later than the last cut */
	VEC(pid_t) missed;
	struct app_threads threads;
	struct thread_owners owners;
	size_t max;
	u32 session;
	u64 cut_ns;
	u64 renewed_ns, ended_ns;
	struct app_rings_counts counts;
};

/* Each takes two descriptors; the usual limit is that of programs that use select(). */
static size_t rings_room(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return 256;
	if (files.rlim_cur < FILES_WANTED && files.rlim_cur < files.rlim_max) {
		struct rlimit more = files;

		more.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
		if (!setrlimit(RLIMIT_NOFILE, &more))
			files = more;
	}
	return files.rlim_cur / 4;
}

struct app_rings *app_rings_new(void)
{
	struct app_rings *rings = calloc(1, sizeof(*rings));

	if (!rings)
		return NULL;
	while (rings->session == 0 || rings->session == APP_RING_GRACE) {
		if (getrandom(&rings->session, sizeof(rings->session), 0) < 0)
			rings->session = (u32)host_clock_now_ns();
	}
	rings->max = rings_room();
	return rings;
}

static void source_close(struct app_source *s)
{
	app_ring_listen(s->r->ring, 0, 0);
	app_ring_drop(s->r);
	vec_free(&s->goals);
	vec_free(&s->marks);
}

void app_rings_free(struct app_rings *rings)
{
	if (!rings)
		return;
	for (size_t i = 0; i < rings->sources.count; i++)
		source_close(&rings->sources.data[i]);
	vec_free(&rings->sources);
	held_free(&rings->held);
	vec_free(&rings->missed);
	free(rings);
}

static u64 source_lease(const struct app_source *s, u64 now)
{
	return now + (u64)s->r->process.clock_ns + LEASE_NS;
}

/*
 * From now on, or since the ring was made. Its own word for that is not taken: a process that
 * lies would give itself a past in which its number was another's.
 */
static void source_begin(const struct app_rings *rings, struct app_source *s)
{
	u64 now = host_clock_now_ns();
	bool first;

	s->since_ns = s->told_ns = now;
	s->lost_told = app_ring_lost(s->r->ring);
	first = app_ring_take_over(s->r->ring, rings->session, source_lease(s, now));
	if (!first || !s->r->made_ns || s->r->made_ns > now)
		return;
	s->since_ns = s->told_ns = s->r->made_ns;
	s->lost_told = 0;
}

void app_rings_missed(struct app_rings *rings, pid_t pid)
{
	rings->counts.not_reached++;
	(void)vec_push(&rings->missed, pid); /* without memory it is only counted */
}

int app_rings_add(struct app_rings *rings, struct app_ring_reached *reached)
{
	struct app_source source = {.r = reached};
	int err = rings->sources.count < rings->max ? 0 : -EMFILE;

	for (size_t i = 0; i < rings->sources.count; i++) {
		struct app_source *s = &rings->sources.data[i];

		if (s->r->inode == reached->inode && s->r->device == reached->device)
			goto drop;
		if (s->r->process.pid == reached->process.pid)
			s->ended = true;
	}
	if (!err)
		err = vec_push(&rings->sources, source);
	if (err) {
		app_rings_missed(rings, reached->process.pid);
		goto drop;
	}
	if (reached->made_ns)
		app_threads_tell(&rings->threads, reached->made_ns, &reached->process);
	source_begin(rings, &rings->sources.data[rings->sources.count - 1]);
	return 0;
drop:
	app_ring_drop(reached);
	return err;
}

void app_rings_thread(struct app_rings *rings, const struct app_thread *thread)
{
	app_threads_note(&rings->threads, thread);
	for (size_t i = 0; i < rings->sources.count; i++) {
		struct app_process *process = &rings->sources.data[i].r->process;

		if ((u32)process->pid == thread->pid)
			app_process_learn(process, thread->inner, thread->tid, thread->made_ns);
	}
}

void app_rings_life(struct app_rings *rings, const struct record_head *r)
{
	const struct record_fork *fork = (const void *)r;

	thread_owners_note(&rings->owners, r);
	if (r->kind != RECORD_fork || fork->flags & THREAD_IS_THREAD)
		return;
	for (size_t i = 0; i < rings->sources.count; i++) {
		struct app_source *s = &rings->sources.data[i];

		if ((u32)s->r->process.pid == r->pid && s->r->reached_ns < r->time_ns)
			s->until_ns = r->time_ns;
	}
}

/* ---- one record ---- */

struct take {
	struct app_rings *rings;
	struct app_source *source;
	const struct capture_sink *sink;
	u64 until_ns;  /* later ones are held back */
	u64 polled_ns; /* before any head was read */
	u64 now_ns;
	int err;
};

union app_copy {
	struct record_head head;
	struct record_span_begin begin;
	struct record_span_end end;
	struct record_span_attach attach;
	struct record_span_detach detach;
	struct record_span_event event;
	struct record_span_attribute attribute;
	u8 bytes[18 * RECORD_SLOT_BYTES];
};

static bool context_is_set(const struct context *c)
{
	static const u8 none[16];

	return memcmp(c->span, none, 8) != 0 && memcmp(c->trace, none, 16) != 0;
}

/* Lengths were checked by the ring's reader; here it is about what numbers mean. */
static bool content_is_sound(const union app_copy *r)
{
	switch (r->head.kind) {
	case RECORD_span_begin:
		return context_is_set(&r->begin.ctx) && r->begin.span_kind <= 4 &&
		       r->begin.level <= 7;
	case RECORD_span_end:
		return context_is_set(&r->end.ctx) && r->end.status <= 2;
	case RECORD_span_attach:
		return context_is_set(&r->attach.ctx);
	case RECORD_span_detach:
		return context_is_set(&r->detach.ctx);
	case RECORD_span_event:
		return context_is_set(&r->event.ctx) && r->event.level <= 7;
	case RECORD_span_attribute:
		return context_is_set(&r->attribute.ctx) && r->attribute.of_event <= 1;
	}
	return true;
}

/* Puts our names in place of those that the process wrote. False: it is not believed. */
static bool record_translate(struct take *take, union app_copy *r)
{
	struct app_process *process = &take->source->r->process;

	if (!content_is_sound(r))
		return false;
	r->head.time_ns -= (u64)process->clock_ns;
	if (r->head.time_ns > take->now_ns) {
		take->now_ns = host_clock_now_ns();
		if (r->head.time_ns > take->now_ns)
			return false;
	}
	if (take->source->until_ns && r->head.time_ns >= take->source->until_ns)
		return false;
	r->head.tid = app_process_thread(process, &take->rings->owners, r->head.tid,
					 r->head.time_ns);
	r->head.pid = (u32)process->pid;
	if (r->head.tid && r->head.cpu == APP_RECORD_CUT)
		take->rings->counts.cut++;
	r->head.cpu = APP_RECORD_WHOLE;
	r->head.seq = 0;
	return r->head.tid != 0;
}

/* Who takes records, and of which rings. */
struct delivery {
	struct app_rings *rings;
	const struct capture_sink *sink;
};

static int record_deliver(void *arg, const struct capture_stream *stream,
			  const struct record_head *r)
{
	const struct delivery *to = arg;

	to->rings->counts.records++;
	return to->sink->record(to->sink->arg, stream, r);
}

static void record_taken(void *owner, const struct record_head *head)
{
	struct take *take = owner;
	struct capture_stream stream = {CAPTURE_STREAM_APP, 0};
	struct delivery to = {take->rings, take->sink};
	union app_copy r;

	memcpy(r.bytes, head, (size_t)head->slots * RECORD_SLOT_BYTES);
	memset(r.bytes + (size_t)head->slots * RECORD_SLOT_BYTES, 0,
	       sizeof(r) - (size_t)head->slots * RECORD_SLOT_BYTES);
	if (head->time_ns - (u64)take->source->r->process.clock_ns < take->source->since_ns) {
		take->rings->counts.stale++;
		return;
	}
	if (!record_translate(take, &r)) {
		take->source->damaged++;
		return;
	}
	stream.id = r.head.pid;
	if (take->err || r.head.time_ns > take->until_ns) {
		if (held_add(&take->rings->held, &stream, &r.head))
			take->source->damaged++;
		return;
	}
	take->err = record_deliver(&to, &stream, &r.head);
}

static int rings_deliver_held(struct app_rings *rings, const struct capture_sink *sink,
			      u64 until_ns)
{
	struct delivery to = {rings, sink};

	return held_deliver(&rings->held, until_ns, record_deliver, &to);
}

/* ---- losses ---- */

static int lost_tell(const struct capture_sink *sink, pid_t pid, struct record_lost *lost)
{
	const struct capture_stream stream = {CAPTURE_STREAM_APP, (u32)pid};

	lost->head.kind = RECORD_lost;
	lost->head.slots = 1;
	lost->head.cpu = 0xffff;
	lost->head.tid = lost->head.pid = (u32)pid;
	return sink->lost ? sink->lost(sink->arg, &stream, lost) : 0;
}

/* `lost`: as the ring counted them at `now`. */
static int source_tell(struct app_rings *rings, struct app_source *s, u64 lost,
		       const struct capture_sink *sink, u64 now)
{
	u64 more = lost - s->lost_told;
	u64 damaged = s->damaged - s->damaged_told, begin = s->told_ns;
	int err = 0;

	s->told_ns = now;
	s->lost_told = lost;
	s->damaged_told = s->damaged;
	if (more > LOST_MAX) /* the process wrote there itself */
		more = 0;
	rings->counts.lost += more;
	rings->counts.damaged += damaged;
	if (more + damaged) {
		struct record_lost r = {
			.why = LOST_application, .count = more + damaged, .begin_ns = begin};

		r.head.time_ns = now;
		err = lost_tell(sink, s->r->process.pid, &r);
	}
	return err;
}

/* Each has lost the record that says who it is, and nobody knows what else. */
static int missed_tell(struct app_rings *rings, const struct capture_sink *sink, u64 now)
{
	int err = 0;

	for (size_t i = 0; i < rings->missed.count && !err; i++) {
		struct record_lost r = {.why = LOST_application,
					.lost_kind = RECORD_service,
					.count = 1,
					.begin_ns = now};

		r.head.time_ns = now;
		err = lost_tell(sink, rings->missed.data[i], &r);
	}
	rings->missed.count = 0;
	return err;
}

int app_rings_losses(struct app_rings *rings, const struct capture_sink *sink)
{
	u64 now = host_clock_now_ns();
	int err = missed_tell(rings, sink, now);

	for (size_t i = 0; i < rings->sources.count && !err; i++)
		err = source_tell(rings, &rings->sources.data[i],
				  app_ring_lost(rings->sources.data[i].r->ring), sink, now);
	return err;
}

int app_rings_cut_losses(struct app_rings *rings, const struct capture_sink *sink)
{
	u64 before = rings->cut_ns - 1; /* at the cut, the next begins */
	int err = missed_tell(rings, sink, before);

	for (size_t i = 0; i < rings->sources.count && !err; i++)
		err = source_tell(rings, &rings->sources.data[i], rings->sources.data[i].lost_cut,
				  sink, before);
	return err;
}

/* ---- poll ---- */

/* A thread that is gone publishes nothing any more: what it left half done is passed over. */
static void source_end(struct app_source *s)
{
	u32 lanes = app_ring_lanes(s->r->ring);

	for (u32 i = 0; i < lanes; i++)
		__atomic_store_n(&s->r->ring->table[i].state, APP_LANE_LEFT, __ATOMIC_RELAXED);
}

/* Takes a lane's records out up to `head`, which was read after now_ns. True if all were there. */
static bool lane_drain(struct app_source *s, const struct app_goal *goal, u64 now_ns,
		       struct take *take, struct app_drained *drained)
{
	const struct app_ring_sink sink = {.record = record_taken, .owner = take};
	bool all = app_ring_drain_lane(s->r->ring, goal->lane, goal->head, &sink, drained);

	while (s->marks.count <= goal->lane) {
		const struct ring_mark first = {.ns = s->since_ns, .before_ns = s->since_ns};

		if (vec_push(&s->marks, first))
			return all; /* without a mark a lane is not waited for */
	}
	ring_mark_set(&s->marks.data[goal->lane], s->r->ring->lane[goal->lane].control.tail,
		      goal->head, now_ns);
	return all;
}

/* Drains lane after lane until a batch is full. True if all lanes were looked at. */
static bool source_drain(struct app_source *s, struct take *take)
{
	struct app_ring *ring = s->r->ring;
	struct app_drained drained = {0};
	u32 lanes = app_ring_lanes(ring), i;

	app_process_refill(&s->r->process);
	for (i = 0; i < lanes && drained.records + drained.damaged < BATCH && !take->err; i++) {
		u32 lane = (s->next_lane + i) % lanes;
		const struct app_goal goal = {lane, app_ring_head(ring, lane)};

		lane_drain(s, &goal, take->polled_ns, take, &drained);
	}
	s->next_lane = lanes ? (s->next_lane + i) % lanes : 0;
	s->damaged += drained.damaged;
	return i == lanes;
}

static int source_poll(struct app_rings *rings, struct app_source *s,
		       const struct capture_sink *sink, u64 now)
{
	struct take take = {rings, s, sink, ~0ull, now, now, 0};
	bool all, ended = s->ended;

	if (ended)
		source_end(s);
	all = source_drain(s, &take);
	if (!take.err && ((ended && all) || now >= s->told_ns + TELL_NS))
		take.err = source_tell(rings, s, app_ring_lost(s->r->ring), sink, now);
	if (!take.err && ended && all) {
		source_close(s);
		s->r = NULL;
	}
	return take.err;
}

/* Leases, and who has ended. */
static void sources_tend(struct app_rings *rings, u64 now)
{
	bool renew = now >= rings->renewed_ns + RENEW_NS;
	bool look = now >= rings->ended_ns + ENDED_NS;

	for (size_t i = 0; i < rings->sources.count && (renew || look); i++) {
		struct app_source *s = &rings->sources.data[i];

		if (look && !s->ended)
			s->ended = app_ring_is_ended(s->r);
		if (renew && !s->ended)
			app_ring_listen(s->r->ring, rings->session, source_lease(s, now));
	}
	if (renew)
		rings->renewed_ns = now;
	if (look)
		rings->ended_ns = now;
}

int app_rings_poll(struct app_rings *rings, const struct capture_sink *sink)
{
	u64 now = host_clock_now_ns();
	int err = rings_deliver_held(rings, sink, ~0ull);
	size_t kept = 0;

	sources_tend(rings, now);
	if (!err && rings->missed.count)
		err = missed_tell(rings, sink, now);
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

int app_rings_cut_begin(struct app_rings *rings, u64 cut_ns)
{
	int err = 0;

	rings->cut_ns = cut_ns;
	for (size_t i = 0; i < rings->sources.count && !err; i++) {
		struct app_source *s = &rings->sources.data[i];
		u32 lanes = app_ring_lanes(s->r->ring);

		s->goals.count = 0;
		s->lost_cut = app_ring_lost(s->r->ring);
		app_process_refill(&s->r->process);
		for (u32 lane = 0; lane < lanes && !err; lane++) {
			u64 head = app_ring_head(s->r->ring, lane);

			if (head != s->r->ring->lane[lane].control.tail)
				err = vec_push(&s->goals, ((struct app_goal){lane, head}));
		}
	}
	return err;
}

/* Goals that are reached are taken out. True if none is left. */
static bool source_cut(struct app_source *s, struct take *take)
{
	struct app_drained drained = {0};
	size_t kept = 0;

	for (size_t i = 0; i < s->goals.count; i++) {
		struct app_goal *goal = &s->goals.data[i];

		if (take->err || drained.records + drained.damaged >= BATCH ||
		    !lane_drain(s, goal, take->polled_ns, take, &drained))
			s->goals.data[kept++] = *goal;
	}
	s->goals.count = kept;
	s->damaged += drained.damaged;
	return kept == 0;
}

int app_rings_cut_pass(struct app_rings *rings, const struct capture_sink *sink)
{
	int err = rings_deliver_held(rings, sink, rings->cut_ns);
	bool all = true;

	for (size_t i = 0; i < rings->sources.count && !err; i++) {
		struct take take = {rings,	   &rings->sources.data[i], sink, rings->cut_ns,
				    rings->cut_ns, host_clock_now_ns(),	    0};

		if (take.source->goals.count &&
		    app_ring_is_ended(take.source->r)) /* in mid-record */
			source_end(take.source);
		all &= source_cut(take.source, &take);
		err = take.err;
	}
	return err ? err : all;
}

u64 app_rings_complete(const struct app_rings *rings)
{
	u64 complete = rings->cut_ns;

	for (size_t i = 0; i < rings->sources.count; i++) {
		const struct app_source *s = &rings->sources.data[i];

		for (size_t k = 0; k < s->goals.count; k++) {
			const struct app_goal *goal = &s->goals.data[k];
			u64 tail = s->r->ring->lane[goal->lane].control.tail, clear;

			if (goal->lane >= s->marks.count)
				continue;
			clear = ring_mark_clear_ns(&s->marks.data[goal->lane], tail);
			if (clear < complete && clear + LATE_NS >= rings->cut_ns)
				complete = clear;
		}
	}
	return complete;
}

void app_rings_counts(const struct app_rings *rings, struct app_rings_counts *out)
{
	*out = rings->counts;
	out->rings = rings->sources.count;
}
