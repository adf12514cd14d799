/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a capture. The rooms of src/capture share it: app/, context/, kernel/, scope/ and
 * stack/ work on parts of it, the files beside it put them together. Nothing outside includes it.
 */
#ifndef CAPTURE_STATE_H
#define CAPTURE_STATE_H

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/cgroup_key.h"
#include "capture/capture.h"
#include "capture/held.h"
#include "capture/mark.h"
#include "proc/bounded_read.h"
#include "record/ring.h"

struct programs; /* the skeleton of bpf/ */
struct bpf_link;

#define CAPTURE_FEATURES_MAX 64
#define CAPTURE_CUT_WAIT_NS 100000000ull
#define CAPTURE_RARE_BYTES (4u << 20)

/* The ring of a CPU. Its slots are mapped twice in a row, so no record is split at the end. */
struct capture_ring {
	u8 *slots;
	struct ring_control *control;
	u64 lost[RING_KINDS]; /* as told to the sink */
	u64 lost_told;	      /* the sum of them */
	u64 checked_ns;	      /* when the kernel's counts were last compared with them */
	struct ring_mark mark;
};

/* The ring buffer of rare records, in the kernel's own layout. */
struct capture_rare {
	volatile unsigned long *consumer;
	volatile unsigned long *producer;
	const u8 *data; /* mapped twice in a row */
	unsigned long size;
	size_t page;
	struct ring_mark mark;
};

/* The level of detail from then on. */
struct capture_level {
	u64 time_ns;
	u32 filters; /* FILTER_* */
	bool told;
};

/* The perf events of a CPU at which page faults end; NULL where an event does not exist. */
struct capture_fault_ends {
	struct bpf_link *minor, *major;
};

/* The last reading of a CPU's steal time: time that the hypervisor took from it since boot. */
struct capture_steal {
	u64 steal_ns, time_ns;
};

/* A cgroup of a scope of detail, which has that place. */
struct capture_detail_cgroup {
	struct cgroup_key key;
	u32 at;
};

struct capture {
	struct programs *programs;
	struct bpf_link *links[CAPTURE_FEATURES_MAX]; /* by feature */
	int program_fds[CAPTURE_FEATURES_MAX];	      /* likewise; of programs that are attached */
	struct capture_fault_ends *fault_ends;	      /* by CPU; NULL: no faults are recorded */
	struct capture_feature features[CAPTURE_FEATURES_MAX];
	size_t feature_count;
	u64 recursion[CAPTURE_FEATURES_MAX]; /* skipped runs, as told to the sink */
	u64 recursion_ns;		     /* when they were last read */
	struct capture_ring *rings;	     /* by CPU */
	struct ring_control *controls;
	const struct ring_losses *losses; /* by CPU */
	u32 ring_count;
	u32 ring_bits;
	bool flight;
	u64 polled_ns;	    /* when the rings were last looked at */
	u64 awake_until_ns; /* bpf/ring.h */
	bool unfinished;    /* the last drain ended at a record that was being written */
	u64 flight_from_ns; /* of the last capture_flight() */
	bool files;
	bool drop_capabilities; /* as in the options */
	u64 keep_capabilities;
	u32 filters;	    /* FILTER_* now */
	u32 filters_before; /* and before the first of `levels` */
	bool bytes;	    /* byte ranges are recorded, unless FILTER_BYTES */
	u32 scopes;	    /* calls_scoped of the programs at CAPTURE_DETAIL_SCOPES */
	u8 asked;	    /* number of the last scope that was asked for */
	bool ask_alone;	    /* of it: others are at `waits` */
	u32 detail_hierarchies[CAPTURE_SCOPES_MAX + 1];	  /* by place: of its cgroups, bits */
	VEC(struct capture_detail_cgroup) detail_cgroups; /* not told to the programs yet */
	u64 detail_moves; /* of the programs when they were last handled */
	char *detail_services[CAPTURE_SCOPES_MAX + 1]; /* by place: the service's name, or NULL */
	struct map services;   /* by pid: the name that the process gives its service, owned */
	VEC(u32) services_new; /* processes of services of scopes, not told to the programs yet */
	u64 services_told_ns;  /* when such were last told */
	bool faults;	       /* page faults are recorded where calls are */
	bool files_untold;     /* calls are recorded again: open files are to be looked at */
	VEC(struct capture_level) levels; /* changes of the level of detail, the newest ones */
	bool conditions_told;		  /* in this chunk */
	u64 told_again_ns; /* when the programs last started to tell names anew: bpf/told.h */
	int clock_fd;	   /* fails with ECANCELED once after each step of the clock; or -1 */
	u64 steal_read_ns;
	VEC(struct capture_steal) steal; /* by CPU */
	u64 moves; /* scope_moves of the programs when they were last handled */
	struct capture_rare rare;
	struct held_records held;      /* records later than the last cut */
	struct held_records inherited; /* files that the command has open, until its exec */
	bool inherited_known;	       /* the snapshot has looked at them */
	u64 kernel_complete_ns;	       /* of the last cut: capture_complete() */
	u64 apps_complete_ns;
	struct capture_counts counts;
	struct app_rings *apps;	       /* from capture_attach() on */
	struct capture_watch *watch;   /* likewise */
	struct capture_meter *meter;   /* likewise */
	struct capture_stacks *stacks; /* NULL: no stacks are recorded */
	struct capture_events *events; /* NULL: no events were chosen */
	size_t event_count;	       /* that were chosen */
	bool with_children;	       /* scope has the children of the processes named */
	bool moving;		       /* threads that moved into scope are being looked at */
	VEC(u32) moved;	  /* their processes, numbered as in our pid namespace; 0: not in it */
	struct map shown; /* processes that the kernel's list of tasks shows, numbered likewise */
	struct bounded_reader commands; /* reads command lines during a snapshot */
	const char *const *cgroups;	/* as in the options */
	size_t cgroup_count;
	VEC(struct cgroup_key) named; /* the cgroups that these paths named at capture_open() */
	pid_t child;
	int go_fd;    /* a byte written here lets the child exec */
	int child_fd; /* its pidfd; -1: capture_wait() does not end with the child */
	int exec_fd;  /* errno of its exec, or end of file; does not block */
	int wake_fd;  /* an epoll of all that ends capture_wait() */
};

#endif
