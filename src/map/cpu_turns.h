/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last turns on each CPU (model/turns.h). Records of one CPU come in the order of time, so
 * within a partial they are known up to its first switch on the CPU. What a left half knows is
 * added as both are merged, also to switches that its lives have not been told yet.
 */
#ifndef MAP_CPU_TURNS_H
#define MAP_CPU_TURNS_H

#include "base/vec.h"
#include "model/turns.h"

struct archive;
struct partial;

struct cpu_turn {
	u64 since_ns; /* 0: not known */
	u32 tid;
};

/* The turns on a CPU up to its last switch. */
struct cpu_turns {
	u64 switch_ns; /* 0: none yet */
	u32 count;
	struct cpu_turn list[TURNS_MAX]; /* the last one first */
};

/* Starts with all zero. */
struct all_turns {
	VEC(struct cpu_turns) cpus;
	bool parted; /* a gap is to the left */
};

/* Whether the options ask who had a CPU. */
bool cpu_turns_wanted(const struct partial *p);

/*
 * Notes a switch, and makes of it what the thread that gets the CPU is fed. Where nobody asks for
 * turns, that is the record as it is. 0 or -ENOMEM.
 */
int cpu_turns_switch(struct partial *p, const struct record_switch *sw,
		     struct record_switch *enters);

/* A gap: what was before does not count. */
void cpu_turns_part(struct all_turns *turns);

/* Before lives are merged: adds what the left half knows to the right one. */
void cpu_turns_extend(const struct all_turns *left, struct partial *right);
/* Then: the turns of both. 0 or -ENOMEM. */
int cpu_turns_merge(struct all_turns *left, struct all_turns *right);

void cpu_turns_archive(struct archive *a, struct all_turns *turns);
void cpu_turns_free(struct all_turns *turns);

#endif
