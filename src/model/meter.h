/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A meter: the time of one thread within stretches of time that somebody asks for. A life that has
 * one accounts each instant to it, too, as it accounts it to its totals.
 *
 * Not thread-safe.
 */
#ifndef MODEL_METER_H
#define MODEL_METER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "span/split.h"

struct meter_stretch {
	u64 from_ns, to_ns; /* `to_ns` is not in it */
};

/* Zero what is not said. */
struct meter {
	const struct meter_stretch *stretches; /* disjoint, in the order of time; borrowed */
	size_t count;
	u32 *slots; /* of each stretch: number in `splits` + 1; 0: no time yet; owned */
	VEC(struct split) splits;
	u8 *on_cpu;  /* of each stretch: it was on a CPU at its begin; owned; NULL: never */
	bool failed; /* memory ran out: times are missing */
};

/* Adds [from, to) to the stretches that it overlaps. */
void meter_spend(struct meter *m, enum split_part part, u64 from_ns, u64 to_ns);

/* The time of the thread in a stretch; NULL: none. */
const struct split *meter_split(const struct meter *m, size_t stretch);

/* Whether the thread was on a CPU at the begin of a stretch. */
bool meter_on_cpu(const struct meter *m, size_t stretch);

/* The number of the first stretch that ends behind that time; `count`: there is none. */
size_t meter_stretch_behind(const struct meter_stretch *stretches, size_t count, u64 time_ns);

void meter_free(struct meter *m);

#endif
