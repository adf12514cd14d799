/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the budget of a recording: asks the governor after each second, sets the level of detail
 * that it decides, records each step and prints a line. The recorder's thread calls this.
 */
#ifndef RECORDER_BUDGET_H
#define RECORDER_BUDGET_H

#include "recorder/chunks.h"
#include "recorder/costs.h"
#include "recorder/detail.h"
#include "recorder/governor.h"

struct budget_options {
	u32 ppm;      /* of the CPUs' time; 0: no budget */
	bool hard;    /* it holds even if nothing can be recorded then */
	u64 pause_ns; /* with `hard`: how long nothing is recorded at first; 0: GOVERNOR_WAIT_NS */
	bool turns_least; /* no less is recorded than byte ranges in turns */
};

/* Only the functions below use the fields. */
struct budget {
	u32 ppm; /* of the CPUs' time; 0: there is no budget */
	struct governor governor;
	u64 system_ns; /* time of all CPUs in the kernel, when last read */
	u64 taken, taken_of_calls, taken_of_bytes; /* of struct chunking, likewise */
	struct governor_decision pause_step; /* the last one by which a pause began or ended */
	struct costs_second turn;	     /* of byte ranges in turns: what it cost so far */
	u64 turn_ns;			     /* struct detail_turns.turn_ns of it */
};

/* 0, or a negative errno if a budget (not 0) cannot be held, since nobody may measure. */
int budget_check(u32 ppm, struct error *e);

/* Begins when the recording does. */
void budget_begin(struct budget *b, const struct budget_options *o, const struct detail *detail,
		  u64 now_ns);

/*
 * Decides, if a second is over. The level is set by detail_follow(). 0 or the negative errno of the
 * sink. A step to or from a pause is recorded by budget_pause_tell().
 */
int budget_follow(struct budget *b, struct costs *costs, struct detail *detail,
		  const struct chunking *chunks, const struct capture_sink *sink);

/*
 * Whether nothing is to be recorded now: even waits cost more than a hard budget, and nobody asked
 * for a level.
 */
bool budget_pauses(const struct budget *b, const struct detail *detail);

/*
 * Records the step of a pause: as the last record before one begins, or once it is over. A pause
 * that is over because somebody asked for a level has no step. 0 or the negative errno of the sink.
 */
int budget_pause_tell(const struct budget *b, bool begins, const struct capture_sink *sink);

#endif
