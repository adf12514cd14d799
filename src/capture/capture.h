/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture loads the kernel programs, drains their rings, and hands records over.
 *
 *   struct capture *c = NULL;
 *   capture_open(&options, &c, &error)       load, nothing is recorded yet
 *   capture_spawn(c, argv, &error)           optional: start CMD, stopped
 *   capture_attach(c, &error)                optional: the programs run, and record nothing yet
 *   capture_start(c, 0, &sink, &error)       attach and record; snapshot into the sink
 *   capture_release(c, &error)               optional: let CMD exec
 *   capture_command_begun(c, &error)         likewise: whether CMD has been executed
 *   while (...) capture_poll(c, &sink)       and capture_wait()
 *   capture_cut(c, &sink, &cut_ns)           now and then
 *   capture_settle(c, &sink)                 before the last cut
 *   capture_stop(c); capture_cut(...)        detach, then take the rest
 *   capture_close(c)                         nothing is left behind
 *
 * One thread uses a `struct capture`, while the traced programs go on. Functions return 0 or a
 * negative errno, with a cause if they take an error, and print nothing. Times are the host's
 * CLOCK_MONOTONIC in nanoseconds. The caller's own threads are never recorded.
 *
 * Memory: the kernel holds rings and tables, whose size is fixed at capture_open(); see
 * capture_memory(). A thread in scope takes about 700 bytes more if another thread has its place in
 * the table, which happens to few among some thousands. Stacks take at most 12 MiB more, and 60 KB
 * for each CPU. Rings of applications with libfathom belong to the applications, and are mapped:
 * 128 KiB for each thread that uses libfathom.
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

#define CAPTURE_SYSCALLS 512 /* system call numbers in a filter */

#define CAPTURE_SCOPES_MAX 8
#define CAPTURE_DETAIL_NAME 15 /* bytes: so much of a name of a thread the kernel keeps */

/* Threads with a level of detail of their own. */
struct capture_detail_scope {
	/* The name of a program or thread, with all that it starts from then on. */
	const char *name;
	const char
		*cgroup; /* the threads in these cgroups, as in options.cgroups, while they are */
	const char *service; /* processes that give this as the name of their service, likewise */
	bool spans; /* threads under a span of which they publish the context, while they are */
	pid_t pid;  /* if none of these is set: a process, with what it started and starts */
	bool calls; /* calls are recorded, or waits alone */
};

struct capture_options {
	/* The scope. If all are empty and host is false: only what capture_spawn() starts. */
	bool host;	   /* every thread of the host */
	const pid_t *pids; /* processes, with all their threads and later children; borrowed */
	size_t pid_count;
	bool pids_alone; /* not the descendants that these have when recording begins */
	/*
	 * Cgroups by path, with their subtrees. A cgroup that is removed and made again is in scope
	 * again. Borrowed until capture_start() has returned.
	 */
	const char *const *cgroups;
	size_t cgroup_count;

	/* System calls: one byte per number, not 0 to record it. NULL: all are recorded. Borrowed.
	 */
	const u8 *syscalls;
	/* More tracepoints: "subsystem:name" or globs; "!..." excludes. Borrowed by capture_open().
	 */
	const char *const *events;
	size_t event_count;
	u64 stacks_min_ns;	/* not 0: record stacks of waits that are longer */
	u64 sample_hz;		/* not 0: so often in a second of each CPU, record what it runs */
	u64 stack_bytes;	/* of user stacks; a multiple of 64, up to 8192; 0: 512 */
	u64 buffer_bytes;	/* all rings together; 0: 8 MiB per CPU, less with many CPUs */
	bool flight;		/* rings overwrite; capture_flight() reads them */
	bool spans_only;	/* record switches, wake-ups, syscalls and faults only in spans */
	bool drop_capabilities; /* see capture_start() */
	u64 keep_capabilities;	/* that the caller itself still needs: 1 << CAP_* */
	bool no_files;		/* no fd and socket records, no file names in the snapshot */
	/*
	 * No system calls, only those in which threads leave their CPU, and no page faults at the
	 * begin: see capture_detail_set().
	 */
	bool no_calls;
	/*
	 * Scopes with another level than no_calls says; at most CAPTURE_SCOPES_MAX. If a thread
	 * matches several, the last one counts. Borrowed by capture_open().
	 */
	const struct capture_detail_scope *detail_scopes;
	size_t detail_scope_count;
	/* Calls may be given up later: softirqs are told as where no calls are recorded. */
	bool calls_may_end;
	bool no_faults; /* no page faults, at no level of detail */
	bool no_blocks; /* no block I/O */
	bool no_bytes;	/* no byte ranges of connections */
};

