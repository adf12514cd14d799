/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/answer_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "base/wall_time.h"
#include "record/record.h"

static void lost_write_text(const struct terminal *t, const struct lost_view *lost)
{
	const struct {
		const char *name;
		uint64_t count;
	} parts[] = {
		{"buffer", lost->buffer},
		{"recursion", lost->recursion},
		{"application", lost->application},
		{"damaged", lost->damaged},
	};
	char text[256] = "";
	size_t length = 0;

	if (lost_total(lost) == 0)
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].count == 0)
			continue;
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %" PRIu64,
					   length ? ", " : "", parts[i].name, parts[i].count);
	}
	terminal_sentence(t, "lost: ",
			  "%" PRIu64 " records (%s); their events are missing above, and time that "
			  "depends on them is unknown",
			  lost_total(lost), text);
}

/* Puts a blank after each comma, so that lines can break there. */
static void missing_write_text(const struct terminal *t, const char *names)
{
	char text[1024];
	size_t n = 0;

	if (!names || !*names)
		return;
	for (; *names && n + 2 < sizeof(text); names++) {
		text[n++] = *names;
		if (*names == ',')
			text[n++] = ' ';
	}
	text[n] = '\0';
	terminal_sentence(t, "missing: ",
			  "the kernel lacks these tracepoints: %s; their events were not recorded "
			  "('fathom doctor' says what they are for)",
			  text);
}

static void step_write_text(const struct terminal *t, const struct source_view *source,
			    const struct step_view *step)
{
	uint64_t unix_ns = clocks_unix_ns(source->clocks, source->clocks_count, step->time_ns);
	struct wall_text at = wall_time_write(unix_ns);
	double cost = step->cost_ppm / 1e4, budget = step->budget_ppm / 1e4;
	const char *on = step->host ? " on " : "", *host = step->host ? step->host : "";

	if (strcmp(step->to, "nothing") == 0)
		terminal_sentence(t, "budget: ",
				  "from %.8s%s%s on nothing was recorded: %s took %.1f %% of the "
				  "CPUs, and --budget allows %g %%",
				  at.time, on, host, step->from, cost, budget);
	else if (strcmp(step->from, "nothing") == 0)
		terminal_sentence(t, "budget: ", "from %.8s%s%s on %s were recorded again", at.time,
				  on, host, step->to);
	else if (strcmp(step->why, "beyond") == 0)
		terminal_sentence(
			t, "budget: ",
			"from %.8s%s%s on it was not held: %s took %.1f %% of the CPUs, and "
			"--budget allows %g %%",
			at.time, on, host, step->to, cost, budget);
	else if (strcmp(step->why, "below") == 0)
		terminal_sentence(t, "budget: ",
				  "from %.8s%s%s on %s were recorded again: %s took %.1f %% of the "
				  "CPUs, and --budget allows %g %%",
				  at.time, on, host, step->to, step->from, cost, budget);
	else
		terminal_sentence(t, "budget: ",
				  "from %.8s%s%s on only %s were recorded: %s took %.1f %% of the "
				  "CPUs, and --budget allows %g %%",
				  at.time, on, host, step->to, step->from, cost, budget);
}

static void gap_write_text(const struct terminal *t, const struct source_view *source,
			   const struct gap_view *gap)
{
	uint64_t from = clocks_unix_ns(source->clocks, source->clocks_count, gap->from_ns);
	uint64_t to = clocks_unix_ns(source->clocks, source->clocks_count, gap->to_ns);
	char length[UNITS_TEXT_BYTES], range[64];

	if (from && to)
		snprintf(range, sizeof(range), "%.12s to %.12s", wall_time_write(from).time,
			 wall_time_write(to).time);
	else
		snprintf(range, sizeof(range), "%" PRIu64 " to %" PRIu64, gap->from_ns, gap->to_ns);
	terminal_sentence(t, "gap: ", "nothing was recorded%s%s for %s (%s)%s",
			  gap->host ? " on " : "", gap->host ? gap->host : "",
			  units_format_ns((int64_t)(gap->to_ns - gap->from_ns), length), range,
			  gap->why ? ": the recorder paused to hold its budget" : "");
}

void source_write_text(const struct terminal *t, const struct source_view *source)
{
	char text[UNITS_TEXT_BYTES], part[UNITS_TEXT_BYTES];

	lost_write_text(t, &source->lost);
	if (source->incomplete)
		terminal_sentence(
			t, "incomplete: ", "%" PRIu64 " fields were cut or could not be read",
			source->incomplete);
	missing_write_text(t, source->missing);
	for (size_t i = 0; i < source->gaps_count; i++)
		gap_write_text(t, source, &source->gaps[i]);
	for (size_t i = 0; i < source->steps_count; i++)
		step_write_text(t, source, &source->steps[i]);
	if (source->filters & FILTER_BYTES_TURNS)
		terminal_sentence(
			t, "bytes: ",
			"in all or some of the time the bytes that went over connections were "
			"recorded for 1 s in each 30 s only, to hold the budget");
	else if (source->filters & FILTER_BYTES)
		terminal_sentence(
			t, "bytes: ",
			"the bytes that went over connections were not recorded in all or "
			"some of the time, since the level was lowered to waits");
	if (source->filters & FILTER_SCOPES)
		terminal_sentence(t, "detail: ",
				  "calls and page faults were recorded of some threads only "
				  "(--detail ...,SCOPE=LEVEL), in all or some of the time; of the "
				  "others they are absent, and cpu is user and kernel");
	else if (source_calls_share_holds(source))
		terminal_sentence(
			t, "detail: ",
			"calls and page faults were recorded in %s of %s (%.2g %% of the "
			"time): rows of calls are %s; in the rest, cpu is user and kernel",
			units_format_ns((int64_t)source->calls_ns, part),
			units_format_ns((int64_t)source->recorded_ns, text),
			100 * (double)source->calls_ns / (double)source->recorded_ns,
			source->scaled ? "scaled from that part to all of it (--scale)"
				       : "of that part, unless 'report --scale' scales "
					 "them to all of it");
	else if (source->filters & FILTER_CALLS)
		terminal_sentence(t, "detail: ",
				  "waits only, in all or some of the time (--detail waits): a call "
				  "counts once for each wait in it, calls without a wait and page "
				  "faults are absent, and cpu is user and kernel; 'fathom record "
				  "--detail calls' has each call");
	else if (source->filters & FILTER_SYSCALLS)
		terminal_sentence(
			t, "filter: ",
			"only some system calls were recorded (--syscalls); time on a CPU "
			"outside of these is %s",
			source->filters & FILTER_SPANS ? "unknown"
						       : "cpu, which is user and kernel");
	if (source->filters & FILTER_SPANS)
		terminal_sentence(t, "filter: ",
				  "threads were recorded only under spans (--spans-only); time "
				  "outside of spans is unknown");
	if (source->cpu_ns && source->steal_ns > source->cpu_ns / 100)
		terminal_sentence(t, "steal: ",
				  "the hypervisor took %" PRIu64
				  " %% of the CPUs' time, which is included in %s",
				  source->steal_ns * 100 / source->cpu_ns,
				  source->filters & FILTER_CALLS ? "the time on a CPU"
								 : "user and kernel");
}
