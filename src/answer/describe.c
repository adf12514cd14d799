/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/overhead.h"
#include "answer/span_stack.h"
#include "base/hash.h"

#define PAUSE_WITHIN_NS 1000000000ull /* of the step that it is told by */

bool chunk_is_gone(const struct chunk_info *info)
{
	struct stat st;

	return stat(info->path, &st) < 0 && errno == ENOENT;
}

void source_name_boot(struct source *s, const char *boot_id)
{
	snprintf(s->boot_id, sizeof(s->boot_id), "%s", boot_id);
	s->boot = hash_bytes(s->boot_id, strlen(s->boot_id));
}

int source_add_clock(struct source *s, u64 monotonic_ns, u64 unix_ns)
{
	return vec_push(&s->clocks,
			((struct clock_view){s->host, s->boot_id, monotonic_ns, unix_ns}));
}

static int clock_compare(const void *a, const void *b)
{
	const struct clock_view *x = a, *y = b;

	return (x->monotonic_ns > y->monotonic_ns) - (x->monotonic_ns < y->monotonic_ns);
}

/* The name of a value, which a newer recorder may have written. */
static const char *name_of(const char *const *names, size_t count, u8 value)
{
	return value < count ? names[value] : "?";
}

static int source_add_steps(struct source *s)
{
	static const char *const levels[] = {
#define V(name, value, text) [value] = text,
		RECORD_STEP_LEVELS(V)
#undef V
	};
	static const char *const reasons[] = {
#define V(name, value) [value] = #name,
		RECORD_STEP_REASONS(V)
#undef V
	};
	int err = 0;

	for (size_t i = 0; i < s->partial->facts.steps.count && !err; i++) {
		const struct fact_step *step = &s->partial->facts.steps.data[i];
		const struct step_view view = {
			.time_ns = step->time_ns,
			.from = name_of(levels, STEP_LEVELS, step->from),
			.to = name_of(levels, STEP_LEVELS, step->to),
			.why = name_of(reasons, sizeof(reasons) / sizeof(*reasons), step->why),
			.budget_ppm = step->budget_ppm,
			.cost_ppm = step->cost_ppm,
			.predicted_ppm = step->predicted_ppm};

		if (step->time_ns >= s->from_ns && step->time_ns < s->to_ns)
			err = vec_push(&s->steps, view);
	}
	return err;
}

/*
 * A step to nothing is the last that a recorder tells before it pauses: the gap that begins
 * within a second of it is that pause.
 */
static void source_explain_gaps(struct source *s)
{
	const typeof(s->partial->facts.steps) *steps = &s->partial->facts.steps;

	for (size_t i = 0; i < s->gaps.count; i++) {
		struct gap_view *gap = &s->gaps.data[i];

		for (size_t at = 0; at < steps->count; at++) {
			const struct fact_step *step = &steps->data[at];

			if (step->to == STEP_LEVEL_nothing &&
			    gap->from_ns < step->time_ns + PAUSE_WITHIN_NS &&
			    step->time_ns < gap->from_ns + PAUSE_WITHIN_NS)
				gap->why = "budget";
		}
	}
}

int source_describe(struct source *s)
{
	const typeof(s->partial->facts.clocks) *steps = &s->partial->facts.clocks;
	struct calls_share share;
	u64 cut = 0;
	int err = frames_count_cut(s->partial, &cut);

	s->view.incomplete += cut;
	for (size_t i = 0; i < steps->count && !err; i++)
		err = source_add_clock(s, steps->data[i].monotonic_ns, steps->data[i].realtime_ns);
	err = err ? err : source_add_steps(s);
	if (err)
		return err;
	source_explain_gaps(s);
	if (s->clocks.count)
		qsort(s->clocks.data, s->clocks.count, sizeof(*s->clocks.data), clock_compare);
	s->view.lost.damaged += s->partial->left_out;
	s->view.filters = partial_filters(s->partial, s->from_ns, s->to_ns);
	share = partial_calls_share(s->partial, s->from_ns, s->to_ns);
	s->view.recorded_ns = share.recorded_ns;
	s->view.calls_ns = share.calls_ns;
	s->view.steal_ns = s->partial->steal_ns;
	cost_view_of(s->partial, &s->view.cost);
	s->view.cpu_ns = s->recorded_ns * s->partial->cpus;
	s->view.clocks = s->clocks.data;
	s->view.clocks_count = s->clocks.count;
	s->view.missing = s->missing;
	s->view.gaps = s->gaps.data;
	s->view.gaps_count = s->gaps.count;
	s->view.steps = s->steps.data;
	s->view.steps_count = s->steps.count;
	return 0;
}
