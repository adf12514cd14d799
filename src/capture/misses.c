// SPDX-License-Identifier: Apache-2.0
/*
 * Losses by recursion. The kernel skips a program's run when the program would interrupt another
 * one of the same CPU. It counts such runs but does not tell when they were.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/host_clock.h"
#include "capture/internal.h"
#include "capture/kernel/event.h"
#include "capture/kernel/kernel.h"
#include "capture/stack/stacks.h"
#include "programs.skel.h"

static u64 feature_misses(const struct capture *c, size_t i)
{
	struct bpf_prog_info info = {0};
	u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(c->program_fds[i], &info, &size))
		return 0;
	return info.recursion_misses;
}

/* Tells of `count` runs that were skipped since recursion_ns, in which such records were lost. */
static int loss_tell(struct capture *c, const struct capture_sink *sink, u16 lost_kind, u64 count)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	struct record_lost lost = {.why = LOST_recursion, .lost_kind = lost_kind, .count = count};

	if (!count)
		return 0;
	c->counts.lost_recursion += count;
	lost.head.kind = RECORD_lost;
	lost.head.slots = 1;
	lost.head.time_ns = host_clock_now_ns();
	lost.begin_ns = c->recursion_ns;
	return sink->lost ? sink->lost(sink->arg, &stream, &lost) : 0;
}

static bool feature_skipped(const struct capture *c, size_t i, u64 *misses)
{
	if (!c->features[i].on || !capture_feature_lost_kind(i))
		return false;
	*misses = feature_misses(c, i);
	return *misses > c->recursion[i];
}

int capture_misses_tell_around(struct capture *c, const struct capture_sink *sink, u64 cut_ns)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	u64 misses;
	int err = 0;

	for (size_t i = 0; i < c->feature_count && !err; i++) {
		struct record_lost lost = {
			.head = {.kind = RECORD_lost, .slots = 1, .time_ns = cut_ns - 1},
			.why = LOST_recursion,
			.lost_kind = capture_feature_lost_kind(i),
			.begin_ns = c->recursion_ns};

		if (feature_skipped(c, i, &misses) && lost.begin_ns < lost.head.time_ns)
			err = sink->lost(sink->arg, &stream, &lost);
	}
	return err;
}

int capture_misses_tell(struct capture *c, const struct capture_sink *sink)
{
	u64 asked_ns = host_clock_now_ns(), misses;
	int err = loss_tell(c, sink, RECORD_event, capture_events_missed(c));

	if (!err)
		err = loss_tell(c, sink, RECORD_stack, capture_stacks_missed(c->stacks, c));
	for (size_t i = 0; i < c->feature_count && !err; i++) {
		u64 told = c->recursion[i];

		if (!feature_skipped(c, i, &misses))
			continue;
		c->recursion[i] = misses;
		err = loss_tell(c, sink, capture_feature_lost_kind(i), misses - told);
	}
	c->recursion_ns = asked_ns;
	return err;
}
