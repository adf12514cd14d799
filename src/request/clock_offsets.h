/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the clocks of recorded hosts differ, from the messages between them. A message is received
 * after the call that sent it began: each message from one host to another bounds the difference on
 * one side, each message back on the other. So the difference is known as an interval.
 *
 * Clocks drift. The messages of two hosts are cut into stretches of CLOCK_STRETCH_MESSAGES, each of
 * which gives an interval at its middle. Between and beside them an interval is as wide as a drift
 * of CLOCK_DRIFT_PPM allows. A stretch whose messages contradict each other gives none. Where two
 * stretches contradict each other, a clock was set, as by the pause of a virtual machine: what was
 * known before does not hold behind it.
 */
#ifndef REQUEST_CLOCK_OFFSETS_H
#define REQUEST_CLOCK_OFFSETS_H

#include "request/connections.h"
#include "request/thread_times.h"

#define CLOCK_STRETCH_MESSAGES 50
#define CLOCK_DRIFT_PPM 100

/* What is added to a time of one host, to get that of another one: between these two. */
struct clock_interval {
	s64 min_ns, max_ns;
};

/* The interval at an instant of the first host of a pair. */
struct clock_offset {
	u64 at_ns;
	struct clock_interval interval;
	bool set; /* a clock was set between the one before and this one */
};

/* Two hosts between which messages went both ways. */
struct clock_pair {
	u32 host, against; /* host < against; the clock of `against` is ahead by the interval */
	size_t first, end; /* of clock_offsets.list, by at_ns */
};

/* Starts with all zero. */
struct clock_offsets {
	VEC(struct clock_pair) pairs; /* by host, against */
	VEC(struct clock_offset) list;
	size_t contradictory; /* stretches of messages that contradict each other */
};

/*
 * Finds the offsets between all hosts of these connections. `times` are those of each host, by
 * which the begin of a call that sends is known; NULL: they are not known, and intervals are wider.
 * 0 or -ENOMEM; free `out` in any case.
 */
int clock_offsets_find(struct clock_offsets *out, const struct connections *connections,
		       const struct thread_times *times);
void clock_offsets_free(struct clock_offsets *o);

/*
 * What is to be added to a time of host `from`, at that time, to get the time of host `to`. False:
 * nothing tells.
 */
bool clock_offset_at(const struct clock_offsets *o, u32 from, u32 to, u64 time_ns,
		     struct clock_interval *out);

/* The middle of an interval. */
static inline s64 clock_interval_middle(const struct clock_interval *i)
{
	return i->min_ns + (s64)(((u64)i->max_ns - (u64)i->min_ns) / 2);
}

#endif
