// SPDX-License-Identifier: Apache-2.0
/* What did not come: records that did not fit, or were not believed, and rings not reached. */
#include "base/host_clock.h"
#include "capture/app/internal.h"

#define LOST_MAX UINT32_MAX /* more at once was never counted by a library of ours */

void app_rings_missed(struct app_rings *rings, pid_t pid)
{
	app_sought_end(rings, pid);
	rings->counts.not_reached++;
	(void)vec_push(&rings->missed, pid); /* without memory it is only counted */
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
 * The session in its place says that no thread has found the lease over: all is there or counted.
 * One may have found it over just before it was renewed, and say so just after: this is seen the
 * next time, and holds from before.
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

/* At least one record each time; how many more, nobody knows. */
static u64 unheard_take(struct app_source *s, u64 now, u64 *begin_ns)
{
	u64 times = s->unheard;

	if (!times)
		return 0;
	*begin_ns = s->unheard_ns < *begin_ns ? s->unheard_ns : *begin_ns;
	s->unheard_ns = now;
	s->unheard = now + 1 < s->unheard_until_ns; /* behind the cut it goes on */
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
	if (more > LOST_MAX) /* the process wrote there itself */
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

/* Each has lost the record that says who it is, and nobody knows what else. */
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
	u64 before = rings->cut_ns - 1; /* at the cut, the next begins */
	int err = app_rings_tell_missed(rings, sink, before);

	for (size_t i = 0; i < rings->sources.count && !err; i++)
		err = app_source_tell(rings, &rings->sources.data[i],
				      rings->sources.data[i].lost_cut, sink, before);
	return err;
}
