/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/host_clock.h"

static const struct capture_stream budget_stream = {.kind = CAPTURE_STREAM_LIFE};

int budget_check(u32 ppm, struct error *e)
{
	int err = ppm ? capture_costs_allowed() : 0;

	if (!err)
		return 0;
	return error_say(
		e, -err,
		"--budget needs CAP_SYS_ADMIN: without it the kernel does not measure what "
		"the kernel programs cost");
}

/* The time that all CPUs have spent in the kernel since the boot. */
static u64 system_read(void)
{
	FILE *file = fopen("/proc/stat", "re");
	u64 system = 0, irq = 0, softirq = 0;

	if (!file)
		return 0;
	if (fscanf(file, "cpu %*u %*u %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64, &system, &irq,
		   &softirq) != 3)
		system = 0;
	fclose(file);
	return (system + irq + softirq) * 1000000000u / (u64)sysconf(_SC_CLK_TCK);
}

void budget_begin(struct budget *b, const struct budget_options *o, const struct detail *detail,
		  u64 now_ns)
{
	bool calls = detail->own != CAPTURE_DETAIL_WAITS || detail->calls_turns.window_ns;
	u32 levels = o->turns_least && detail->bytes ? 0 : 1u << GOVERNOR_WAITS;

	if (calls)
		levels |= 1u << GOVERNOR_CALLS;
	if (detail->bytes)
		levels |= 1u << GOVERNOR_BYTES | 1u << GOVERNOR_TURNS;
	if (o->hard)
		levels |= 1u << GOVERNOR_OFF;
	*b = (struct budget){.ppm = o->ppm,
			     .governor = governor_begin(o->ppm, levels, now_ns),
			     .system_ns = system_read()};
	if (o->pause_ns)
		b->governor.first_wait_ns = b->governor.wait_ns = o->pause_ns;
}

/* A time of CPUs as their share, in millionths. */
static u32 share_of(u64 ns, u64 elapsed_ns)
{
	u64 ppm = ns / 1000 * 1000000 / (elapsed_ns / 1000 * (u64)sysconf(_SC_NPROCESSORS_ONLN));

	return ppm < 1000000 ? (u32)ppm : 1000000;
}

static u64 part_of(u64 ns, u64 part, u64 whole)
{
	return whole ? (u64)((unsigned __int128)ns * part / whole) : ns;
}

/*
 * Each level would have cost what was spent without the programs that it does not have, and without
 * what processes did with the records of these.
 */
static void levels_predict(struct budget *b, const struct costs_second *s,
			   const struct chunking *chunks, u32 predicted_ppm[GOVERNOR_LEVELS])
{
	u64 taken = chunks->taken - b->taken;
	u64 rest = taken - (chunks->taken_of_calls - b->taken_of_calls);
	u64 ns = s->programs_ns - s->calls_ns;

	b->taken = chunks->taken;
	b->taken_of_calls = chunks->taken_of_calls;
	predicted_ppm[GOVERNOR_BYTES] = share_of(ns + part_of(s->processes_ns, rest, taken),
						 s->elapsed_ns);
	rest -= chunks->taken_of_bytes - b->taken_of_bytes;
	ns -= s->bytes_ns;
	b->taken_of_bytes = chunks->taken_of_bytes;
	predicted_ppm[GOVERNOR_WAITS] = share_of(ns + part_of(s->processes_ns, rest, taken),
						 s->elapsed_ns);
	predicted_ppm[GOVERNOR_TURNS] =
		predicted_ppm[GOVERNOR_WAITS] +
		(u32)((predicted_ppm[GOVERNOR_BYTES] - predicted_ppm[GOVERNOR_WAITS]) *
		      DETAIL_BYTES_NS / DETAIL_BYTES_EVERY_NS);
	predicted_ppm[GOVERNOR_OFF] = 0; /* nearly: the programs look at a flag */
}

/*
 * Adds a second to the turn that it is of. True: a turn is over, and `s` is all of it. A short one,
 * which began behind something else, is a part of the next one. The window may lie half in a second
 * of the next turn, which evens out.
 */
static bool turn_take(struct budget *b, u64 turn_ns, struct costs_second *s)
{
	struct costs_second *turn = &b->turn;
	bool is_over;

	turn->elapsed_ns += s->elapsed_ns;
	turn->processes_ns += s->processes_ns;
	turn->programs_ns += s->programs_ns;
	turn->calls_ns += s->calls_ns;
	turn->bytes_ns += s->bytes_ns;
	is_over = b->turn_ns && turn_ns != b->turn_ns &&
		  turn->elapsed_ns >= DETAIL_BYTES_EVERY_NS / 2;
	b->turn_ns = turn_ns;
	if (!is_over)
		return false;
	*s = *turn;
	*turn = (struct costs_second){0};
	return true;
}

/* What costs follow: the time of others in the kernel. */
static u64 load_ns(struct budget *b, const struct costs_second *s)
{
	u64 now_ns = system_read(), ns = now_ns - b->system_ns;

	b->system_ns = now_ns;
	return ns > s->programs_ns ? ns - s->programs_ns : 0;
}

static const char *level_name(u8 level)
{
	static const char *const names[] = {
		[GOVERNOR_OFF] = "nothing",
		[GOVERNOR_WAITS] = "waits",
		[GOVERNOR_TURNS] = "waits, with bytes for 1 s in each 30 s,",
		[GOVERNOR_BYTES] = "waits and bytes",
		[GOVERNOR_CALLS] = "calls"};

	return names[level];
}

