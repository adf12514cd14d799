// SPDX-License-Identifier: Apache-2.0
/*
 * The cut. The heads of all rings are read at one instant, and all records that were reserved
 * before are handed over. Records with a later time are held back for the next drain
 * (capture/held.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/host_clock.h"
#include "capture/app/rings.h"
#include "capture/internal.h"
#include "capture/kernel/event.h"
#include "capture/kernel/kernel.h"
#include "capture/rings.h"
#include "capture/stack/stacks.h"

/* Makes one pass over what was reserved before the cut. 1: all was published. */
static int cut_pass(struct capture *c, const u64 *heads, unsigned long rare, const struct drain *d)
{
	int all = rings_drain_rare(c, rare, d->until_ns, d);

	for (u32 cpu = 0; cpu < c->ring_count && all >= 0 && !c->flight; cpu++) {
		int there = rings_drain_cpu(c, cpu, heads[cpu], d->until_ns, d);

		all = there < 0 ? there : all & there;
	}
	if (all >= 0 && c->apps) {
		int there = app_rings_cut_pass(c->apps, d->to->caller);

		all = there < 0 ? there : all & there;
	}
	return all;
}

/* ---- losses at a cut ---- */

struct cut_loss {
	struct capture_stream stream;
	struct record_lost lost;
};

/*
 * Losses before the cut belong to the chunk that it ends; losses while the rings are emptied belong
 * to the next chunk. So the counts are read just before the cut, and told after its records.
 */
struct cut_losses {
	VEC(struct cut_loss) list;
};

static int loss_keep(void *arg, const struct capture_stream *stream, const struct record_lost *lost)
{
	struct cut_losses *losses = arg;

	return vec_push(&losses->list, ((struct cut_loss){*stream, *lost}));
}

/* Reads the counts of losses. Later losses may have been at any time since a moment before this. */
static int cut_losses_read(struct capture *c, struct cut_losses *losses)
{
	const struct capture_sink keep = {.arg = losses, .lost = loss_keep};
	int err = capture_misses_tell(c, &keep);

	for (u32 cpu = 0; cpu < c->ring_count && !err; cpu++)
		err = rings_tell_lost(c, cpu, host_clock_now_ns(), &keep);
	return err;
}

static int cut_losses_tell(struct capture *c, const struct cut_losses *losses,
			   const struct capture_sink *sink, u64 cut_ns)
{
	int err = 0;

	for (size_t i = 0; i < losses->list.count && !err && sink->lost; i++) {
		struct cut_loss *loss = &losses->list.data[i];

		if (loss->lost.head.time_ns >= cut_ns)
			loss->lost.head.time_ns = cut_ns - 1; /* cut_ns is in the next chunk */
		if (loss->lost.begin_ns > loss->lost.head.time_ns)
			loss->lost.begin_ns = loss->lost.head.time_ns;
		err = sink->lost(sink->arg, &loss->stream, &loss->lost);
	}
	if (!err && sink->lost)
		err = capture_misses_tell_around(c, sink, cut_ns);
	for (u32 cpu = 0; cpu < c->ring_count && !err && sink->lost; cpu++)
		err = rings_tell_around(c, cpu, cut_ns, sink);
	return err || !c->apps ? err : app_rings_cut_losses(c->apps, sink);
}

/* The time up to which no record of the kernel is missing, after the last pass. */
static u64 kernel_complete(const struct capture *c, const u64 *heads, unsigned long rare,
			   u64 cut_ns)
{
	u64 complete = cut_ns, clear;

	if (*c->rare.consumer < rare) {
		clear = ring_mark_clear_ns(&c->rare.mark, *c->rare.consumer);
		complete = clear < complete ? clear : complete;
	}
	for (u32 cpu = 0; cpu < c->ring_count && !c->flight; cpu++) {
		u64 tail = c->rings[cpu].control->tail;

		if (tail >= heads[cpu])
			continue;
		clear = ring_mark_clear_ns(&c->rings[cpu].mark, tail);
		complete = clear < complete ? clear : complete;
	}
	return complete;
}

u64 capture_complete(const struct capture *c, bool applications)
{
	if (applications && c->apps_complete_ns < c->kernel_complete_ns)
		return c->apps_complete_ns;
	return c->kernel_complete_ns;
}

/* Tells what every chunk has at its end, and reads the losses. */
static int cut_prepare(struct capture *c, const struct capture_sink *sink,
		       struct cut_losses *losses)
{
	int err = capture_conditions_tell(c, sink, true);

	if (!err)
		err = capture_events_tell(c, sink);
	if (!err)
		err = capture_stacks_open_waits(c->stacks, c, sink);
	return err ? err : cut_losses_read(c, losses);
}

/* Hands over what was reserved before `d->until_ns`. 1: all of it; 0: a producer is in the way. */
static int cut_drain(struct capture *c, const u64 *heads, unsigned long rare, const struct drain *d)
{
	struct timespec pause = {0, 50000};
	int all = c->apps ? app_rings_cut_begin(c->apps, d->until_ns) : 0;

	if (!all)
		all = held_deliver(&c->held, d->until_ns, d->to->sink.record, d->to->sink.arg);
	while (all >= 0) {
		all = cut_pass(c, heads, rare, d);
		if (all || host_clock_now_ns() > d->until_ns + CAPTURE_CUT_WAIT_NS)
			break;
		nanosleep(&pause, NULL);
	}
	c->kernel_complete_ns = kernel_complete(c, heads, rare, d->until_ns);
	c->apps_complete_ns = c->apps ? app_rings_complete(c->apps) : d->until_ns;
	return all;
}

static int cut_end(struct capture *c, const struct cut_losses *losses,
		   const struct capture_sink *sink, u64 cut_ns)
{
	int err = capture_stacks_settle(c->stacks, c, sink, cut_ns);

	if (!err)
		err = cut_losses_tell(c, losses, sink, cut_ns);
	capture_events_tell_again(c);
	c->conditions_told = false;
	return err;
}

int capture_cut(struct capture *c, const struct capture_sink *sink, u64 *cut_ns)
{
	u64 *heads = calloc(c->ring_count, sizeof(*heads));
	struct cut_losses losses = {0};
	struct capture_delivery to;
	struct drain d = {.to = &to};
	unsigned long rare;
	int err, all = 0;

	capture_delivery_make(&to, c, sink);
	err = heads ? cut_prepare(c, &to.sink, &losses) : -ENOMEM;
	if (err)
		goto out;
	/*
	 * Names are told anew from here on, before the cut. So the next chunk can only lack names
	 * that are told between this and the cut.
	 */
	capture_tell_again(c, host_clock_now_ns());
	capture_running_tell(c);
	d.until_ns = host_clock_now_ns();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (u32 cpu = 0; cpu < c->ring_count; cpu++)
		heads[cpu] = rings_head(&c->rings[cpu]);
	rare = rings_rare_head(c);
	all = cut_drain(c, heads, rare, &d);
	err = all < 0 ? all : cut_end(c, &losses, &to.sink, d.until_ns);
	if (all >= 0)
		*cut_ns = d.until_ns;
out:
	vec_free(&losses.list);
	free(heads);
	return err ? err : !all;
}