/* The origin of a record. The records of a stream are nearly in order of time: sort them. */
enum capture_stream_kind {
	CAPTURE_STREAM_CPU,  /* id: the CPU; frequent records */
	CAPTURE_STREAM_LIFE, /* id 0: life of threads, files, snapshots: rare and long records */
	CAPTURE_STREAM_APP,  /* id: a process; records of its libfathom */
};

struct capture_stream {
	u32 kind; /* enum capture_stream_kind */
	u32 id;
};

/*
 * The receiver of records. A callback returns 0 or a negative errno. An error ends the drain, and
 * the function that was called returns it; the record counts as delivered.
 */
struct capture_sink {
	void *arg;
	/*
	 * A record in slots of 64 bytes: `r->slots * 64` bytes may be read until the callback
	 * returns. Fields of its kind's struct that lie beyond count as zero.
	 */
	int (*record)(void *arg, const struct capture_stream *stream, const struct record_head *r);
	/* Tells of records of this stream that were dropped since the last call. May be NULL. */
	int (*lost)(void *arg, const struct capture_stream *stream, const struct record_lost *lost);
};

/*
 * Loads the kernel programs; nothing is recorded yet. `*out` is the caller's, for capture_close().
 * Errors: -EPERM without the privilege; -ENOTSUP if the kernel lacks BTF or a needed tracepoint;
 * -EINVAL, -ENOMEM, and others.
 */
int capture_open(const struct capture_options *options, struct capture **out, struct error *e);

/*
 * Returns how many cgroups a path of options.cgroups names. With several hierarchies, each can have
 * a cgroup of that path below its mount, and all of them are recorded. `text`, of `size` bytes,
 * gets these mounts, separated by ", ". It is empty if there is none, or if the path is a
 * directory.
 */
size_t capture_cgroup_mounts(const char *path, char *text, size_t size);

/*
 * Starts a command and stops it before its exec. All that it does from its exec on is in scope. It
 * keeps user, environment, directory, stdin, stdout, stderr and signal mask. Of other descriptors
 * it inherits those that do not close on exec. Once per capture. argv ends with NULL and is
 * borrowed. The caller reaps the child (capture_child()).
 */
int capture_spawn(struct capture *c, char *const argv[], struct error *e);

/* Adds to an error of too few file descriptors how many are needed; capture_open() does so, too. */
void capture_descriptors_hint(const struct capture *c, int err, struct error *e);

/*
 * Attaches everything and puts the threads that the user named in scope. The programs follow which
 * call each thread is in, but write no record yet. This takes a while, which a recording that
 * begins afterwards does not miss at its begin.
 */
int capture_attach(struct capture *c, struct error *e);

/*
 * After capture_attach(): from now on, which is begin_ns, the programs write records into the
 * rings. capture_start() does so if this was not called. Called before it, this leaves time to
 * prepare the receiver of the records.
 */
void capture_turn_on(struct capture *c, u64 begin_ns);

/*
 * Calls capture_attach() if that was not done, begins to record, and hands over the snapshot: each
 * process, thread, open file and socket in scope, with the time at which it was looked at. No
 * thread is missed in between. `begin_ns` is when the recording begins, a moment ago; 0: now. A
 * system call that was open before is recorded as begun then (SYSCALL_BEGIN_SOFT).
 *
 * With options.drop_capabilities, the calling thread and threads that it makes later keep, of the
 * capabilities they had, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE and
 * options.keep_capabilities. They also keep CAP_PERFMON if page faults are recorded and the host
 * has more than one CPU, since a CPU may go and come back. A command that was spawned keeps all.
 *
 * With CAP_SYS_NICE the calling thread, which is the one that drains, runs at nice -10 from then
 * on, unless it has another niceness than 0. Threads that it makes later do not.
 */
int capture_start(struct capture *c, u64 begin_ns, const struct capture_sink *sink,
		  struct error *e);

/*
 * Lets the command of capture_spawn() exec, without waiting for it. Before that, the processes that
 * exist are looked at for a tenth of a second at most. So spans of servers are recorded from the
 * first request of the command on.
 */
int capture_release(struct capture *c, struct error *e);

/*
 * Whether the command has been executed. 1: it has, or it was killed before; 0: the exec is still
 * under way, which can take as long as a file system wants. -ENOENT and the like if it cannot be
 * executed; this is returned once, and the child is reaped then. Never waits long.
 */
int capture_command_begun(struct capture *c, struct error *e);

/* Whether CAP_BPF is kept when the others are dropped. Kernels before 5.19 may need it. */
bool capture_keeps_bpf(const struct capture *c);

/* The process id of the command, 0 if there is none. */
pid_t capture_child(const struct capture *c);

