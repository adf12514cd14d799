/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture's side of a quick change of level: map asks on the board for the calls of a process that
 * got slow. They are recorded for ten seconds at most, a tenth of the time altogether, and only
 * while recording holds its budget. For the thread of the recorder.
 */
#ifndef UP_RAISING_H
#define UP_RAISING_H

#include "recorder/recorder.h"
#include "up/board.h"

/* Starts with the first two. */
struct raising {
	struct board *board;
	u32 budget_ppm; /* 0: none */
	u32 seen;	/* the number of the last request */
	u64 until_ns;	/* when the present one ends; 0: there is none */
	u64 next_ns;	/* when the next one may begin */
	u64 looked_ns;	/* when the cost was looked at, and what it was */
	u64 spent_ns;
};

/* Call it after each step of the recorder. */
void raising_follow(struct raising *x, struct recorder *r);

#endif
