/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture: loads the kernel programs, drains their rings, hands over records.
 *
 *   struct capture *c = NULL;
 *   capture_open(&options, &c, &error)       load, nothing is recorded yet
 *   capture_spawn(c, argv, &error)           optional: start CMD, stopped
 *   capture_attach(c, &error)                optional: the programs run, nothing is recorded yet
 *   capture_start(c, 0, &sink, &error)       attach and record; snapshot into the sink
 *   capture_release(c, &error)               optional: let CMD exec
 *   capture_command_begun(c, &error)         likewise: has it?
 *   while (...) capture_poll(c, &sink)       and capture_wait()
 *   capture_cut(c, &sink, &cut_ns)           now and then
 *   capture_settle(c, &sink)                 before the last cut
 *   capture_stop(c); capture_cut(...)        detach, then take what is left
 *   capture_close(c)                         nothing is left behind
 *
 * One thread uses a `struct capture`; the traced programs go on meanwhile.
 * Functions return 0 or a negative errno, with a cause where they take an
 * error, and print nothing. Times are CLOCK_MONOTONIC in nanoseconds. None of
 * the caller's own threads is ever recorded.
 *
 * Memory: rings and tables in the kernel, fixed at capture_open(): capture_memory(). A thread
 * in scope whose place in a table is taken, as few are among some thousands, has about 700 bytes
 * besides. With stacks, 8 MiB more at most: the kernel's functions and what was told. Rings of
 * applications with libfathom are theirs and mapped: 128 KiB for each thread that uses it.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "bpf/context_location.h"
#include "record/record.h"

struct capture;

#define CAPTURE_SYSCALLS 512 /* numbers that a filter knows */

struct capture_options {
	/* Scope. All empty and host false: only what capture_spawn() starts. */
	bool host;	   /* every thread of the host */
	const pid_t *pids; /* processes, with all their threads and later children; borrowed */
	size_t pid_count;
	/* Cgroups by path, subtrees included, also those that are removed and made again later;
	   borrowed until capture_start() has returned. */
	const char *const *cgroups;
	size_t cgroup_count;

	/* NULL: all; else one byte per number, not 0: record it. Borrowed. */
	const u8 *syscalls;
	/* Tracepoints to record, too: "subsystem:name" or globs; borrowed until it is open. */
	const char *const *events;
	size_t event_count;
	u64 stacks_min_ns;	/* not 0: stacks of waits that are longer */
	u64 buffer_bytes;	/* of all rings together; 0: 8 MiB a CPU, less with many CPUs */
	bool flight;		/* rings overwrite; read them with capture_flight() */
	bool spans_only;	/* switches, wake-ups, syscalls and faults only under a span */
	bool drop_capabilities; /* see capture_start() */
	u64 keep_capabilities;	/* those that the caller itself still needs, 1 << CAP_* */
	bool no_files;		/* no fd and socket records, no file names in the snapshot */
	bool no_faults;		/* no page faults */
	bool no_blocks;		/* no block I/O */
	bool no_bytes;		/* no byte ranges of connections */
};

/* Where a record comes from. Each stream is nearly in the order of time: sort it. */
enum capture_stream_kind {
	CAPTURE_STREAM_CPU,  /* id: the CPU; what happens often */
	CAPTURE_STREAM_LIFE, /* id 0: life of threads, fds, snapshot: what is rare and long */
	CAPTURE_STREAM_APP,  /* id: a process; what its libfathom wrote */
};

struct capture_stream {
	u32 kind; /* enum capture_stream_kind */
	u32 id;
};

/*
 * Who takes the records. A callback returns 0, or a negative errno that ends
 * the drain and is returned by the function that called it; the record counts
 * as delivered.
 */
struct capture_sink {
	void *arg;
	/*
	 * A record in slot layout: `r->slots * 64` bytes may be read, whole slots, until the
	 * callback returns, and no more: what the struct of its kind has beyond counts as zero.
	 */
	int (*record)(void *arg, const struct capture_stream *stream, const struct record_head *r);
	/* Records of this stream that were dropped since the last call; may be NULL. */
	int (*lost)(void *arg, const struct capture_stream *stream, const struct record_lost *lost);
};