/*
 * How many threads of the command and of its descendants live, since its exec. One that the kernel
 * had no memory to follow, which is counted as a loss, is not among them.
 */
u64 capture_descendants(const struct capture *c);

/*
 * Waits until the next capture_poll() is due, for at_most_ns at most. That is after a tenth of a
 * second, or earlier if rings fill, or if something has just happened that must be looked at soon.
 * The end of the command and a signal end the wait, too.
 */
void capture_wait(struct capture *c, u64 at_most_ns);

/* Makes capture_wait() end when the descriptor becomes readable. 0 or a negative errno. */
int capture_wait_for(struct capture *c, int fd);

/* Hands over all records that were published, ring by ring. Never waits. */
int capture_poll(struct capture *c, const struct capture_sink *sink);

/*
 * Cuts all streams at one instant, *cut_ns. When it returns, the sink has every record with time <=
 * *cut_ns and none with a later time. Later ones are kept for the next capture_poll().
 *
 * Waits at most 100 ms for producers that are in the middle of a record, and not for an application
 * that has been there for a second. The record of such a producer, and records behind it in its
 * ring, come late: in a later drain, with their true time <= *cut_ns. Returns 1 if it waited for a
 * producer in vain, 0 if not, or a negative errno.
 */
int capture_cut(struct capture *c, const struct capture_sink *sink, u64 *cut_ns);

/*
 * The time before which no late record of the last cut can be; *cut_ns if nothing is late. For the
 * kernel's records, and with `applications` for those of applications, too. A thread that has been
 * in the middle of a record for more than a second does not count, since it may be stopped for
 * days.
 */
u64 capture_complete(const struct capture *c, bool applications);

/*
 * With options.flight: cuts like capture_cut(), and hands over copies of all records in the rings,
 * which stay there. Records that are overwritten meanwhile are left out.
 */
int capture_flight(struct capture *c, const struct capture_sink *sink, u64 *cut_ns);

/* The time since which the last capture_flight() has no gap; 0: since capture_start(). */
u64 capture_flight_from(const struct capture *c);

/* Hands over a new snapshot, like that of capture_start(), with all in scope as it is now. */
int capture_look(struct capture *c, const struct capture_sink *sink, struct error *e);

/*
 * For use before the last cut: polls like capture_poll(), and waits at most a tenth of a second for
 * rings of applications that are just being opened. So a command that ended a moment ago is heard.
 */
int capture_settle(struct capture *c, const struct capture_sink *sink);

/*
 * From now on programs record nothing, until capture_resume(). Only at CAPTURE_DETAIL_WAITS, and
 * not with options.flight. All that capture hands over in the pause is of no use, and must go to
 * capture_nowhere(): it follows the life of threads and processes as before. The programs stay
 * attached, and cost a part of what they cost else.
 */
void capture_pause(struct capture *c);

/*
 * Ends the pause at *begin_ns, as capture_turn_on() begins a recording. capture_look() must follow,
 * since nothing is known of the time in between. 0 or a negative errno; then the pause goes on.
 */
int capture_resume(struct capture *c, u64 *begin_ns, struct error *e);

/* A sink that drops everything. */
struct capture_sink capture_nowhere(void);

/* Detaches the programs. From now on nothing is recorded; the rings can still be drained. */
void capture_stop(struct capture *c);

/* Detaches, unloads, frees. A child that was not released is killed and reaped. NULL is allowed. */
void capture_close(struct capture *c);

/*
 * Tells the programs where a process (by its number in the initial pid namespace) keeps the context
 * of its threads. From then on its records carry the active span. NULL, or a location with known =
 * 0, makes the programs forget it. Fits the callbacks of context/tracker.h. May be called by
 * another thread than the one that drains, by one at a time.
 */
int capture_context_set(struct capture *c, pid_t pid, const struct context_location *location);

struct capture_counts {
	u64 records;	      /* handed over */
	u64 lost_buffer;      /* records that found their ring full */
	u64 lost_recursion;   /* runs of programs that the kernel skipped */
	u64 lost_application; /* records that an application's ring had no room for, or damaged */
	u64 rings_missed;  /* rings of applications that ended first, or that another capture has */
	u64 hidden_pids;   /* processes in scope of which no thread can be seen */
	u64 hidden_pid;	   /* one of them */
	u64 not_followed;  /* events of processes whose context could not be looked up or told */
	u64 lights_unread; /* programs whose goroutines cannot be told: elf/go.h */
	u64 incomplete;	   /* fields that could not be read or were cut, and not_followed */
	bool no_kernel_stacks; /* /proc/kallsyms shows no addresses: each is incomplete */
};

