/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that `fathom record` prints at its end. */
#ifndef CLI_RECORD_SUMMARY_H
#define CLI_RECORD_SUMMARY_H

#include "recorder/recorder.h"

/* How many records were lost so far. */
u64 recorder_lost(const struct recorder_counts *counts);

/* Prints on stderr what was recorded and lost, and what that cost. Call it after recorder_finish().
 */
void record_summary_print(struct recorder *r);

#endif
