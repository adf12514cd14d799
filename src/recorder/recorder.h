/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording under way: capture drains into chunks, chunks are cut and sealed.
 * One thread; only the sealing happens on another.
 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <sys/types.h>

#include "base/error.h"
#include "base/range.h"
#include "chunk/chunk.h"
#include "record/record.h"
#include "recorder/chunks.h"

struct recorder;

struct recorder_options {
	const char *dir;
	bool settle; /* dir is of default_dir_begin(): it takes its place when it has begun */
	bool host;
	const pid_t *pids; /* borrowed, as everything here */
	size_t pid_count;
	const char *const *cgroups;
	size_t cgroup_count;
	const u8 *syscalls;	   /* NULL: all */
	const char *const *events; /* subsystem:name, or globs */
	size_t event_count;
	bool spans_only;
	u64 stacks_min_ns;	    /* 0: no stacks */
	bool flight;		    /* write only what `fathom snapshot` asks for */
	u64 buffer_bytes;	    /* 0: default */
	struct limits rotate, keep; /* 0: none */
	bool compress;
	const char *on_chunk;	   /* NULL: none */
	char *const *command;	   /* NULL: none */
	bool (*interrupted)(void); /* asked before the command is let go: it is not, -EINTR */
};

/*
 * Locks the directory, recovers what a crash left there, loads the programs,
 * and starts to record; with a command, lets it exec then, and does not wait for that. Free with
 * recorder_close() in any case. What fails leaves no chunk.
 */
int recorder_open(struct recorder **out, const struct recorder_options *options, struct error *e);

/*
 * Drains once and does what is due: rotation, retention, requests. Never waits long. Fails if the
 * command turns out not to be executable: see recorder_command_failed().
 */
int recorder_step(struct recorder *r, struct error *e);

/*
 * Waits until the next step is due, at most so long, and never for more than a tenth of a second. A
 * signal that comes meanwhile ends it, and the command's end.
 */
void recorder_wait(struct recorder *r, u64 at_most_ns);

/* Tracepoints that it has to do without, "a,b"; "": none. See cli/missing.h. */
const char *recorder_missing(const struct recorder *r);

/* Where it records: options.dir, or what that was settled to. */
const char *recorder_dir(const struct recorder *r);

/* The command's pid, 0: there is none, or its exec is still under way. */
pid_t recorder_child(const struct recorder *r);

/* -ENOENT, -EACCES and the like if the command could not be executed; else 0. */
int recorder_command_failed(const struct recorder *r);

/*
 * Whether the recording stays: its command runs, or a chunk of it was sealed before that.
 * options.dir is settled then.
 */
bool recorder_begun(const struct recorder *r);

/*
 * Detaches, drains, cuts and seals the last chunk: also after recorder_step() failed,
 * as far as it goes. Returns the first error, that of an earlier chunk's seal, too. A recording
 * that has not begun, since its command could not be executed, leaves no chunk.
 */
int recorder_finish(struct recorder *r, struct error *e);

struct recorder_counts {
	struct chunking_counts sealed;
	u64 lost_buffer, lost_recursion, lost_application; /* all that is known */
	u64 not_followed;	     /* news of processes whose contexts could not be looked up */
	u64 hidden_pids, hidden_pid; /* named, but not to be seen: how many, and one of them */
	bool no_kernel_stacks;	     /* though some are asked for */
	u64 rings_missed;	     /* programs whose spans could not be taken */
	u64 begin_ns, end_ns;
};

/* What was recorded; complete after recorder_finish(). */
void recorder_counts(struct recorder *r, struct recorder_counts *out);

/* Frees everything; leaves nothing in the kernel. NULL is fine. */
void recorder_close(struct recorder *r);

#endif