/* Returns the counts since capture_start(). */
void capture_counts(const struct capture *c, struct capture_counts *out);

/* Memory in the kernel, from capture_open() on. */
struct capture_memory {
	u64 ring_bytes;	 /* the rings, by options.buffer_bytes */
	u64 table_bytes; /* all other maps; does not grow with threads */
};

void capture_memory(const struct capture *c, struct capture_memory *out);

#define CAPTURE_COSTS_MAX 96

/* What a kernel program took of the time in which the programs were measured. */
struct capture_cost {
	const char *name; /* of the program; lives as long as the capture */
	u16 made;	  /* the kind of records that it writes or prepares; 0: none */
	bool writes;	  /* it writes them */
	u64 runs;
	u64 run_ns; /* without what the measurement takes */
};

struct capture_costs {
	struct capture_cost list[CAPTURE_COSTS_MAX];
	size_t count;
	u64 measured_ns; /* how long they were measured */
	int err;	 /* 0, or a negative errno: why programs are not measured (-EPERM) */
};

/*
 * Returns what was measured so far, in short windows: one at the begin of the recording, and one at
 * a random time within a second after each call of this. The cost of the programs between two calls
 * is the growth of run_ns, times the time between them over the growth of measured_ns.
 */
void capture_costs_read(struct capture *c, struct capture_costs *out);

/*
 * Whether the calling thread may have programs measured: 0, or a negative errno (-EPERM). 0 also if
 * it may load none, of which capture_open() tells.
 */
int capture_costs_allowed(void);

/* A feature that the kernel may offer, for `fathom doctor`. */
struct capture_feature {
	const char *name;	/* "sched_switch" */
	const char *what;	/* what it is for, and so what is missing without it */
	const char *instead_of; /* the newer feature that it stands in for, or NULL */
	bool needed;		/* nothing can be recorded without it */
	bool tells;		/* without it records are missing or wrong */
	bool spare;		/* not used, since the kernel has the newer one */
	bool available;		/* the kernel has it */
	bool on;		/* it is attached in this capture */
};

/* Returns the features, `*count` of them, which the capture owns. */
const struct capture_feature *capture_features(const struct capture *c, size_t *count);

/* Returns FILTER_* for what is left out now. */
u32 capture_filters(const struct capture *c);

/* Returns FILTER_* for what was left out at that time, as far back as 64 changes of the level. */
u32 capture_filters_at(const struct capture *c, u64 time_ns);

/* The levels of detail, in the order of what they cost. */
enum capture_detail {
	CAPTURE_DETAIL_WAITS,  /* no calls and no page faults */
	CAPTURE_DETAIL_SCOPES, /* as options.detail_scopes, or the scope that was asked for, say */
	CAPTURE_DETAIL_CALLS,
};

/* The level of detail now. */
enum capture_detail capture_detail(const struct capture *c);

/*
 * Changes the level of detail of a capture that has been started; at any time, also without the
 * capabilities that capture_start() drops. Raising attaches the programs of calls and page faults,
 * then sets the flag that all programs read. Lowering clears the flag, then detaches these
 * programs. With CAPTURE_DETAIL_SCOPES the programs are attached, and follow the calls of some
 * threads. All else stays as it is. The next capture_poll() or capture_cut()
 * tells filter records of both instants. Each record of a thread says if its calls before it were
 * recorded (LEAVE_BEFORE_UNKNOWN and the like). Of a call that is open at a raise, no begin is
 * recorded; of one that is open when the level is lowered, no end.
 *
 * Takes some milliseconds. 0, also if it is the level already, or a negative errno; then the level
 * is as before.
 */
int capture_detail_set(struct capture *c, enum capture_detail detail, struct error *e);

/*
 * Stops to record byte ranges of connections, by detaching their programs, or begins again;
 * `in_turns`: it will again before long. Does nothing with options.no_bytes. A message that a
 * thread sends or receives at that time may be absent, or its range unsure. The rest is as for
 * capture_detail_set().
 */
int capture_bytes_set(struct capture *c, bool bytes, bool in_turns, struct error *e);

/*
 * Sets the scope that goes before all others at CAPTURE_DETAIL_SCOPES, from now on; NULL: there is
 * none. `alone`: other threads are at `waits`, whatever the options say. Sets no level. 0 or a
 * negative errno; then there is no such scope.
 */
int capture_detail_ask(struct capture *c, const struct capture_detail_scope *scope, bool alone,
		       struct error *e);

/*
 * Asks the kernel for its features without loading anything. Fills at most `max` and returns how
 * many there are, or a negative errno, -ENOTSUP without BTF.
 */
int capture_probe(struct capture_feature *features, size_t max, struct error *e);

#endif
