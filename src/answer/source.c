/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/source.h"

#include <stdio.h>
#include <string.h>

#include "record/record.h"

uint64_t lost_total(const struct lost_view *lost)
{
	return lost->buffer + lost->recursion + lost->application + lost->damaged;
}

void lost_add(struct lost_view *sum, const struct lost_view *more)
{
	sum->buffer += more->buffer;
	sum->recursion += more->recursion;
	sum->application += more->application;
	sum->damaged += more->damaged;
}

void lost_write_json(struct json *j, const struct lost_view *lost)
{
	json_object_begin(j, "lost");
	json_u64(j, "total", lost_total(lost));
	json_u64(j, "buffer", lost->buffer);
	json_u64(j, "recursion", lost->recursion);
	json_u64(j, "application", lost->application);
	json_u64(j, "damaged", lost->damaged);
	json_object_end(j);
}

uint64_t clocks_unix_ns(const struct clock_view *clocks, size_t count, uint64_t monotonic_ns)
{
	const struct clock_view *of = NULL;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(clocks[i].boot_id, clocks[0].boot_id) != 0)
			return 0;
		if (clocks[i].unix_ns && (!of || clocks[i].monotonic_ns <= monotonic_ns))
			of = &clocks[i];
	}
	return of ? of->unix_ns - of->monotonic_ns + monotonic_ns : 0;
}

static void missing_write_json(struct json *j, const char *names)
{
	if (!names || !*names)
		return;
	json_array_begin(j, "missing");
	while (*names) {
		size_t length = strcspn(names, ",");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)length, names);
		json_string(j, NULL, name);
		names += length + (names[length] == ',');
	}
	json_array_end(j);
}

static void cost_write_json(struct json *j, const struct source_view *source)
{
	const struct cost_view *cost = &source->cost;

	if (!cost->measured && !cost->processes_ns)
		return;
	json_object_begin(j, "cost");
	json_u64(j, "cpu_ns", source->cpu_ns);
	json_u64(j, "processes_ns", cost->processes_ns);
	if (cost->measured)
		json_u64(j, "programs_ns", cost->programs_ns);
	json_object_end(j);
}

static void steps_write_json(struct json *j, const struct source_view *source)
{
	if (!source->steps_count)
		return;
	json_array_begin(j, "steps");
	for (size_t i = 0; i < source->steps_count; i++) {
		const struct step_view *step = &source->steps[i];

		json_object_begin(j, NULL);
		if (step->host)
			json_string(j, "host", step->host);
		json_u64(j, "time_ns", step->time_ns);
		json_string(j, "from", step->from);
		json_string(j, "to", step->to);
		json_string(j, "why", step->why);
		json_u64(j, "budget_ppm", step->budget_ppm);
		json_u64(j, "cost_ppm", step->cost_ppm);
		if (step->predicted_ppm)
			json_u64(j, "predicted_ppm", step->predicted_ppm);
		json_object_end(j);
	}
	json_array_end(j);
}

void source_write_json(struct json *j, const struct source_view *source)
{
	json_array_begin(j, "clock");
	for (size_t i = 0; i < source->clocks_count; i++) {
		json_object_begin(j, NULL);
		json_string(j, "host", source->clocks[i].host);
		json_string(j, "boot_id", source->clocks[i].boot_id);
		json_u64(j, "monotonic_ns", source->clocks[i].monotonic_ns);
		json_u64(j, "unix_ns", source->clocks[i].unix_ns);
		json_object_end(j);
	}
	json_array_end(j);
	lost_write_json(j, &source->lost);
	if (source->filters & FILTER_CALLS)
		json_string(j, "detail", source->filters & FILTER_SCOPES ? "scopes" : "waits");
	if (source_calls_share_holds(source)) {
		json_u64(j, "calls_ns", source->calls_ns);
		json_u64(j, "recorded_ns", source->recorded_ns);
		if (source->scaled)
			json_bool(j, "scaled", true);
	}
	if (source->filters & FILTER_BYTES)
		json_bool(j, "bytes_missing", true);
	json_u64(j, "incomplete", source->incomplete);
	missing_write_json(j, source->missing);
	json_array_begin(j, "gaps");
	for (size_t i = 0; i < source->gaps_count; i++) {
		json_object_begin(j, NULL);
		if (source->gaps[i].host)
			json_string(j, "host", source->gaps[i].host);
		json_u64(j, "from_ns", source->gaps[i].from_ns);
		json_u64(j, "to_ns", source->gaps[i].to_ns);
		if (source->gaps[i].why)
			json_string(j, "why", source->gaps[i].why);
		json_object_end(j);
	}
	json_array_end(j);
	cost_write_json(j, source);
	steps_write_json(j, source);
}
