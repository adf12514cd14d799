// SPDX-License-Identifier: Apache-2.0
/*
 * The level of detail of a capture that runs. Calls are recorded from the instant on at which all
 * programs read the flag, and until just before it is cleared: see capture_detail_set().
 */
#include <errno.h>
#include <string.h>

#include "base/host_clock.h"
#include "bpf/detail_scope.h"
#include "capture/internal.h"
#include "capture/kernel/kernel.h"
#include "capture/scope/scope.h"
#include "programs.skel.h"

#define LEVELS_KEPT 128 /* two for each change */
#define LEVELS_CHANGE 3 /* those, and the level before the first one */

enum capture_detail capture_detail(const struct capture *c)
{
	if (c->filters & FILTER_SCOPES)
		return CAPTURE_DETAIL_SCOPES;
	return c->filters & FILTER_CALLS ? CAPTURE_DETAIL_WAITS : CAPTURE_DETAIL_CALLS;
}

u32 capture_filters(const struct capture *c)
{
	return c->filters;
}

u32 capture_filters_at(const struct capture *c, u64 time_ns)
{
	u32 before = c->levels.count ? c->filters_before | FILTER_DETAIL : c->filters;

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

/*
 * Makes room for a change. The first level that is told holds also before it, as far back as
 * nothing else is told. So before the first change the level is told that nothing was left out at.
 */
static int levels_reserve(struct capture *c)
{
	size_t old = c->levels.count > LEVELS_KEPT ? c->levels.count - LEVELS_KEPT : 0;
	int err;

	if (old)
		c->filters_before = c->levels.data[old - 1].filters & ~(u32)FILTER_TURNS;
	if (old)
		memmove(c->levels.data, c->levels.data + old,
			(c->levels.count - old) * sizeof(*c->levels.data));
	c->levels.count -= old;
	err = vec_reserve(&c->levels, LEVELS_CHANGE);
	if (!err && !c->levels.count && !c->filters)
		level_add(c, host_clock_now_ns(), FILTER_DETAIL);
	return err;
}

static void flag_set(u32 *flag, u32 value)
{
	__atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

static u32 filters_of(const struct capture *c, enum capture_detail detail)
{
	u32 filters = (c->filters & ~(u32)(FILTER_CALLS | FILTER_SCOPES)) | FILTER_DETAIL;

	if (detail == CAPTURE_DETAIL_SCOPES)
		return filters | FILTER_CALLS | FILTER_SCOPES;
	return detail == CAPTURE_DETAIL_WAITS ? filters | FILTER_CALLS : filters;
}

/* Which threads are followed, while any is: by scope, or all. */
static void scopes_set(struct capture *c, enum capture_detail detail)
{
	u32 scopes = c->ask_alone ? CALLS_SCOPED : c->scopes;

	flag_set(&c->programs->bss->calls_scoped, detail == CAPTURE_DETAIL_SCOPES ? scopes : 0);
}

void capture_calls_anew(struct capture *c)
{
	u32 *raised = &c->programs->bss->calls_raised;

	flag_set(raised, calls_raised_next(*raised));
}

static int detail_raise(struct capture *c, enum capture_detail to, struct error *e)
{
	u32 filters = filters_of(c, to);
	u64 begin_ns = host_clock_now_ns();
	int err = capture_features_calls_attach(c, e);

	if (err)
		return err;
	scopes_set(c, to);
	capture_calls_anew(c);
	flag_set(&c->programs->bss->calls_on, 1);
	level_add(c, begin_ns, filters_of(c, CAPTURE_DETAIL_WAITS) | FILTER_TURNS);
	level_add(c, host_clock_now_ns(), filters);
	c->filters = filters;
	c->files_untold = c->files;
	return 0;
}

/* A thread on its CPU tells that its calls are not followed any more before it does another. */
static int detail_lower(struct capture *c, struct error *e)
{
	u32 filters = filters_of(c, CAPTURE_DETAIL_WAITS);
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

/* From all threads to those of some scopes: each thread that is to be followed says so anew. */
static int detail_narrow(struct capture *c, struct error *e)
{
	u32 filters = filters_of(c, CAPTURE_DETAIL_SCOPES);
	int err = capture_features_waits_attach(c, e);

	if (err)
		return err;
	level_add(c, host_clock_now_ns(), filters);
	scopes_set(c, CAPTURE_DETAIL_SCOPES);
	capture_calls_anew(c);
	c->filters = filters;
	capture_running_tell(c);
	return 0;
}

static void detail_widen(struct capture *c)
{
	scopes_set(c, CAPTURE_DETAIL_CALLS);
	c->filters = filters_of(c, CAPTURE_DETAIL_CALLS);
	level_add(c, host_clock_now_ns(), c->filters);
	c->files_untold = c->files;
}

int capture_detail_set(struct capture *c, enum capture_detail detail, struct error *e)
{
	enum capture_detail now = capture_detail(c);
	int err = detail == now ? 0 : levels_reserve(c);

	if (err)
		return error_set(e, err, "cannot change the level of detail");
	if (detail == now)
		return 0;
	if (detail == CAPTURE_DETAIL_WAITS)
		return detail_lower(c, e);
	if (now == CAPTURE_DETAIL_WAITS)
		return detail_raise(c, detail, e);
	if (detail == CAPTURE_DETAIL_SCOPES)
		return detail_narrow(c, e);
	detail_widen(c);
	return 0;
}

int capture_detail_open(struct capture *c, const struct capture_options *options, struct error *e)
{
	struct programs__bss *bss = c->programs->bss;
	int err = capture_scopes_open(c, options, e);

	if (err)
		return err;
	bss->calls_on = !options->no_calls || options->detail_scope_count;
	if (options->detail_scope_count) {
		bss->calls_scoped = c->scopes;
		bss->calls_raised = 2; /* a thread is followed from a begin or end of a call on */
		c->filters |= FILTER_CALLS | FILTER_SCOPES;
	} else if (options->no_calls) {
		c->filters |= FILTER_CALLS;
	}
	c->filters_before = c->filters;
	c->bytes = !options->no_bytes;
	return 0;
}

int capture_detail_ask(struct capture *c, const struct capture_detail_scope *scope, bool alone,
		       struct error *e)
{
	int err = capture_scopes_ask(c, scope, e);

	c->ask_alone = scope && alone && !err;
	if (capture_detail(c) == CAPTURE_DETAIL_SCOPES)
		scopes_set(c, CAPTURE_DETAIL_SCOPES);
	return err;
}

static u32 filters_of_bytes(const struct capture *c, bool bytes, bool in_turns)
{
	return (c->filters & ~(u32)(FILTER_BYTES | FILTER_BYTES_TURNS)) |
	       (bytes ? 0 : FILTER_BYTES) | (in_turns ? FILTER_BYTES_TURNS : 0);
}

int capture_bytes_set(struct capture *c, bool bytes, bool in_turns, struct error *e)
{
	u32 filters = filters_of_bytes(c, bytes, in_turns);
	bool changes = bytes != !(c->filters & FILTER_BYTES);
	int err;

	if (!c->bytes || filters == c->filters)
		return 0;
	filters |= FILTER_DETAIL;
	err = levels_reserve(c);
	if (err)
		return error_set(e, err, "cannot change the level of detail");
	if (changes && bytes) {
		/* what a thread had begun to send when they were detached is of no account */
		err = capture_scope_iterate(c, c->programs->progs.bytes_forget);
		err = err ? error_set(e, err, "cannot attach to the kernel")
			  : capture_features_bytes_attach(c, e);
	}
	if (err)
		return err;
	level_add(c, host_clock_now_ns(), filters);
	c->filters = filters;
	if (bytes || !changes)
		return 0;
	capture_features_bytes_detach(c);
	/* nobody sees any more that a request is answered */
	err = capture_scope_iterate(c, c->programs->progs.bytes_forget);
	return err ? error_set(e, err, "cannot change the level of detail") : 0;
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