/* A step to or from the level at which nothing is recorded, or that even that costs too much. */
static void pause_print(const struct budget *b, const struct governor_decision *d)
{
	double budget = b->ppm / 1e4, cost = d->cost_ppm / 1e4;

	if (d->why == STEP_above)
		fprintf(stderr,
			"fathom: %s took %.1f %% of the CPUs; to hold the budget of %g %%, nothing "
			"is recorded for %.0f s\n",
			level_name(d->from), cost, budget, (double)b->governor.wait_ns / 1e9);
	else if (d->why == STEP_below)
		fprintf(stderr,
			"fathom: %s are recorded again, to see whether they fit into the budget of "
			"%g %%\n",
			level_name(d->to), budget);
	else
		fprintf(stderr,
			"fathom: nothing is recorded, and fathom takes %.1f %% of the CPUs, more "
			"than the budget of %g %%\n",
			cost, budget);
}

static void decision_print(const struct budget *b, const struct governor_decision *d)
{
	double budget = b->ppm / 1e4, cost = d->cost_ppm / 1e4, next = d->predicted_ppm / 1e4;

	if (d->from == GOVERNOR_OFF || d->to == GOVERNOR_OFF)
		pause_print(b, d);
	else if (d->why == STEP_above)
		fprintf(stderr,
			"fathom: %s took %.1f %% of the CPUs; to hold the budget of %g %%, only "
			"%s are recorded from now on (about %.1f %%)\n",
			level_name(d->from), cost, budget, level_name(d->to), next);
	else if (d->why == STEP_below)
		fprintf(stderr,
			"fathom: %s are recorded again: the budget of %g %% has room for about "
			"%.1f %%\n",
			level_name(d->to), budget, next);
	else if (d->predicted_ppm)
		fprintf(stderr,
			"fathom: recording %s, fathom takes %.1f %% of the CPUs, more than the "
			"budget of %g %%; recording less would still take about %.1f %%\n",
			level_name(d->to), cost, budget, next);
	else
		fprintf(stderr,
			"fathom: %s alone take %.1f %% of the CPUs, more than the budget of %g %%; "
			"nothing less is recorded\n",
			level_name(d->to), cost, budget);
}

static int decision_tell(const struct budget *b, const struct governor_decision *d,
			 const struct capture_sink *sink)
{
	static const u8 levels[] = {[GOVERNOR_OFF] = STEP_LEVEL_nothing,
				    [GOVERNOR_WAITS] = STEP_LEVEL_waits,
				    [GOVERNOR_TURNS] = STEP_LEVEL_waits_bytes_turns,
				    [GOVERNOR_BYTES] = STEP_LEVEL_waits_bytes,
				    [GOVERNOR_CALLS] = STEP_LEVEL_calls};
	union {
		struct record_step step;
		u8 slot[RECORD_SLOT_BYTES]; /* the sink reads whole slots */
	} r = {.slot = {0}};

	r.step.head.kind = RECORD_step;
	r.step.head.slots = 1;
	r.step.head.time_ns = host_clock_now_ns();
	r.step.from = levels[d->from];
	r.step.to = levels[d->to];
	r.step.why = d->why;
	r.step.budget_ppm = b->ppm;
	r.step.cost_ppm = d->cost_ppm;
	r.step.predicted_ppm = d->predicted_ppm;
	return sink->record(sink->arg, &budget_stream, &r.step.head);
}

static void level_set(const struct budget *b, struct detail *detail)
{
	u8 level = b->governor.level;

	detail->most = level == GOVERNOR_CALLS ? CAPTURE_DETAIL_CALLS : CAPTURE_DETAIL_WAITS;
	detail->most_bytes = level >= GOVERNOR_BYTES   ? DETAIL_BYTES_ALL
			     : level == GOVERNOR_TURNS ? DETAIL_BYTES_TURNS
						       : DETAIL_BYTES_NONE;
}

int budget_follow(struct budget *b, struct costs *costs, struct detail *detail,
		  const struct chunking *chunks, const struct capture_sink *sink)
{
	struct governor_input in = {.now_ns = host_clock_now_ns(), .held = detail->asked};
	struct governor_decision d;
	struct costs_second s;

	if (!b->ppm || !costs_second_take(costs, &s))
		return 0;
	if (b->governor.level != GOVERNOR_TURNS || in.held) {
		b->turn = (struct costs_second){0};
		b->turn_ns = 0;
	} else if (!turn_take(b, detail->bytes_turns.turn_ns, &s)) {
		return 0;
	}
	levels_predict(b, &s, chunks, in.predicted_ppm);
	in.second = (struct governor_second){
		.elapsed_ns = s.elapsed_ns,
		.cost_ppm = share_of(s.programs_ns + s.processes_ns, s.elapsed_ns),
		.load_ppm = share_of(load_ns(b, &s), s.elapsed_ns)};
	d = governor_decide(&b->governor, &in);
	level_set(b, detail);
	if (d.why == STEP_none)
		return 0;
	decision_print(b, &d);
	if (d.from != GOVERNOR_OFF && d.to != GOVERNOR_OFF)
		return decision_tell(b, &d, sink);
	if (d.from != d.to)
		b->pause_step = d;
	return 0;
}

bool budget_pauses(const struct budget *b, const struct detail *detail)
{
	return b->ppm && b->governor.level == GOVERNOR_OFF && !detail->asked;
}

int budget_pause_tell(const struct budget *b, bool begins, const struct capture_sink *sink)
{
	const struct governor_decision *d = &b->pause_step;

	return begins == (d->to == GOVERNOR_OFF) ? decision_tell(b, d, sink) : 0;
}
