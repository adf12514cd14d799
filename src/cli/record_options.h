/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_RECORD_OPTIONS_H
#define CLI_RECORD_OPTIONS_H

#include "capture/capture.h"
#include "cli/option.h"
#include "record/record.h"
#include "record/syscalls.h"

/* The system calls that are recorded. */
struct option_syscalls {
	bool given;		       /* false: all */
	u8 record[SYSCALL_TABLE_SIZE]; /* by number; not 0: recorded */
};

/*
 * "read,write", "%file,%network", "!futex" (all but), "%desc,!close": a name or a
 * class adds system calls, ! removes them. A list that begins with ! starts with all.
 */
/*
 * A struct option_list of events, as given. If the list begins with `!`, each part of it gets a
 * `!`.
 */
int option_events(void *field, const char *text, struct error *e);
int option_syscalls(void *field, const char *text, struct error *e);
int option_detail(void *field, const char *text, struct error *e); /* struct option_detail */

/* "5ms" or "5ms,4K": what waits, and how much of each user stack */
struct option_stacks {
	uint64_t min_ns; /* 0: no stacks of waits */
	uint64_t bytes;	 /* 0: not given */
};

/* "", "99", "99,4K" or "4K": how often, and how much of each user stack */
struct option_sample {
	uint64_t hz;	/* 0: no samples */
	uint64_t bytes; /* 0: not given */
};

int option_stacks(void *field, const char *text, struct error *e); /* struct option_stacks */
int option_sample(void *field, const char *text, struct error *e); /* struct option_sample */

/* "3%", "3%,hard" or "3%,hard,10s" */
struct option_budget {
	uint64_t ppm;	   /* of the CPUs' time, in millionths; 0: no budget */
	bool hard;	   /* nothing is recorded rather than more spent */
	uint64_t pause_ns; /* for so long at first; 0: not given */
};

int option_budget(void *field, const char *text, struct error *e); /* struct option_budget */

/* How much is recorded. All false: each call. */
struct option_detail {
	bool given;  /* by the user; else record_options_check() chooses */
	bool raised; /* to calls, because --syscalls is given */
	bool waits;  /* no calls: only the waits, each with the call that it is in */
	bool bytes;  /* with waits: byte ranges of connections, too */
	/* With waits: calls for so long, once in each such time; 0: never. */
	uint64_t calls_ns, every_ns;
	/* Scopes with another level; names lie in the text of the option. */
	struct capture_detail_scope scopes[CAPTURE_SCOPES_MAX];
	size_t scope_count;
	char *words; /* owned: the text of the option, in pieces; or NULL */
};

struct record_options {
	const char *output;   /* NULL: fathom.data; an existing one is moved away */
	uint64_t duration_ns; /* 0: until Ctrl-C or the end of the command */
	bool all;
	bool follow; /* with a command: until its last descendant ends */
	struct option_pids pids;
	bool no_children;
	struct option_list cgroups;
	const char *host; /* what this host is called; NULL: its name */
	struct limits rotate;
	struct limits keep;
	struct option_list events; /* "subsystem:name", both may be globs */
	struct option_syscalls syscalls;
	bool spans_only;
	struct option_detail detail;
	struct option_budget budget;
	struct option_stacks stacks;
	struct option_sample sample;
	bool flight;
	bool compress;
	uint64_t buffer_bytes; /* 0: the capture's own default */
	const char *on_chunk;  /* NULL: none */
};

extern const struct option record_option_table[];
extern const char record_usage[];

/*
 * Also chooses the level of detail, if none is given: waits for the whole host and for a flight
 * recorder, which are left on, else calls. The command to run is operands->command, NULL if there
 * is none.
 */
int record_options_check(void *options, const struct operands *operands, struct error *e);
void record_options_release(void *options);

/*
 * The limits at which a new chunk begins. Without --rotate they follow from --keep, since only
 * whole chunks are kept or deleted.
 */
struct limits record_options_rotate(const struct record_options *options);

/* True if the whole host is recorded. */
bool record_options_host(const struct record_options *options, const struct operands *operands);

#endif
