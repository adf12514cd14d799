/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the records of a recording of known calls, and keeps the few that tests look into. */
#ifndef TESTS_UNIT_CAPTURE_SEEN_H
#define TESTS_UNIT_CAPTURE_SEEN_H

#include "capture/capture.h"

#define SEEN_CALLS 20000 /* that calls_make() makes */

/* Zeroed before; what is looked for is set by the test. One thread. */
struct seen {
	struct capture *c;
	pid_t child;		       /* looked for; 0: all */
	char fd_name[64];	       /* looked for: name of a file */
	const struct context *context; /* looked for; borrowed */

	u64 records[RECORD_KIND_MAX + 1];
	u64 lost;	     /* found their ring full */
	u32 first_kind;	     /* of the first record, but names of cgroups */
	bool first_is_child; /* it is of the command */
	u64 newest_ns;	     /* the latest time */
	u64 counted;	     /* getppid() of the child */
	u64 counted_elsewhere;
	u64 with_context;  /* getppid() under the context */
	u64 begin_unknown; /* calls */
	u64 reads_of_pipe; /* of the child */
	u64 switches;
	u64 dead; /* switches away from the command that ended */
	u64 wakings_by_task;
	u64 faults;			 /* whole writes of user code between two getppid() */
	u64 written;			 /* blocks of 4096 bytes, by the command */
	u64 fd_named;			 /* fd records with the name */
	char fd_names[64][64];		 /* of the fds of the child, as they are now */
	struct record_socket sockets[2]; /* the last two, the first of two behind */
	struct record_socket asked;	 /* the last one of the begin of a connect; not counted */
	struct record_bytes bytes[4];	 /* the first four */
	u64 filter_rest;		 /* sum of what stands behind the struct in its slot */
};

/* Callbacks of a struct capture_sink whose `arg` is the struct seen. */
int seen_record(void *arg, const struct capture_stream *stream, const struct record_head *r);
int seen_lost(void *arg, const struct capture_stream *stream, const struct record_lost *lost);

/* Calls getppid() so often, and nothing else. */
void calls_make(void);

#endif
