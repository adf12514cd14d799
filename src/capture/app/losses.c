// SPDX-License-Identifier: Apache-2.0
/* Tells of losses: records that had no room or were damaged, and rings that were missed. */
#include "base/host_clock.h"
#include "capture/app/internal.h"

#define LOST_MAX UINT32_MAX /* libfathom never counts more between two polls */

void app_rings_missed(struct app_rings *rings, pid_t pid)
{
	app_sought_end(rings, pid);
	rings->counts.not_reached++;
	(void)vec_push(&rings->missed, pid); /* without memory the ring is only counted */
}

void app_rings_sought_end(struct app_rings *rings)
{
	while (rings->sought.count)
		app_rings_missed(rings, rings->sought.data[0].pid);
}

static int lost_tell(const struct capture_sink *sink, pid_t pid, struct record_lost *lost)
{
	const struct capture_stream stream = {CAPTURE_STREAM_APP, (u32)pid};

	lost->head.kind = RECORD_lost;
	lost->head.slots = 1;
	lost->head.cpu = 0xffff;
	lost->head.tid = lost->head.pid = (u32)pid;
	return sink->lost ? sink->lost(sink->arg, &stream, lost) : 0;
}

/*
 * If our session is still in the ring, no thread has found the lease over, and all records are
 * written or counted. A thread may find the lease over just before it is renewed, and take the
 * session out just afterwards. That is seen the next time, and counts from the time before.
 */
void app_source_attend(const struct app_rings *rings, struct app_source *s, u64 now)
{
	bool over = now > s->lease_ns;
	u64 since = over ? s->lease_ns : s->heard_ns;

	s->lease_ns = now + APP_LEASE_NS;
	s->heard_ns = over ? since : now;
	if (app_ring_renew(s->r->ring, rings->session, app_source_lease(s, now)))
		return;
	s->heard_ns = now;
	if (!s->unheard || since < s->unheard_ns)
		s->unheard_ns = since;
	s->unheard++;
	s->unheard_until_ns = now;
}

/* At least one record was lost each time; the real number is not known. */
static u64 unheard_take(struct app_source *s, u64 now, u64 *begin_ns)
{
	u64 times = s->unheard;

	if (!times)
		return 0;
	*begin_ns = s->unheard_ns < *begin_ns ? s->unheard_ns : *begin_ns;
	s->unheard_ns = now;
	s->unheard = now + 1 < s->unheard_until_ns; /* the time goes on behind the cut */
	return times;
}

int app_source_tell(struct app_rings *rings, struct app_source *s, u64 lost,
		    const struct capture_sink *sink, u64 now)
{
	u64 more = lost - s->lost_told;
	u64 damaged = s->damaged - s->damaged_told, begin = s->told_ns;
	int err = 0;

	s->told_ns = now;
	s->lost_told = lost;
	s->damaged_told = s->damaged;
	if (more > LOST_MAX) /* the program has overwritten the count */
		more = 0;
	more += unheard_take(s, now, &begin);
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

/* Each has surely lost its service record; what else was lost is not known. */
int app_rings_tell_missed(struct app_rings *rings, const struct capture_sink *sink, u64 now)
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

int app_rings_cut_losses(struct app_rings *rings, const struct capture_sink *sink)
{
	u64 before = rings->cut_ns - 1; /* the time of the cut belongs to the next chunk */
	int err = app_rings_tell_missed(rings, sink, before);

	for (size_t i = 0; i < rings->sources.count && !err; i++)
		err = app_source_tell(rings, &rings->sources.data[i],
				      rings->sources.data[i].lost_cut, sink, before);
	return err;
}
