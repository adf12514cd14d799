// SPDX-License-Identifier: Apache-2.0
/* One pass over everything that is there: rings, applications, looks at processes and files. */
#include "base/host_clock.h"
#include "capture/app/rings.h"
#include "capture/deliver.h"
#include "capture/internal.h"
#include "capture/kernel/event.h"
#include "capture/rings.h"
#include "capture/stack/stacks.h"
#include "capture/watch.h"
#include "programs.skel.h"

#define RECURSION_READ_NS 50000000ull /* at what time in it a run was skipped is not known */

void capture_tell_again(struct capture *c, u64 now_ns)
{
	__atomic_fetch_add(&c->programs->bss->told_generation, 1, __ATOMIC_RELEASE);
	c->told_again_ns = now_ns;
}

static int kernel_drain(struct capture *c, const struct drain *d)
{
	int there = rings_drain_rare(c, rings_rare_head(c), c->polled_ns, d);

	c->unfinished = there == 0;
	for (u32 cpu = 0; cpu < c->ring_count && there >= 0; cpu++) {
		int err;

		if (!c->flight)
			there = rings_drain_cpu(c, cpu, rings_head(&c->rings[cpu]), c->polled_ns,
						d);
		c->unfinished |= there == 0;
		err = there < 0 ? 0 : rings_tell_lost(c, cpu, c->polled_ns, &d->to->sink);
		there = err ? err : there;
	}
	return there < 0 ? there : 0;
}

int capture_drain(struct capture *c, struct capture_delivery *to)
{
	const struct capture_sink *sink = &to->sink;
	const struct drain d = {to, ~0ull};
	u64 polled_ns = c->polled_ns = host_clock_now_ns();
	int err = held_deliver(&c->held, ~0ull, sink->record, sink->arg);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!err && polled_ns > c->recursion_ns + RECURSION_READ_NS)
		err = capture_misses_tell(c, sink);
	if (!err)
		err = capture_events_tell(c, sink);
	if (!err)
		err = kernel_drain(c, &d);
	if (!err && c->apps) {
		err = capture_watch_tell(c, sink);
		capture_watch_collect(c->watch, c->apps);
		if (!err)
			err = app_rings_poll(c->apps, to->caller);
	}
	return err ? err : capture_stacks_collect(c->stacks, c, sink, host_clock_now_ns());
}
