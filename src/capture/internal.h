/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of capture share; nothing outside includes it.
 */
#ifndef CAPTURE_INTERNAL_H
#define CAPTURE_INTERNAL_H

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "capture/held.h"
#include "capture/mark.h"
#include "capture/scope/cgroup_find.h"
#include "capture/watch.h"
#include "proc/bounded_read.h"
#include "record/ring.h"

struct programs; /* the skeleton of bpf/ */
struct bpf_link;
struct bpf_program;

#define CAPTURE_FEATURES_MAX 64
#define CAPTURE_CUT_WAIT_NS 100000000ull
#define CAPTURE_RARE_BYTES (4u << 20)

/* A CPU's ring; its slots are mapped twice in a row, so no record is broken at the end. */
struct capture_ring {
	u8 *slots;
	struct ring_control *control;
	u64 lost[RING_KINDS]; /* as told to the sink */
	u64 lost_told;	      /* and all together */
	u64 checked_ns;	      /* when they were last compared */
	struct ring_mark mark;
};

/* The ring buffer for what is rare: the kernel's own layout. */
struct capture_rare {
	volatile unsigned long *consumer;
	volatile unsigned long *producer;
	const u8 *data; /* mapped twice in a row */
	unsigned long size;
	size_t page;
	struct ring_mark mark;
};

/* The events that a CPU ends page faults with; NULL where it is not there. */
struct capture_fault_ends {
	struct bpf_link *minor, *major;
};

/* What the hypervisor took from a CPU since boot, as it was told last. */
struct capture_steal {
	u64 steal_ns, time_ns;
};

struct capture_stacks;

struct capture {
	struct programs *programs;
	struct bpf_link *links[CAPTURE_FEATURES_MAX]; /* by feature */
	struct capture_fault_ends *fault_ends;	      /* by CPU; NULL: no faults are recorded */
	struct capture_feature features[CAPTURE_FEATURES_MAX];
	size_t feature_count;
	u64 recursion[CAPTURE_FEATURES_MAX]; /* misses as told to the sink */
	u64 recursion_ns;
	struct capture_ring *rings;
	struct ring_control *controls;
	const struct ring_losses *losses; /* by CPU */
	u32 ring_count;
	u32 ring_bits;
	bool flight;
	u64 polled_ns;	    /* when the rings were last looked at */
	u64 awake_until_ns; /* bpf/ring.h */
	bool unfinished;    /* the last drain ended at a record in the making */
	u64 flight_from_ns; /* of the last capture_flight() */
	bool files;
	bool drop_capabilities; /* as in the options */
	u64 keep_capabilities;
	u32 filters;	      /* FILTER_* */
	bool conditions_told; /* in this chunk */
	u64 told_again_ns;    /* when the programs were last made to tell anew: bpf/told.h */
	int clock_fd;	      /* fails with ECANCELED once after each step of the clock; or -1 */
	u64 steal_read_ns;
	VEC(struct capture_steal) steal; /* by CPU */
	u64 moves;			 /* scope_moves as it was when they were followed last */
	struct capture_rare rare;
	struct held_records held;      /* later than the last cut */
	struct held_records inherited; /* of the command: what it has open, until its exec */
	bool inherited_known;	       /* it was looked at */
	u64 kernel_complete_ns;	       /* of the last cut: capture_complete() */
	u64 apps_complete_ns;
	struct capture_counts counts;
	struct app_rings *apps;	       /* from capture_start() on */
	struct capture_watch *watch;   /* likewise */
	struct capture_stacks *stacks; /* NULL: none are recorded */
	struct capture_events *events; /* NULL: none were chosen */
	bool moving;		       /* what moved into scope is being looked at */
	VEC(u32) moved;		       /* its processes, by their number here; 0: they have none */
	struct map shown; /* processes that the kernel's list shows, by their number here */
	struct bounded_reader commands; /* of processes, during a snapshot */
	const char *const *cgroups;	/* as in the options */
	size_t cgroup_count;
	VEC(struct cgroup_key) named; /* what they were when it was opened */
	pid_t child;
	int go_fd;    /* writing lets the child exec */
	int child_fd; /* a pidfd of it; -1: capture_wait() does not end with it */
	int exec_fd;  /* errno of its exec, or end of file; does not block */
	int wake_fd;  /* an epoll of what the programs wake us for */
};

/* open.c */
/*
 * The slots of a CPU's ring, as a power of two: the largest rings that fit the wish, in bytes of
 * all, or (0) an eighth of the memory, and of which a map can number the slots.
 */
u32 capture_ring_bits(u32 cpus, u64 wish);

/* ring_map.c */
int capture_rings_map(struct capture *c, struct error *e);
void capture_rings_unmap(struct capture *c);

/* drain.c */
/* capture_poll() without what capture itself has to say. */
int capture_drain(struct capture *c, const struct capture_sink *sink);
int capture_deliver(struct capture *c, const struct capture_sink *sink,
		    const struct capture_stream *stream, const struct record_head *r);

/* snapshot.c: runs an iterator over all threads, or those of one process (0: all). */
int capture_iterator_run(struct capture *c, const struct capture_sink *sink,
			 struct bpf_program *program, u32 pid);
