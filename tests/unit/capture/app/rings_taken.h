/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of a writer of the tests, and who takes their records and counts them. */
#ifndef TESTS_UNIT_CAPTURE_APP_RINGS_TAKEN_H
#define TESTS_UNIT_CAPTURE_APP_RINGS_TAKEN_H

#include "capture/app/internal.h"
#include "capture/app/rings.h"
#include "tests/unit/capture/app/writer.h"

struct taken {
	u64 kinds[RECORD_KIND_MAX + 1];
	u64 lost, missed;
	u64 lost_begin_ns, lost_end_ns; /* of all losses together */
	u64 last_ns;			/* the latest time */
	u64 late;			/* later than until_ns */
	u64 until_ns;
	u32 pid; /* not 0: all must be of this process */
	u64 strange;
	u32 tids[64];
	u32 tid_count;
	s64 next; /* value that the next attribute must have */
	u64 out_of_order;
	int fail_once;
};

static struct taken taken;

static void tid_note(u32 tid)
{
	for (u32 i = 0; i < taken.tid_count; i++) {
		if (taken.tids[i] == tid)
			return;
	}
	if (taken.tid_count < 64)
		taken.tids[taken.tid_count++] = tid;
}

static int on_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	int fail = taken.fail_once;

	taken.kinds[r->kind]++;
	taken.strange += s->kind != CAPTURE_STREAM_APP || s->id != r->pid || r->cpu != 0xffff ||
			 (taken.pid && r->pid != taken.pid);
	taken.last_ns = r->time_ns > taken.last_ns ? r->time_ns : taken.last_ns;
	taken.late += taken.until_ns && r->time_ns > taken.until_ns;
	tid_note(r->tid);
	if (r->kind == RECORD_span_attribute)
		taken.out_of_order += (s64)((const struct record_span_attribute *)r)->value !=
				      taken.next++;
	taken.fail_once = 0;
	return fail;
}

static int on_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	if (lost->lost_kind == RECORD_service)
		taken.missed += lost->count;
	else if (lost->why == LOST_application)
		taken.lost += lost->count;
	if (!taken.lost_begin_ns || lost->begin_ns < taken.lost_begin_ns)
		taken.lost_begin_ns = lost->begin_ns;
	taken.lost_end_ns = lost->head.time_ns;
	taken.strange += s->kind != CAPTURE_STREAM_APP || (taken.pid && s->id != taken.pid);
	return 0;
}

static const struct capture_sink sink = {NULL, on_record, on_lost};

/* The ring was seen to be made at made_ns; 0: it was not. */
static inline struct app_rings *rings_start_since(pid_t pid, u64 made_ns)
{
	struct app_rings *rings = app_rings_new();
	struct app_ring_reached *reached = NULL;
	struct error e = {0};

	memset(&taken, 0, sizeof(taken));
	CHECK(rings != NULL);
	taken.pid = (u32)pid;
	if (app_ring_reach(pid, made_ns, NULL, &reached, &e) != 1)
		CHECK_STR(e.text, "reached");
	CHECK_EQ(app_rings_add(rings, reached), 0);
	return rings;
}

static inline struct app_rings *rings_start(pid_t pid)
{
	return rings_start_since(pid, 0);
}

static inline u64 rings_damaged(const struct app_rings *rings)
{
	struct app_rings_counts counts;

	app_rings_counts(rings, &counts);
	return counts.damaged;
}

/* Tells of the losses so far, as a recorder does at each cut. */
static inline int losses_tell(struct app_rings *rings)
{
	u64 now = now_ns();
	int err = app_rings_tell_missed(rings, &sink, now);

	for (size_t i = 0; i < rings->sources.count && !err; i++)
		err = app_source_tell(rings, &rings->sources.data[i],
				      app_source_lost(&rings->sources.data[i]), &sink, now);
	return err;
}

static inline u64 rings_left(const struct app_rings *rings)
{
	struct app_rings_counts counts;

	app_rings_counts(rings, &counts);
	return counts.rings;
}

/* Polls until the ring of a process that ended was let go. */
static inline void rings_settle(struct app_rings *rings)
{
	u64 until = now_ns() + 30000000000ull;

	while (rings_left(rings) && now_ns() < until) {
		CHECK_EQ(app_rings_poll(rings, &sink), 0);
		usleep(1000);
	}
	CHECK_EQ(rings_left(rings), 0);
}

#endif
