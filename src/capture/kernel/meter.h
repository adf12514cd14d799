/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own account of the programs: how often each ran, and for how long. The kernel reads
 * the clock twice in each run while somebody wants the account, which takes as long as a short
 * program (docs/measured.md). So a thread switches it on for a short window after each reading, at
 * a random time within the next second. What it counts stands for the time around.
 *
 * Only CAP_SYS_ADMIN may switch it on. The thread keeps that capability, and nothing else.
 */
#ifndef CAPTURE_KERNEL_METER_H
#define CAPTURE_KERNEL_METER_H

#include "capture/capture.h"

struct capture_meter;

/*
 * Starts the thread, once the programs are loaded, and before capabilities are dropped. 0 or a
 * negative errno. The capture must outlive the meter.
 */
int capture_meter_open(struct capture_meter **out, const struct capture *c, struct error *e);

/* Lets the first window begin now. */
void capture_meter_begin(struct capture_meter *m);

/* Ends the thread and frees. NULL is allowed. */
void capture_meter_close(struct capture_meter *m);

/*
 * Reads the counts so far, as capture.h says, and lets the next window begin within a second.
 * NULL: nothing is known.
 */
void capture_meter_read(struct capture_meter *m, struct capture_costs *out);

#endif
