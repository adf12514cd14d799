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

/* Only the functions below use the fields. */
struct budget {
	u32 ppm; /* of the CPUs' time; 0: there is no budget */
	struct governor governor;
	u64 system_ns;		   /* time of all CPUs in the kernel, when last read */
	u64 taken, taken_of_calls; /* of struct chunking, likewise */
};

/* 0, or a negative errno if a budget (not 0) cannot be held, since nobody may measure. */
int budget_check(u32 ppm, struct error *e);

/* Begins when the recording does. */
void budget_begin(struct budget *b, u32 ppm, const struct detail *detail, u64 now_ns);

/*
 * Decides, if a second is over. The level is set by detail_follow(). 0 or the negative errno of the
 * sink.
 */
int budget_follow(struct budget *b, struct costs *costs, struct detail *detail,
		  const struct chunking *chunks, const struct capture_sink *sink);

#endif
