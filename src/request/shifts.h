/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of several hosts on one line of time, and what cannot be on it. */
#ifndef REQUEST_SHIFTS_H
#define REQUEST_SHIFTS_H

#include "request/requests.h"

/*
 * Finds the offsets of the clocks, and notes exchanges that cannot be by them. Needs the threads'
 * times. With one host it does nothing. 0 or -ENOMEM.
 */
int shifts_begin(struct requests *r);

/* Fills the shift of a node below one whose shift is filled, or of a root. */
void shift_fill(struct requests *r, u32 node);

/*
 * What is to be added to a time of an exchange's server to get the clock of its caller's host.
 * Where no message tells, it is as far as the server can be moved within its client; the middle of
 * the interval then puts it into the middle. Both ends were recorded.
 */
struct clock_interval shift_of_exchange(const struct requests *r, u32 exchange);

#endif
