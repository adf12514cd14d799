/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: of what answers tell. Texts and lists are borrowed; what is 0 or NULL takes everything.
 */
#ifndef ANSWER_FILTER_H
#define ANSWER_FILTER_H

#include "answer/keys.h"

struct filter {
	const u32 *pids; /* one of these processes */
	size_t pids_count;
	u32 tid;
	/* values of the keys of these names: see filter_fits() */
	const char *program, *command, *service, *name, *cgroup, *file, *peer, *syscall;
};

/* Whether it asks for processes or threads, for calls or files, or for anything. */
bool filter_of_process(const struct filter *filter);
bool filter_of_call(const struct filter *filter);
bool filter_is_empty(const struct filter *filter);

/* The kinds of subjects that it can be asked of (enum subject_kind). */
unsigned int filter_kinds(const struct filter *filter);

/* What sums must tell apart for it (SUM_BY_*), and of which process or thread they need be. */
struct sum_choice filter_sums(const struct filter *filter);

/*
 * Whether a text fits a pattern, which may have the wildcards of a shell. `list`: one of several
 * patterns between commas. `tree`: a path fits that of a directory above it, too.
 */
bool filter_fits(const char *pattern, const char *text);
bool filter_fits_list(const char *patterns, const char *text);
bool filter_fits_tree(const char *pattern, const char *path);

#define FILTER_MEMO 256

/* A filter in use, which remembers what it found of processes. Begin with only `filter` set. */
struct filter_use {
	const struct filter *filter;
	struct {
		u64 time_ns;
		u32 pid;
		u8 state; /* 0: nothing is known */
	} memo[FILTER_MEMO];
};

/* Whether it takes the process that has that number at that time, and that host. */
bool filter_takes_process(struct filter_use *use, const struct subject *of);

/* Whether it takes a subject. A sum does not tell its thread, which is chosen before it is made. */
bool filter_takes(struct filter_use *use, const struct subject *of);

#endif
