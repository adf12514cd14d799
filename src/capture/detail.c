// SPDX-License-Identifier: Apache-2.0
/*
 * The level of detail of a capture that runs. Calls are recorded from the instant on at which all
 * programs read the flag, and until just before it is cleared: see capture_detail_set().
 */
#include <string.h>

#include "base/host_clock.h"
#include "capture/internal.h"
#include "capture/kernel/kernel.h"
#include "capture/scope/scope.h"
#include "programs.skel.h"

#define LEVELS_KEPT 128 /* two for each change */

enum capture_detail capture_detail(const struct capture *c)
{
	return c->filters & FILTER_CALLS ? CAPTURE_DETAIL_WAITS : CAPTURE_DETAIL_CALLS;
}

u32 capture_filters(const struct capture *c)
{
	return c->filters;
}

u32 capture_filters_at(const struct capture *c, u64 time_ns)
{
	u32 before = c->levels.count ? c->levels.data[0].filters : c->filters;

	/* a raise begins with a record of the level before it, and a change to `waits` with none */
	if (c->levels.count && !(before & FILTER_TURNS))
		before &= ~(u32)FILTER_CALLS;
	for (size_t i = 0; i < c->levels.count && c->levels.data[i].time_ns <= time_ns; i++)
		before = c->levels.data[i].filters;
	return before & ~(u32)FILTER_TURNS;
}

/* Notes the level from then on; room was made for it. */
static void level_add(struct capture *c, u64 time_ns, u32 filters)
{
	(void)vec_push(&c->levels,
		       ((struct capture_level){.time_ns = time_ns, .filters = filters}));
}

static int levels_reserve(struct capture *c)
{
	size_t old = c->levels.count > LEVELS_KEPT ? c->levels.count - LEVELS_KEPT : 0;

	old -= old % 2;
	if (old)
		memmove(c->levels.data, c->levels.data + old,
			(c->levels.count - old) * sizeof(*c->levels.data));
	c->levels.count -= old;
	return vec_reserve(&c->levels, 2);
}

static void flag_set(u32 *flag, u32 value)
{
	__atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

static int detail_raise(struct capture *c, struct error *e)
{
	u32 filters = (c->filters & ~(u32)FILTER_CALLS) | FILTER_DETAIL;
	u64 begin_ns = host_clock_now_ns();
	int err = capture_features_calls_attach(c, e);

	if (err)
		return err;
	flag_set(&c->programs->bss->calls_raised, c->programs->bss->calls_raised + 2);
	flag_set(&c->programs->bss->calls_on, 1);
	level_add(c, begin_ns, filters | FILTER_CALLS | FILTER_TURNS);
	level_add(c, host_clock_now_ns(), filters);
	c->filters = filters;
	c->files_untold = c->files;
	return 0;
}

/* A thread on its CPU tells that its calls are not followed any more before it does another. */
static int detail_lower(struct capture *c, struct error *e)
{
	u32 filters = c->filters | FILTER_CALLS | FILTER_DETAIL;
	int err = capture_features_waits_attach(c, e);

	if (err)
		return err;
	level_add(c, host_clock_now_ns(), filters);
	flag_set(&c->programs->bss->calls_on, 0);
	c->filters = filters;
	capture_running_tell(c);
	capture_features_calls_detach(c);
	level_add(c, host_clock_now_ns(), filters | FILTER_TURNS);
	return 0;
}

int capture_detail_set(struct capture *c, enum capture_detail detail, struct error *e)
{
	int err = detail == capture_detail(c) ? 0 : levels_reserve(c);

	if (err)
		return error_set(e, err, "cannot change the level of detail");
	if (detail == capture_detail(c))
		return 0;
	return detail == CAPTURE_DETAIL_CALLS ? detail_raise(c, e) : detail_lower(c, e);
}

static int level_tell(const struct capture_sink *sink, u64 time_ns, u32 filters)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	union {
		struct record_filter filter;
		u8 slot[RECORD_SLOT_BYTES]; /* the sink reads whole slots */
	} r = {.slot = {0}};

	r.filter.head.kind = RECORD_filter;
	r.filter.head.slots = 1;
	r.filter.head.time_ns = time_ns;
	r.filter.flags = filters;
	return sink->record(sink->arg, &stream, &r.filter.head);
}

/* Each chunk gets the level at its begin, too. */
int capture_detail_tell(struct capture *c, const struct capture_sink *sink)
{
	int err = 0;

	if (!c->conditions_told && c->levels.count)
		err = level_tell(sink, host_clock_now_ns(), c->filters);
	for (size_t i = 0; i < c->levels.count && !err; i++) {
		struct capture_level *level = &c->levels.data[i];

		if (!level->told)
			err = level_tell(sink, level->time_ns, level->filters);
		level->told = true;
	}
	/* files that were opened in between have no records of that */
	if (!err && c->files_untold) {
		c->files_untold = false;
		err = capture_iterator_run(c, sink, c->programs->progs.snapshot_files, 0);
	}
	return err;
}
