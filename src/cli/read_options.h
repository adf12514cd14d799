/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the commands that read recordings.
 */
#ifndef CLI_READ_OPTIONS_H
#define CLI_READ_OPTIONS_H

#include <string.h>

#include "cli/filter_options.h"
#include "cli/option.h"
#include "cli/record_options.h"
#include "recorder/default_dir.h"

/* chunks, rotate, snapshot: one directory */
struct dir_options {
	const char *dir;	    /* set by the check */
	int boot;		    /* 0 the latest, -1 the one before; chunks only */
	struct time_point from, to; /* chunks only */
	bool json;
};

extern const struct option chunks_option_table[];
extern const struct option seal_option_table[]; /* rotate, snapshot */
extern const struct option stop_option_table[];
int dir_options_check(void *options, const struct operands *operands, struct error *e);
int chunks_options_check(void *options, const struct operands *operands, struct error *e);

struct top_options {
	uint64_t duration_ns; /* 0: until Ctrl-C */
	uint64_t count;	      /* seconds to show, 0: no limit */
	bool once;
	struct option_pids pids;
	struct option_list cgroups;
	struct option_detail detail;  /* the check chooses it, if it is not given */
	const char *by;		      /* NULL: services, names and processes */
	const char *sort;	      /* NULL: as suits the rows */
	struct filter_options filter; /* without processes and cgroups, which are above */
	uint64_t limit;		      /* rows of each table; 0: what the screen shows */
	bool json;
	const char *dir; /* set by the check: directory of a running recorder; NULL: record */
};

extern const struct option top_option_table[];
extern const char top_usage[];
int top_options_check(void *options, const struct operands *operands, struct error *e);
void top_options_release(void *options);

struct doctor_options {
	bool json;
};

extern const struct option doctor_option_table[];

struct report_options {
	const char *by;	  /* NULL: name if there are application spans, else process */
	const char *sort; /* NULL: what suits the rows */
	struct time_point from;
	struct time_point to;
	struct filter_options filter;
	uint64_t limit; /* rows; 0: all */
	bool scale;	/* rows of calls, to the time in which no calls were recorded, too */
	int boot;
	uint64_t threads;  /* that read chunks; 0: one for each CPU */
	const char *flame; /* write a flame graph to this file; NULL: no */
	bool folded;	   /* write folded stacks */
	const char *of;	   /* what functions are of; NULL: what ran on the CPUs */
	bool json;
	bool json_lines;
	const char *const *dirs; /* set by the check: operands, or the default; borrowed */
	size_t dirs_count;
};

extern const struct option report_option_table[];
extern const char report_usage[];
int report_options_check(void *options, const struct operands *operands, struct error *e);
void report_options_release(void *options);

/* Whether functions are asked for: by rows, as a flame graph, or as folded stacks. */
static inline bool report_of_functions(const struct report_options *o)
{
	return o->flame || o->folded || (o->by && strcmp(o->by, "function") == 0);
}

struct trace_options {
	const char *trace_id; /* set by the check: 32 hex digits, NULL: not given */
	uint64_t slowest;     /* 0: not given */
	struct filter_options filter;
	bool all;
	uint64_t min_ns; /* leave out shorter spans */
	uint64_t limit;	 /* traces; 0: all */
	struct time_point from, to;
	int boot;
	uint64_t threads; /* that read chunks; 0: one for each CPU */
	bool json;
	bool json_lines;
	const char **dirs; /* owned array */
	size_t dirs_count;
};

extern const struct option trace_option_table[];
extern const char trace_usage[];
int trace_options_check(void *options, const struct operands *operands, struct error *e);
void trace_options_release(void *options);

#endif
