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

void budget_begin(struct budget *b, u32 ppm, const struct detail *detail, u64 now_ns)
{
	bool calls = detail->own != CAPTURE_DETAIL_WAITS || detail->window_ns;
	u8 wanted = calls ? STEP_LEVEL_calls : STEP_LEVEL_waits;

	*b = (struct budget){.ppm = ppm,
			     .governor = governor_begin(ppm, wanted, now_ns),
			     .system_ns = system_read()};
}

/* A time of CPUs as their share, in millionths. */
static u32 share_of(u64 ns, u64 elapsed_ns)
{
	u64 ppm = ns / 1000 * 1000000 / (elapsed_ns / 1000 * (u64)sysconf(_SC_NPROCESSORS_ONLN));

	return ppm < 1000000 ? (u32)ppm : 1000000;
}

/*
 * What waits alone would have cost: without the programs of calls, and without what processes did
 * with their records.
 */
static u64 without_calls_ns(struct budget *b, const struct costs_second *s,
			    const struct chunking *chunks)
{
	u64 taken = chunks->taken - b->taken, of_calls = chunks->taken_of_calls - b->taken_of_calls;
	u64 processes_ns = s->processes_ns;

	b->taken = chunks->taken;
	b->taken_of_calls = chunks->taken_of_calls;
	if (taken)
		processes_ns = (u64)((unsigned __int128)processes_ns * (taken - of_calls) / taken);
	return s->programs_ns - s->calls_ns + processes_ns;
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
	return level == STEP_LEVEL_calls ? "calls" : "waits";
}

static void decision_print(const struct budget *b, const struct governor_decision *d)
{
	double budget = b->ppm / 1e4, cost = d->cost_ppm / 1e4, next = d->predicted_ppm / 1e4;

	if (d->why == STEP_above)
		fprintf(stderr,
			"fathom: %s took %.1f %% of the CPUs; to hold the budget of %g %%, only "
			"%s are recorded from now on (about %.1f %%)\n",
			level_name(d->from), cost, budget, level_name(d->to), next);
	else if (d->why == STEP_below)
		fprintf(stderr,
			"fathom: %s are recorded again: the budget of %g %% has room for about "
			"%.1f %%\n",
			level_name(d->to), budget, next);
	else
		fprintf(stderr,
			"fathom: %s alone take %.1f %% of the CPUs, more than the budget of %g %%; "
			"nothing less is recorded\n",
			level_name(d->to), cost, budget);
}

static int decision_tell(const struct budget *b, const struct governor_decision *d,
			 const struct capture_sink *sink)
{
	union {
		struct record_step step;
		u8 slot[RECORD_SLOT_BYTES]; /* the sink reads whole slots */
	} r = {.slot = {0}};

	decision_print(b, d);
	r.step.head.kind = RECORD_step;
	r.step.head.slots = 1;
	r.step.head.time_ns = host_clock_now_ns();
	r.step.from = d->from;
	r.step.to = d->to;
	r.step.why = d->why;
	r.step.budget_ppm = b->ppm;
	r.step.cost_ppm = d->cost_ppm;
	r.step.predicted_ppm = d->predicted_ppm;
	return sink->record(sink->arg, &budget_stream, &r.step.head);
}

int budget_follow(struct budget *b, struct costs *costs, struct detail *detail,
		  const struct chunking *chunks, const struct capture_sink *sink)
{
	struct governor_input in = {.now_ns = host_clock_now_ns(), .held = detail->asked};
	struct governor_decision d;
	struct costs_second s;
	u64 waits_ns;

	if (!b->ppm || !costs_second_take(costs, &s))
		return 0;
	waits_ns = without_calls_ns(b, &s, chunks);
	in.predicted_ppm[STEP_LEVEL_waits] = share_of(waits_ns, s.elapsed_ns);
	in.second = (struct governor_second){
		.elapsed_ns = s.elapsed_ns,
		.cost_ppm = share_of(s.programs_ns + s.processes_ns, s.elapsed_ns),
		.load_ppm = share_of(load_ns(b, &s), s.elapsed_ns)};
	d = governor_decide(&b->governor, &in);
	detail->most = b->governor.level == STEP_LEVEL_calls ? CAPTURE_DETAIL_CALLS
							     : CAPTURE_DETAIL_WAITS;
	return d.why == STEP_none ? 0 : decision_tell(b, &d, sink);
}
