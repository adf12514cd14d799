/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording costs: the kernel programs by the kernel's own account (capture_costs_read()),
 * and the CPU time of this process, of the one that deletes its chunks, and of the commands of
 * --on-chunk. It is told about every second, and before each cut, by records. The recorder's thread
 * calls these functions.
 */
#ifndef RECORDER_COSTS_H
#define RECORDER_COSTS_H

#include "capture/capture.h"

#define COSTS_EVERY_NS 1000000000ull

/* What was spent in a second or so. */
struct costs_second {
	u64 elapsed_ns;
	u64 processes_ns;
	u64 programs_ns; /* at the rate of their last measurement */
	u64 calls_ns;	 /* of those that record calls and page faults */
	u64 bytes_ns;	 /* of those that record byte ranges */
};

/* Only the functions below use the fields. */
struct costs {
	struct capture *capture; /* borrowed */
	pid_t helper;		 /* the process that deletes old chunks; 0: none */
	u64 begin_ns;		 /* of the recording */
	u64 told_ns;		 /* up to here the processes are told */
	u64 programs_told_ns;	 /* and the programs */
	/* CPU time of this process, of commands, and of the helper, when last told */
	u64 own_ns, hooks_ns, helper_ns;
	struct capture_costs before;		/* of the programs, when last told */
	u64 programs_ppm, calls_ppm, bytes_ppm; /* of the time, in the last measurement */
	struct costs_second second;		/* since costs_second_take() */
	u64 sum_programs_ns, sum_processes_ns;	/* what was told */
};

/* Begins to account when the programs have begun to record, at begin_ns. */
void costs_begin(struct costs *c, struct capture *capture, u64 begin_ns);

/* From now on the CPU time of a process that deletes old chunks is told, too; 0: there is none. */
void costs_helper(struct costs *c, pid_t pid);

/* When the next costs_tell() is due. */
static inline u64 costs_due_ns(const struct costs *c)
{
	return c->told_ns + COSTS_EVERY_NS;
}

/*
 * Hands records of what was spent since the last call to the sink. Programs are left for a later
 * call if they were not measured in between. 0 or the negative errno of the sink.
 */
int costs_tell(struct costs *c, const struct capture_sink *sink);

/*
 * Takes what was spent since the last call, once that is about a second. False: it is not yet, or
 * programs were not measured yet.
 */
bool costs_second_take(struct costs *c, struct costs_second *out);

/* The cost of the recording so far. */
struct costs_sum {
	u64 elapsed_ns;	  /* the time for which it is */
	u64 processes_ns; /* CPU time */
	u64 programs_ns;  /* likewise; 0 if not known */
	bool measured;	  /* the programs are known */
	int err;	  /* not measured: a negative errno, or 0: the time was too short */
};

void costs_sum(const struct costs *c, struct costs_sum *out);

#endif
