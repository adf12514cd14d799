/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts that every answer has beside its rows or traces: the relation of its clocks to Unix
 * time, and what is missing from it. Plain values: the code that fills a view owns all that it
 * points to, and readers only borrow it.
 */
#ifndef ANSWER_SOURCE_H
#define ANSWER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "record/record.h"

/* A relation of a host's monotonic clock to Unix time. */
struct clock_view {
	const char *host;
	const char *boot_id;
	uint64_t monotonic_ns;
	uint64_t unix_ns;
};

/* How far the clock of a host is ahead of another one, at an instant of the host: an interval. */
struct clock_offset_view {
	const char *host, *against;
	int64_t min_ns, max_ns;
	uint64_t at_ns;
};

/* Records that are absent; their total is the sum. */
struct lost_view {
	uint64_t buffer;
	uint64_t recursion;
	uint64_t application;
	uint64_t damaged;
};

/* A stretch of time in which nobody recorded. */
struct gap_view {
	const char *host; /* NULL: the answer is of one host */
	uint64_t from_ns;
	uint64_t to_ns;
	const char *why; /* "budget": recording paused, to hold it; NULL: nobody tells; static */
};

/* What recording cost, by its own account. All 0: nothing tells of it. */
struct cost_view {
	uint64_t programs_ns;  /* kernel programs, as far as they were measured */
	uint64_t processes_ns; /* CPU time of the recorder and its commands */
	bool measured;	       /* the programs were */
};

/* A step by which a budget changed the level of detail. Shares of the CPUs are in millionths. */
struct step_view {
	const char *host; /* NULL: the answer is of one host */
	uint64_t time_ns;
	const char *from, *to; /* levels: "calls", "waits,bytes", "waits", "nothing"; static */
	const char *why;       /* "above", "below" or "beyond" the budget; static */
	uint32_t budget_ppm, cost_ppm;
	uint32_t predicted_ppm; /* 0: not known */
};

struct source_view {
	const struct clock_view *clocks; /* in the order of time */
	size_t clocks_count;
	struct lost_view lost;
	uint64_t incomplete; /* fields that are cut or could not be read */
	const char *missing; /* tracepoints that recorders had to do without, "a,b"; NULL: none */
	const struct gap_view *gaps;
	size_t gaps_count;
	unsigned int filters; /* FILTER_* of record.h: records left out on request */
	/* What was recorded of the range, of all hosts together, and with calls. */
	uint64_t recorded_ns, calls_ns;
	bool scaled;	   /* rows of calls are scaled from calls_ns to recorded_ns */
	uint64_t steal_ns; /* time of CPUs that the hypervisor took away, within the range */
	uint64_t cpu_ns;   /* the recorded time times the number of CPUs; 0 if not known */
	struct cost_view cost;
	const struct step_view *steps; /* in the order of time */
	size_t steps_count;
};

/*
 * Whether calls_ns of recorded_ns holds for all threads: calls were recorded in a part of the time,
 * and nowhere of some threads only.
 */
static inline bool source_calls_share_holds(const struct source_view *s)
{
	return s->filters & FILTER_CALLS && !(s->filters & FILTER_SCOPES) && s->calls_ns;
}

uint64_t lost_total(const struct lost_view *lost);
void lost_add(struct lost_view *sum, const struct lost_view *more);

/*
 * The Unix time of a point of the monotonic clock, by the last relation up to it; 0: unknown, as
 * for clocks of several hosts.
 */
uint64_t clocks_unix_ns(const struct clock_view *clocks, size_t count, uint64_t monotonic_ns);

/* Writes the object "lost" into an object that is begun. */
void lost_write_json(struct json *j, const struct lost_view *lost);

/*
 * Writes "clock", "lost", "incomplete", "missing" if anything is, "gaps", and "cost" and "steps"
 * if anything tells of them, likewise.
 */
void source_write_json(struct json *j, const struct source_view *source);

#endif
