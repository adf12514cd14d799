/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The governor holds a budget: the share of the host's CPU time that recording may cost in the mean
 * of ten seconds. It chooses the level of detail. It decides after each second, from what that
 * second cost, and only calculates: all that it knows is in its struct and its input.
 *
 * - Down: at once after a second above twice the budget, and before the mean of ten seconds exceeds
 *   the budget. Straight to the highest level that is predicted to fit, else to the lowest of those
 *   that each save a tenth at least of what is spent beyond the budget.
 * - Up: after first_wait_ns (30 s) at the earliest, once what the level cost, scaled to the load of
 * now, fits. If the level does not hold for as long as was waited for it, the next try waits twice
 * as long, up to ten minutes. After ten minutes it tries whatever is predicted.
 * - Byte ranges in turns cost much in some seconds and little in the others, so what counts there
 *   is each turn as a whole.
 * - The lowest level of a hard budget records nothing. From there it tries the next one each time,
 *   whatever is predicted: so something is recorded now and then.
 */
#ifndef RECORDER_GOVERNOR_H
#define RECORDER_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

#define GOVERNOR_SECONDS 10
#define GOVERNOR_WAIT_NS 30000000000ull	      /* before the first try up, unless it is set */
#define GOVERNOR_WAIT_MOST_NS 600000000000ull /* before any further one */

/* In the order of what they cost. */
enum governor_level {
	GOVERNOR_OFF, /* nothing is recorded */
	GOVERNOR_WAITS,
	GOVERNOR_TURNS, /* and byte ranges, in turns */
	GOVERNOR_BYTES, /* and byte ranges */
	GOVERNOR_CALLS,
	GOVERNOR_LEVELS
};

/* A second, more or less; at GOVERNOR_TURNS a whole turn. Shares of the CPUs are in millionths. */
struct governor_second {
	u64 elapsed_ns;
	u32 cost_ppm; /* what recording cost in it */
	u32 load_ppm; /* what costs follow: the time that programs spent in the kernel */
};

/* Use governor_begin(). Levels are those of enum governor_level. */
struct governor {
	u32 budget_ppm;
	u32 levels; /* that it chooses from: a bit for each */
	u8 wanted;  /* the highest of them */
	u8 level;
	struct governor_second seconds[GOVERNOR_SECONDS]; /* at this level, the last ones */
	size_t count;					  /* all at this level */
	u64 stepped_ns;					  /* when this level began */
	u64 first_wait_ns; /* before the first try up; the caller may set it behind governor_begin()
			    */
	u64 wait_ns;	   /* from then to a try up; of a level that was tried: to be held */
	bool trying;	   /* this level is a try */
	bool settles;	   /* a second that is of no level: older records are still written, or a
			      snapshot */
	bool beyond;	   /* it was told that no level below fits */
	struct governor_second left[GOVERNOR_LEVELS]; /* the mean when a level was left; or all 0 */
};

struct governor_input {
	u64 now_ns;
	struct governor_second second;	    /* the last one */
	u32 predicted_ppm[GOVERNOR_LEVELS]; /* what the levels below would have cost in it */
	bool held; /* somebody chose the level for a time: it decides nothing */
};

struct governor_decision {
	u8 why; /* enum step_why; 0: nothing changes */
	u8 from, to;
	u32 cost_ppm;	   /* the mean at the level that it leaves */
	u32 predicted_ppm; /* what the new level is expected to cost, or the next one that was
			      not worth a step; 0: not known */
};

/* Begins at the highest of the levels, of which there is at least one. */
struct governor governor_begin(u32 budget_ppm, u32 levels, u64 now_ns);

/* Decides after a second. The caller sets the level that the decision names. */
struct governor_decision governor_decide(struct governor *g, const struct governor_input *input);

/* The mean of the last ten seconds at this level; at GOVERNOR_TURNS of the last turn. */
struct governor_second governor_mean(const struct governor *g);

#endif