/*
 * Loads the programs. `*out` is the caller's, to be freed with
 * capture_close(). Errors: -EPERM without the privilege, -ENOTSUP where the
 * kernel lacks BTF or what cannot be done without, -EINVAL, -ENOMEM.
 */
int capture_open(const struct capture_options *options, struct capture **out, struct error *e);

/*
 * How many cgroups a path as in options.cgroups names. Below their mounts hierarchies can have one
 * of the same path each: all are recorded. `text`, of `size` bytes, gets those mounts, divided by
 * ", "; it is empty if there is none, or the path is that of a directory.
 */
size_t capture_cgroup_mounts(const char *path, char *text, size_t size);

/*
 * Starts a command, stopped before its exec; everything it does from its exec
 * on is in scope. It keeps user, environment, directory, stdin, stdout, stderr
 * and signal mask, and inherits no other fd. Once per capture. argv ends with
 * NULL and is borrowed. The caller reaps the child
 * (capture_child()).
 */
int capture_spawn(struct capture *c, char *const argv[], struct error *e);

/* Says behind an error of too few file descriptors how many there have to be; as open() does. */
void capture_descriptors_hint(const struct capture *c, int err, struct error *e);

/*
 * Attaches everything and puts the threads that the user named in scope: the
 * programs follow which call each thread is in, but write no record yet. This
 * takes a while; a recording that begins after it has no such hole at its begin.
 */
int capture_attach(struct capture *c, struct error *e);

/*
 * Behind capture_attach(): records from now, which is begin_ns, into the rings. capture_start()
 * does it, too; between the two there is time to prepare what takes the records.
 */
void capture_turn_on(struct capture *c, u64 begin_ns);

/*
 * Does capture_attach() if that was not done, begins to record, and writes the
 * snapshot: each process, thread, open file and socket in scope. No thread is missed
 * between the two. The snapshot's records have the time at which each was looked at.
 * `begin_ns` is when the recording begins, a moment ago; 0: now. A call that was
 * open before anything was attached is recorded as begun then (SYSCALL_BEGIN_SOFT).
 *
 * With options.drop_capabilities the calling thread and those that it makes later have
 * CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE from then on, of what
 * they had, and options.keep_capabilities; CAP_PERFMON, too, where page faults are recorded and
 * there is more than one CPU that may go and come back. The command that was spawned keeps
 * everything.
 *
 * With CAP_SYS_NICE the calling thread, which is to drain, runs at nice -10 from then on,
 * unless it has a niceness of its own; those that it makes later do not.
 */
int capture_start(struct capture *c, u64 begin_ns, const struct capture_sink *sink,
		  struct error *e);

/*
 * Lets the command of capture_spawn() exec, and does not wait for that. Before, the processes that
 * are there are looked at, for a tenth of a second at most: spans of servers that the command asks
 * are recorded from its first request on.
 */
int capture_release(struct capture *c, struct error *e);

/*
 * Whether the command has been executed: 1, or it was killed before; 0: that is still under way,
 * for as long as its file system wants. -ENOENT and the like if it cannot be, told once: then it
 * is gone and reaped. Never waits long.
 */
int capture_command_begun(struct capture *c, struct error *e);

/* Does it keep CAP_BPF when it drops the others? Kernels before 5.19 may ask for it. */
bool capture_keeps_bpf(const struct capture *c);

/* Process id of the command, 0 if there is none. */
pid_t capture_child(const struct capture *c);

/*
 * Waits until the next capture_poll() is due, but at most so long: a tenth of a second, or less if
 * rings fill, or what has just happened may be gone by then. The end of the command ends it, too,
 * and a signal.
 */
void capture_wait(struct capture *c, u64 at_most_ns);

/*
 * From now on capture_wait() also ends when there is news of this descriptor: 0 or a negative
 * errno.
 */
int capture_wait_for(struct capture *c, int fd);

/* Hands over all that was published, in batches of a ring; never waits. */
int capture_poll(struct capture *c, const struct capture_sink *sink);

/*
 * Cuts all streams at one instant, which `*cut_ns` gets: when it returns, the
 * sink has every record with time <= *cut_ns and none with a later time; later
 * ones are kept for the next capture_poll(). Waits for producers in the middle
 * of a record, 100 ms at most, and not for an application that has been there for a second: what
 * they (and, in their ring, those behind them) publish after that is late: it comes with its true
 * time, <= *cut_ns, in a later drain. Returns 1 if it waited for one in vain, 0 if not, or a
 * negative errno.
 */
