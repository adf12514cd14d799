// SPDX-License-Identifier: Apache-2.0
#include "base/host_clock.h"
#include "capture/app/rings.h"
#include "capture/deliver.h"
#include "capture/internal.h"
#include "capture/stack/stacks.h"
#include "capture/watch.h"

#define TELL_AGAIN_NS                                                                              \
	10000000000ull /* for a flight recorder, whose rings lose the oldest names                 \
			*/

static int poll_all(struct capture *c, struct capture_delivery *to)
{
	int err = capture_conditions_tell(c, &to->sink, false);
	u64 now = c->flight ? host_clock_now_ns() : 0;

	if (now > c->told_again_ns + TELL_AGAIN_NS)
		capture_tell_again(c, now);
	if (!err)
		err = capture_drain(c, to);
	err = err ? err : capture_snapshot_moves(c, to);
	return err ? err : capture_scopes_follow(c);
}

int capture_poll(struct capture *c, const struct capture_sink *sink)
{
	struct capture_delivery to;

	capture_delivery_make(&to, c, sink);
	return poll_all(c, &to);
}

int capture_settle(struct capture *c, const struct capture_sink *sink)
{
	struct capture_delivery to;
	int err;

	capture_delivery_make(&to, c, sink);
	err = poll_all(c, &to);
	if (err || !c->apps)
		return err;
	capture_watch_settle(c->watch);
	err = capture_drain(c, &to);
	app_rings_sought_end(c->apps);
	return err;
}

void capture_counts(const struct capture *c, struct capture_counts *out)
{
	*out = c->counts;
	for (u32 cpu = 0; cpu < c->ring_count; cpu++)
		out->incomplete += c->controls[cpu].incomplete;
	out->not_followed = capture_watch_missed(c->watch);
	out->incomplete += out->not_followed;
	out->lights_unread = capture_watch_unread(c->watch);
	out->no_kernel_stacks = !capture_stacks_of_kernel(c->stacks);
	if (c->apps) {
		struct app_rings_counts apps;

		app_rings_counts(c->apps, &apps);
		out->records += apps.records;
		out->lost_application = apps.lost + apps.damaged;
		out->incomplete += apps.cut;
		out->rings_missed = apps.not_reached;
	}
}
