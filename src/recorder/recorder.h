/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running recording: capture drains records into chunks; chunks are cut and sealed.
 * One thread calls these functions. Sealing, deleting and --on-chunk happen on threads of
 * their own.
 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <sys/types.h>

#include "base/error.h"
#include "base/range.h"
#include "chunk/chunk.h"
#include "record/record.h"
#include "recorder/chunks.h"
#include "recorder/costs.h"

struct recorder;

struct recorder_options {
	const char *dir;
	const int *dir_fd; /* the directory, which is open; then `dir` is only told. NULL: none */
	/*
	 * Seals chunks that a crash left, with the lock of `hold` held, in place of
	 * recover_report(): for who does not trust them. NULL: none.
	 */
	int (*recover)(void *arg, const char *dir, const struct recording_hold *hold,
		       struct error *e);
	void *recover_arg;
	/* Who deletes old chunks, as in retainer_options; `recover` may set it. NULL or 0: none. */
	const int *retention_helper;
	/* Its pid: the recording costs its CPU time, too. `recover` may set it. NULL or 0: none. */
	const pid_t *retention_pid;
	bool settle; /* dir comes from default_dir_begin(): rename it when the recording begins */
	bool host;
	const char *host_name; /* what chunks call this host; NULL: its name */
	const pid_t *pids;     /* borrowed, as are all pointers here */
	size_t pid_count;
	bool pids_alone; /* without the descendants that they have at the begin */
	const char *const *cgroups;
	size_t cgroup_count;
	const u8 *syscalls;	   /* NULL: all */
	const char *const *events; /* subsystem:name, or globs */
	size_t event_count;
	bool spans_only;
	bool no_calls; /* no system calls and no page faults: the waits alone (--detail waits) */
	bool no_bytes; /* no byte ranges of connections */
	/* Scopes with another level than no_calls says; the last one that matches counts. */
	const struct capture_detail_scope *detail_scopes;
	size_t detail_scope_count;
	/* With no_calls: calls for so long, once in each such time, at random; 0: never. */
	u64 calls_ns, calls_every_ns;
	u32 budget_ppm;		    /* of the CPUs' time, in millionths; 0: no budget */
	bool budget_hard;	    /* holds it by pauses, too; not with `flight` */
	u64 budget_pause_ns;	    /* with budget_hard: the first pause; 0: as usual */
	bool budget_turns;	    /* it leaves byte ranges in turns at least */
	u64 stacks_min_ns;	    /* 0: no stacks of waits */
	u64 sample_hz;		    /* 0: no samples */
	u64 stack_bytes;	    /* of user stacks; 0: default */
	bool flight;		    /* write only what `fathom snapshot` asks for */
	u64 buffer_bytes;	    /* 0: default */
	struct limits rotate, keep; /* 0: none */
	bool compress;
	const char *on_chunk;	   /* NULL: none */
	char *const *command;	   /* NULL: none */
	bool (*interrupted)(void); /* called before the command starts; true: fail with -EINTR */
};

/*
 * Locks the directory, recovers chunks that a crash left there, loads the kernel programs,
 * and starts to record. Then lets the command, if there is one, exec, and does not wait for
 * that. 0 or a negative errno. A failure leaves no chunk. Free it with recorder_close() in any
 * case.
 */
int recorder_open(struct recorder **out, const struct recorder_options *options, struct error *e);

/*
 * Drains the rings once and does what is due: rotation, retention, requests. Never waits long. 0 or
 * a negative errno. Fails if the command could not be executed: see recorder_command_failed().
 */
int recorder_step(struct recorder *r, struct error *e);

/*
 * Waits until the next step is due, at most at_most_ns and at most a tenth of a second. A signal or
 * the end of the command ends the wait.
 */
void recorder_wait(struct recorder *r, u64 at_most_ns);

/* Whether `fathom stop` has asked for the end of the recording. */
bool recorder_is_asked_to_end(const struct recorder *r);

/* The tracepoints that the kernel lacks, "a,b"; "": none. See recorder/lacks.h. */
const char *recorder_missing(const struct recorder *r);

/* The directory of the recording: options.dir, or its name after it was renamed. */
const char *recorder_dir(const struct recorder *r);

/* The pid of the command; 0: there is none, or its exec has not finished. */
pid_t recorder_child(const struct recorder *r);

/* Whether the command, which has begun, or a descendant of it still runs. */
bool recorder_descendants_run(const struct recorder *r);

/* -ENOENT, -EACCES and the like if the command could not be executed; else 0. */
int recorder_command_failed(const struct recorder *r);

/*
 * Whether the recording is kept: its command runs, or a chunk was sealed before that. Its directory
 * has its final name then.
 */
bool recorder_begun(const struct recorder *r);

/*
 * Ends the recording: detaches, drains, cuts and seals the last chunk. Call it also after
 * recorder_step() failed; it then does as much as possible. Returns the first error, including one
 * of sealing an earlier chunk. If the command could not be executed, no chunk is left.
 */
int recorder_finish(struct recorder *r, struct error *e);

struct recorder_counts {
	struct chunking_counts sealed;
	u64 written_bytes; /* to all chunks so far, before they are compressed */
	u64 lost_buffer, lost_recursion, lost_application; /* so far */
	u64 not_followed;  /* changes of processes whose contexts were not looked up */
	u64 lights_unread; /* programs whose goroutines cannot be told */
	u64 hidden_pids,
		hidden_pid;    /* of --pid without a thread in the kernel's list: number, one */
	bool no_kernel_stacks; /* although stacks are asked for */
	u64 rings_missed;      /* programs whose span rings could not be read */
	bool lowered;	       /* to hold the budget, less is recorded now than was asked for */
	bool in_turns;	       /* with it: byte ranges for a second in each half minute */
	u64 begin_ns, end_ns;
};

/* Fills the counts of the recording; they are final after recorder_finish(). */
void recorder_counts(struct recorder *r, struct recorder_counts *out);

/*
 * Records the calls of a process, and of what it starts, for a time, as `fathom detail` does.
 * -EBUSY: somebody asked for a level, or the budget has lowered it; or another negative errno.
 */
int recorder_raise(struct recorder *r, pid_t pid, u64 for_ns, struct error *e);

/* Ends that before its time. */
void recorder_raise_end(struct recorder *r);

/* What the recording has cost; final after recorder_finish(). */
void recorder_costs(const struct recorder *r, struct costs_sum *out);

/* Frees everything and leaves nothing in the kernel. NULL is allowed. */
void recorder_close(struct recorder *r);

#endif
