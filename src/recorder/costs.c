/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/costs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/host_clock.h"
#include "recorder/cpu_time.h"
#include "recorder/hook.h"

#define COSTS_HELPER "fathom-keep" /* as the process is called */

static const struct capture_stream costs_stream = {.kind = CAPTURE_STREAM_LIFE};

/* A part of a time span, without overflow. */
static u64 scaled(u64 part, u64 of_ns, u64 to_ns)
{
	return of_ns ? (u64)((unsigned __int128)part * to_ns / of_ns) : 0;
}

static int cost_write(const struct capture_sink *sink, struct record_cost *r, const char *name)
{
	r->head.kind = RECORD_cost;
	r->head.slots = (sizeof(*r) + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;
	snprintf(r->name, sizeof(r->name), "%s", name);
	r->name_len = (u16)strlen(r->name);
	return sink->record(sink->arg, &costs_stream, &r->head);
}

/* A record in whole slots, as a sink reads it. */
union cost_slots {
	struct record_cost cost;
	u8 slots[2 * RECORD_SLOT_BYTES];
};
_Static_assert(sizeof(struct record_cost) <= sizeof(union cost_slots), "cost");

static int processes_tell(struct costs *c, const struct capture_sink *sink, u64 now,
			  const char *name, u64 cpu_ns)
{
	union cost_slots r = {.slots = {0}};

	if (!cpu_ns)
		return 0;
	c->sum_processes_ns += cpu_ns;
	r.cost.head.time_ns = now;
	r.cost.begin_ns = c->told_ns;
	r.cost.cost_ns = cpu_ns;
	return cost_write(sink, &r.cost, name);
}

/* Tells what a program took while it was measured, as a part of all the time since. */
static int program_tell(struct costs *c, const struct capture_sink *sink,
			const struct capture_cost *cost, const struct record_cost *common)
{
	union cost_slots r = {.cost = *common};
	u64 elapsed_ns = common->head.time_ns - common->begin_ns;

	if (!cost->runs)
		return 0;
	r.cost.runs = scaled(cost->runs, common->measured_ns, elapsed_ns);
	r.cost.cost_ns = scaled(cost->run_ns, common->measured_ns, elapsed_ns);
	r.cost.made = cost->made;
	r.cost.flags = COST_PROGRAM | (cost->writes ? COST_WRITES : 0);
	c->sum_programs_ns += r.cost.cost_ns;
	c->programs_ppm += scaled(cost->run_ns, common->measured_ns, 1000000);
	if (cost->made == RECORD_syscall || cost->made == RECORD_fault)
		c->calls_ppm += scaled(cost->run_ns, common->measured_ns, 1000000);
	if (cost->made == RECORD_bytes)
		c->bytes_ppm += scaled(cost->run_ns, common->measured_ns, 1000000);
	return cost_write(sink, &r.cost, cost->name);
}

static int programs_tell(struct costs *c, const struct capture_sink *sink, u64 now)
{
	struct capture_costs costs;
	struct record_cost common = {.begin_ns = c->programs_told_ns};
	int err = 0;

	capture_costs_read(c->capture, &costs);
	c->before.err = costs.err;
	common.head.time_ns = now;
	common.measured_ns = costs.measured_ns - c->before.measured_ns;
	if (!common.measured_ns || now <= common.begin_ns)
		return 0;
	c->programs_ppm = c->calls_ppm = c->bytes_ppm = 0;
	for (size_t i = 0; i < costs.count && !err; i++) {
		struct capture_cost grown = costs.list[i];

		grown.runs -= c->before.list[i].runs;
		grown.run_ns -= c->before.list[i].run_ns;
		err = program_tell(c, sink, &grown, &common);
	}
	c->before = costs;
	c->programs_told_ns = now;
	return err;
}

static void second_add(struct costs *c, u64 now, u64 processes_ns)
{
	u64 elapsed_ns = now - c->told_ns;

	c->second.elapsed_ns += elapsed_ns;
	c->second.processes_ns += processes_ns;
	c->second.programs_ns += scaled(c->programs_ppm, 1000000, elapsed_ns);
	c->second.calls_ns += scaled(c->calls_ppm, 1000000, elapsed_ns);
	c->second.bytes_ns += scaled(c->bytes_ppm, 1000000, elapsed_ns);
}

void costs_begin(struct costs *c, struct capture *capture, u64 begin_ns)
{
	*c = (struct costs){.capture = capture,
			    .begin_ns = begin_ns,
			    .told_ns = begin_ns,
			    .programs_told_ns = begin_ns,
			    .own_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID),
			    .hooks_ns = hooks_cpu_ns()};
}

void costs_helper(struct costs *c, pid_t pid)
{
	c->helper = pid;
	c->helper_ns = pid ? process_cpu_ns(pid) : 0;
}

/* What grew since it was told last. Ticks may be corrected, and a process may be gone. */
static u64 grown(u64 *told_ns, u64 now_ns)
{
	u64 ns = now_ns > *told_ns ? now_ns - *told_ns : 0;

	*told_ns += ns;
	return ns;
}

int costs_tell(struct costs *c, const struct capture_sink *sink)
{
	u64 now = host_clock_now_ns(), own_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	u64 hooks_ns, helper_ns;
	int err;

	if (!c->capture || now <= c->told_ns)
		return 0;
	own_ns = grown(&c->own_ns, own_ns);
	hooks_ns = grown(&c->hooks_ns, hooks_cpu_ns());
	helper_ns = c->helper ? grown(&c->helper_ns, process_cpu_ns(c->helper)) : 0;
	err = processes_tell(c, sink, now, "fathom", own_ns);
	err = err ? err : processes_tell(c, sink, now, "--on-chunk", hooks_ns);
	err = err ? err : processes_tell(c, sink, now, COSTS_HELPER, helper_ns);
	err = err ? err : programs_tell(c, sink, now);
	second_add(c, now, own_ns + hooks_ns + helper_ns);
	c->told_ns = now;
	return err;
}

bool costs_second_take(struct costs *c, struct costs_second *out)
{
	if (c->second.elapsed_ns < COSTS_EVERY_NS - COSTS_EVERY_NS / 20 ||
	    c->programs_told_ns == c->begin_ns)
		return false;
	*out = c->second;
	c->second = (struct costs_second){0};
	return true;
}

void costs_sum(const struct costs *c, struct costs_sum *out)
{
	u64 covered_ns = c->programs_told_ns - c->begin_ns;

	*out = (struct costs_sum){.elapsed_ns = c->told_ns - c->begin_ns,
				  .processes_ns = c->sum_processes_ns,
				  .measured = covered_ns,
				  .err = c->before.err};
	out->programs_ns = scaled(c->sum_programs_ns, covered_ns, out->elapsed_ns);
}