/* The same for what only marks threads. */
int capture_scope_iterate(struct capture *c, struct bpf_program *program);

/*
 * inherited.c: keeps what an iterator tells of the command that waits for its exec (it has set
 * head.seq); tells it when `r` is that exec. 0 or a negative errno.
 */
int inherited_take(struct capture *c, const struct capture_stream *stream,
		   const struct record_head *r);
int inherited_deliver(struct capture *c, const struct capture_sink *sink,
		      const struct record_head *r);

/*
 * snapshot_hidden.c: names of those that are not among c->shown, for a recording of the host;
 * and how many of the pids in scope are not, to be asked before capture_scope_settled().
 */
int capture_hidden_tell(struct capture *c, const struct capture_sink *sink);
void capture_hidden_count(struct capture *c);

/*
 * running.c: what runs on each CPU tells what it is at, with a record. Needs no privilege but that
 * of the maps.
 */
void capture_running_tell(struct capture *c);

/* programs.c: the programs that fit this kernel, to be destroyed; NULL with errno. */
struct programs *capture_programs_open(void);

/*
 * feature_table.c: probes the kernel. The second takes those away whose function the kernel
 * does not let be traced, which asks for privilege. Of the last, 0: nothing that is counted.
 */
int capture_features_probe(struct capture_feature *features, size_t max, struct error *e);
void capture_features_try_functions(struct capture_feature *features, size_t count);
u16 capture_feature_lost_kind(size_t feature);
struct btf;
bool capture_field_in_btf(const struct btf *btf, const char *type, const char *field);

/* features.c: attaches and detaches. */
int capture_features_choose(struct capture *c, const struct capture_options *options,
			    struct error *e);
int capture_features_attach(struct capture *c, struct error *e);
void capture_features_detach(struct capture *c);
/*
 * Follow CPUs that came or went: the first at once, where the kernel has told of it, the other as
 * the list of those online is found. Need CAP_PERFMON, and do without if it is not there. An error
 * is want: of memory or descriptors.
 */
void capture_features_cpus_changed(struct capture *c);
int capture_features_cpus(struct capture *c);
/* Can CPUs come later whose page faults are recorded? */
bool capture_features_await_cpus(const struct capture *c);
/* Runs that the kernel skipped since the last call, told to the sink. */
int capture_features_lost(struct capture *c, const struct capture_sink *sink);
/* What was skipped since that, around a cut, is counted next time: it is told with the count 0. */
int capture_features_lost_around(struct capture *c, const struct capture_sink *sink, u64 cut_ns);

/*
 * conditions.c: under what conditions the chunk is recorded: filter records at
 * its begin, the steal time of each CPU about every second and at its end, steps of the clock.
 */
void capture_conditions_open(struct capture *c);
int capture_conditions_tell(struct capture *c, const struct capture_sink *sink, bool cut);

/*
 * capabilities.c: of the calling thread's capabilities only those that capture
 * needs while it runs are left, and `more` (bits).
 */
int capture_capabilities_drop(u64 more);
/* Does this thread have, in its user namespace, what loads kernel programs? */
bool capture_capabilities_suffice(void);
/*
 * What bpf() needs on this kernel for maps that are open, as a bit: CAP_BPF before Linux 5.19 where
 * unprivileged_bpf_disabled is set, else 0. `map` is the map of locations.
 */
u64 capture_capabilities_bpf(int map);

/* snapshot.c */
/* Puts the threads that the user named in scope, before anything is recorded. */
int capture_snapshot_scope(struct capture *c, struct error *e);
int capture_snapshot(struct capture *c, const struct capture_sink *sink, struct error *e);
/* Looks at what came into scope with a move to another cgroup; costs nothing if nothing did. */
int capture_snapshot_moves(struct capture *c, const struct capture_sink *sink);

/* snapshot_cgroup.c: the names of all cgroups of the default hierarchy */
int capture_snapshot_cgroups(struct capture *c, const struct capture_sink *sink);

/* scope.c */
int capture_scope_set(struct capture *c, const struct capture_options *options, struct error *e);
int capture_scope_add(struct capture *c, const struct capture_options *options, struct error *e);
/* With the programs attached: what was made again since capture_scope_set(). */
int capture_scope_look_again(struct capture *c, struct error *e);
int capture_scope_seed(struct capture *c, pid_t child, struct error *e);
/* What a process executed last, as the programs saw it; false: they did not. */
bool capture_context_executed(struct capture *c, pid_t pid, struct context_executed *executed);
/* A process of the program has its location there: see context_program.h. */
void capture_context_learn(struct capture *c, const struct context_program *program,
			   const struct context_location *found);
/* After the snapshot: pids that were named mean nobody any more. */
void capture_scope_settled(struct capture *c);

/* spawn.c */
void capture_spawn_abandon(struct capture *c);

/* descriptors.c */
/* Raises the limit, as far as it may be, to what all that is to be recorded needs. */
void capture_descriptors_room(const struct capture *c);

/* message.c: what libbpf has to say goes into the causes of errors. */
void capture_messages_begin(void);
/* Adds what libbpf said to the chain and returns -|err|. */
int capture_messages_fail(struct error *e, int err, const char *what);

#endif