int capture_cut(struct capture *c, const struct capture_sink *sink, u64 *cut_ns);

/*
 * What comes late of the last cut is not older than this; its *cut_ns if nothing is late. The
 * kernel's records, and with `applications` those of applications too, but not of a thread that
 * has been in the middle of a record for more than a second: it may be stopped for days.
 */
u64 capture_complete(const struct capture *c, bool applications);

/*
 * With options.flight: hands over a copy of what the rings hold, which stays
 * there, and cuts as capture_cut() does. Records that were overwritten
 * meanwhile are left out.
 */
int capture_flight(struct capture *c, const struct capture_sink *sink, u64 *cut_ns);

/* Since when what the last capture_flight() handed over has no hole; 0: since capture_start(). */
u64 capture_flight_from(const struct capture *c);

/*
 * Takes the snapshot of capture_start() again: every process, thread, open
 * file and socket in scope as it is now, with the time at which it was looked at.
 */
int capture_look(struct capture *c, const struct capture_sink *sink, struct error *e);

/*
 * Before the last cut: hands over as capture_poll() does, and waits a tenth of a second at
 * most for rings of applications that are being reached, so that a command that ended a moment ago
 * is heard.
 */
int capture_settle(struct capture *c, const struct capture_sink *sink);

/* Detaches the programs: nothing is recorded from now on; rings can be drained. */
void capture_stop(struct capture *c);

/* Detaches, unloads, frees. A child that was not released is killed and reaped. NULL is allowed. */
void capture_close(struct capture *c);

/*
 * Tells the programs where a process (of the initial pid namespace) keeps the
 * context of its threads: its next record carries the active span. NULL, or
 * one with known = 0, forgets it. Fits the callbacks of context_tracker.h. May be called by
 * another thread than the one that drains, by one at a time.
 */
int capture_context_set(struct capture *c, pid_t pid, const struct context_location *location);

struct capture_counts {
	u64 records;	      /* handed over */
	u64 lost_buffer;      /* found their ring full */
	u64 lost_recursion;   /* programs that the kernel did not run */
	u64 lost_application; /* did not fit into an application's ring, or were not believed */
	u64 rings_missed;     /* of applications that ended before theirs was found, or that another
				 capture has */
	u64 hidden_pids;      /* of the scope, of which no thread can be seen */
	u64 hidden_pid;	      /* one of them */
	u64 not_followed;     /* news of processes whose contexts could not be looked up or told */
	u64 incomplete;	      /* fields that could not be read or were cut, and not_followed */
	bool no_kernel_stacks; /* each is incomplete: /proc/kallsyms shows us no addresses */
};

/* What was counted since capture_start(). */
void capture_counts(const struct capture *c, struct capture_counts *out);

/* What the programs have in the kernel, from capture_open() on. */
struct capture_memory {
	u64 ring_bytes;	 /* options.buffer_bytes are to have this */
	u64 table_bytes; /* all else, however many threads there are */
};

void capture_memory(const struct capture *c, struct capture_memory *out);

/* One thing that the kernel offers or not, for `fathom doctor`. */
struct capture_feature {
	const char *name;	/* "sched_switch" */
	const char *what;	/* what it is for, and so what is missing without it */
	const char *instead_of; /* what older kernels lack, "sk_data_ready"; NULL: nothing */
	bool needed;		/* nothing can be recorded without it */
	bool tells;		/* without it records are missing, or say what is not so */
	bool spare;		/* the kernel has what it would stand in for: it is not used */
	bool available;		/* the kernel has it */
	bool on;		/* it is attached in this capture */
};

/* The features, `*count` of them; owned by the capture. */
const struct capture_feature *capture_features(const struct capture *c, size_t *count);

/* FILTER_*: what its options leave out. */
u32 capture_filters(const struct capture *c);

/*
 * Asks the kernel for the features without loading anything: fills at most
 * `max` and returns how many there are, or a negative errno (no BTF).
 */
int capture_probe(struct capture_feature *features, size_t max, struct error *e);

#endif
