/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a report: where the time of spans, threads, processes, calls or files went. */
#ifndef ANSWER_ROWS_H
#define ANSWER_ROWS_H

#include "base/histogram.h"
#include "base/map.h"
#include "base/vec.h"
#include "map/partial.h"
#include "span/split.h"

/* row.absent: values that do not apply to a row */
#define ROW_NO_ERRORS 1
#define ROW_NO_DURATIONS 2 /* neither a total nor percentiles, as for events */
#define ROW_NO_SPLIT 4
#define ROW_OF_LIVES 16	     /* counts threads, whose durations are the times that they lived */
#define ROW_OF_REQUESTS 32   /* counts requests, whose key names the service */
#define ROW_NO_PERCENTILES 8 /* a sum without single durations, as for parts of time on a CPU */

/* How often calls failed with an error. */
struct row_errno {
	uint32_t number;
	uint64_t count;
};

/* Its name: "ENOENT". */
const char *row_errno_name(const struct row_errno *e);

/* row.section: rows by overhead are of several kinds, which are sorted apart */
enum row_section {
	ROW_OF_ALL, /* of any other grouping */
	ROW_OF_PROGRAM,
	ROW_OF_RECORDER,
	ROW_OF_PROCESS,
	ROW_OF_SPAN,
};

/* Plain values. Texts belong to the rows that have the row; NULL and 0: it does not apply. */
struct row {
	const char *key;
	const char *host; /* NULL: the answer is of one host */
	const char *service;
	const char *process;
	uint32_t pid;
	const char *thread;
	uint32_t tid;
	const char *program;   /* of rows by process or thread */
	const char *command;   /* likewise: the program and its arguments */
	const char *values[2]; /* of rows by two keys: the value of each; else NULL */
	unsigned int section;  /* enum row_section */
	unsigned int absent;
	uint64_t count;
	uint64_t errors;
	uint64_t total_ns;
	uint64_t p50_ns;
	uint64_t p95_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	uint64_t read_bytes; /* that calls and requests moved */
	uint64_t written_bytes;
	uint64_t with_callees_ns;   /* of a function: its time and that of what it called; else 0 */
	uint64_t connections;	    /* of rows by peer: how many there were */
	uint64_t network_namespace; /* of rows by peer: its cookie; else 0 */
	uint64_t mount_namespace;   /* of rows by file: its number; 0: the recorder's */
	bool several_namespaces;    /* the peers of all rows are in more than one */
	struct split time;
	/* enum unknown_reason of its unknown time; 0: there is none, or it is not told here */
	unsigned int unknown;
	const char *caller, *callee; /* of rows by edge: services; else NULL */
	uint64_t own_ns; /* of rows of requests: without the time of the calls that they made */
	uint64_t unsure; /* of rows by edge: calls whose request is not sure */
	/* of rows by peer that a service of this host serves: where, in the order of text */
	const char *const *addresses;
	size_t addresses_count;
	const struct row_errno *errnos; /* of the errors, the most frequent first */
	size_t errnos_count;
};

struct profile_choice;

/* A row that is still summed up: its durations are a histogram, and it has no quantiles yet. */
struct group {
	struct row row;
	struct histogram durations;
	VEC(struct row_errno) errnos;
	VEC(char *) addresses; /* owned */
	char *identity;	       /* rows of the same host and identity are one row; owned */
};

/* Start with all zero. Not thread-safe. */
struct rows {
	VEC(struct group *) groups; /* owned, in the order in which they were found */
	VEC(struct row) rows;	    /* made by rows_finish() */
	VEC(char *) texts;	    /* owned: what the rows point to */
	struct bytes_map by_key;    /* host and identity -> group */
	VEC(char) key;		    /* a key of by_key in the making */
	const char *host;	    /* host of the partial that rows_fill() sums up; borrowed */
	const char *source_host;    /* the same, also if the answer is of one host */
	/* what rows of functions are of; borrowed; NULL: what ran on the CPUs */
	const struct profile_choice *profile;
	struct rows *more; /* further rows of the same answer; owned; NULL: none */
};

/*
 * Adds the sums of `more`, of the same grouping, to `into`, which copies what it needs. Rows of the
 * same host and identity become one; all others stay apart. Counts, errors, times and durations
 * add up: the rows of two stretches of time are those of both together, if no span, call or wait
 * lies across the cut. Rows by process or thread count lives, and one that goes on behind the cut
 * counts twice: merge partials instead. 0, or -ENOMEM with `into` only good for rows_free().
 */
int rows_merge(struct rows *into, const struct rows *more);

/*
 * Multiplies counts and times of rows, as if the part_ns in which they were counted were all of
 * all_ns. Quantiles stay as they are. Does nothing if part_ns is 0 or all of it.
 */
void rows_scale(struct rows *rows, uint64_t all_ns, uint64_t part_ns);

/*
 * The last step: makes rows->rows of the sums, with quantiles, sorted. `sort` is "cpu", "work",
 * "total", "own", "callees", "count", "errors", "p50", "p95", "p99", "max" or "key". Equal rows are
 * sorted by key, service, host, process and thread. It can be called again after a merge. 0,
 * -EINVAL for an unknown order, or -ENOMEM.
 */
int rows_finish(struct rows *rows, const char *sort);

void rows_free(struct rows *rows);

/* A copy of a text that lives as long as the rows; NULL if the memory ran out. */
__attribute__((format(printf, 2, 3))) const char *rows_text(struct rows *rows, const char *format,
							    ...);

/* "program", "recorder", "process", "span"; NULL with ROW_OF_ALL. Static. */
const char *row_section_name(unsigned int section);

/* True for a row that counted nothing and took no time: text views leave it out. */
bool row_is_void(const struct row *row);

#endif
