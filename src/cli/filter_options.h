/* SPDX-License-Identifier: Apache-2.0 */
/* Options that say which processes, calls and files answers tell of. */
#ifndef CLI_FILTER_OPTIONS_H
#define CLI_FILTER_OPTIONS_H

#include "answer/filter.h"
#include "cli/option.h"

struct filter_options {
	struct option_pids pids;
	uint32_t tid;
	const char *program, *command, *service, *name, *cgroup, *file, *peer, *syscall;
};

/* Rows of an option table, for a member `filter` of the options. */
#define FILTER_OPTION(type, member)                                                                \
	(offsetof(struct type, filter) + offsetof(struct filter_options, member))
#define FILTER_OPTIONS_SCOPE(type)                                                                 \
	{"pid", 0, "PIDS", "only these processes", NULL, FILTER_OPTION(type, pids), option_pids},  \
	{                                                                                          \
		"cgroup", 0, "PATH", "only processes of this cgroup, and of those below it", NULL, \
			FILTER_OPTION(type, cgroup), option_text                                   \
	}
#define FILTER_OPTIONS_REST(type)                                                                  \
	{"tid", 0, "TID", "only this thread", NULL, FILTER_OPTION(type, tid), option_pid},         \
		{"program",  0,                                                                    \
		 "NAME",     "only processes that run this program",                               \
		 NULL,	     FILTER_OPTION(type, program),                                         \
		 option_text},                                                                     \
		{"command",  0,                                                                    \
		 "GLOB",     "only processes whose command matches, like '*worker*'",              \
		 NULL,	     FILTER_OPTION(type, command),                                         \
		 option_text},                                                                     \
		{"file",     0,                                                                    \
		 "GLOB",     "only calls on files whose name matches",                             \
		 NULL,	     FILTER_OPTION(type, file),                                            \
		 option_text},                                                                     \
		{"peer",     0,                                                                    \
		 "GLOB",     "only calls on connections whose peer matches,\nlike '*:5432'",       \
		 NULL,	     FILTER_OPTION(type, peer),                                            \
		 option_text},                                                                     \
	{                                                                                          \
		"syscall", 0, "LIST", "only these system calls", NULL,                             \
			FILTER_OPTION(type, syscall), option_text                                  \
	}

/* The filter, which borrows from the options. */
struct filter filter_of(const struct filter_options *o);

void filter_options_release(struct filter_options *o);

#endif
