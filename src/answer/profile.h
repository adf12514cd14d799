/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile: which code ran on the CPUs, by samples, or which code waited, by the stacks of long
 * waits. Stacks with the same functions in processes of the same name are one.
 */
#ifndef ANSWER_PROFILE_H
#define ANSWER_PROFILE_H

#include "answer/sources.h"
#include "base/map.h"
#include "base/vec.h"
#include "span/split.h"

struct filter;

/* What a profile is of. */
struct profile_choice {
	u32 parts; /* bits of enum split_part: waits of these; 0: what ran on CPUs */
	/* NULL: all. Its name takes spans and those below them. Borrowed. */
	const struct filter *filter;
};

enum profile_kind {
	PROFILE_USER,
	PROFILE_KERNEL,
	PROFILE_JIT,
	PROFILE_UNNAMED, /* the name is that of a file, in brackets */
	PROFILE_CAUSE,	 /* of a wait */
	PROFILE_MORE,	 /* callers that are not known: too little of the stack was recorded */
};

struct profile_function {
	char *name; /* owned */
	enum profile_kind kind;
};

struct profile_stack {
	const char *process; /* its name, behind that of its host if there are several; borrowed */
	u32 part;	     /* enum split_part: where the time was */
	u32 *functions;	     /* numbers in the list of functions, outermost first; owned */
	size_t count;
	u64 ns, times; /* how long, in how many samples or waits */
};

/* Starts with all zero. */
struct profile {
	VEC(struct profile_function) functions;
	VEC(struct profile_stack) stacks;
	VEC(char *) processes;	   /* owned */
	struct bytes_map by_name;  /* kind and name -> number of the function + 1 */
	struct bytes_map by_stack; /* process, part, functions -> number of the stack + 1 */
	struct bytes_map by_process;
	u64 times; /* samples or waits */
	u64 cut;   /* of these: with callers that are not known */
};

/*
 * Makes the profile of loaded recordings; for waits they were loaded with their kernel spans. 0 or
 * -ENOMEM. Free it with profile_free() in any case.
 */
int profile_make(struct profile *out, const struct sources *sources,
		 const struct profile_choice *choice);

/* Adds what a finished partial has. `host`: NULL if the answer is of one host. 0 or -ENOMEM. */
int profile_add(struct profile *out, const struct partial *p, const struct profile_choice *choice,
		const char *host);
void profile_free(struct profile *profile);

/*
 * The parts that a list names: "cpu" (0), "waits" (all of them), or causes as in "disk,lock".
 * -EINVAL if a word is none of these.
 */
int profile_parts(const char *list, u32 *parts);

/*
 * The number of the function to which the time of a stack counts: the innermost one; of a wait the
 * innermost one of the program. -1: there is none.
 */
s64 profile_self(const struct profile *profile, const struct profile_stack *stack);

/*
 * Appends the folded stacks: a line for each, "process;outermost;...;innermost NANOSECONDS", in the
 * order of their text.
 */
struct bytes;
int profile_write_folded(const struct profile *profile, struct bytes *out);

#endif
