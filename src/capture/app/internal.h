/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files behind app/rings.h share; nothing else includes it. reach.c opens rings, rings.c
 * keeps the list of them, lanes.c finds the lanes in use, drain.c polls and cuts, record.c checks
 * each record, and losses.c tells of lost records and missed rings.
 */
#ifndef CAPTURE_APP_INTERNAL_H
#define CAPTURE_APP_INTERNAL_H

#include "base/vec.h"
#include "capture/app/counter_clock.h"
#include "capture/app/process.h"
#include "capture/app/rings.h"
#include "capture/app/threads.h"
#include "capture/held.h"
#include "capture/mark.h"
#include "lib/app_ring.h"

#define APP_LEASE_NS 2000000000ull

/* A ring that was found and mapped. */
struct app_ring_reached {
	struct app_ring_reached *next; /* another ring of the same process, or NULL */
	struct app_ring *ring;
	int fd;	   /* holds the lock */
	int pidfd; /* readable once the process has ended */
	u64 inode, device;
	u64 made_ns; /* when the kernel saw it being made; 0: it did not */
	u64 reached_ns;
	struct app_process process;
};

/* Whether all threads of the process have ended. */
bool app_ring_is_ended(const struct app_ring_reached *reached);

/* A lane that a cut waits for. */
struct app_goal {
	u32 lane;
	u64 head;
	bool fresh; /* no record was unfinished there when it was last drained */
};

/* How far a lane was drained. */
struct app_taken {
	struct ring_mark mark;
	u64 newest_ns; /* time of the last record */
};

/* A ring that is listened to. */
struct app_source {
	struct app_ring_reached *r; /* owned; its `next` is NULL */
	u64 since_ns;		    /* older records are for another listener */
	u64 until_ns;		    /* when another process got its pid; 0: none did */
	u64 lost_told;		    /* the ring's count of losses, as told */
	u64 lost_cut;		    /* the same count at the cut */
	u64 damaged, damaged_told;
	u64 told_ns;	      /* when losses were last told */
	u64 lease_ns;	      /* end of the lease that the process was given */
	u64 heard_ns;	      /* until then the process surely knew that we listen */
	u64 unheard;	      /* how often the process stopped writing; not yet told */
	u64 unheard_ns;	      /* earliest begin of these times */
	u64 unheard_until_ns; /* latest end of them */
	u32 next_lane;	      /* where the next batch begins */
	u32 next_look;	      /* where the next look for used lanes begins */
	bool broken;	      /* the head of a lane went back: the ring is not read any more */
	u64 there[APP_RING_LANES / 64]; /* lanes that are in use, as bits */
	bool counted;			/* it is asked now to stamp by the counter */
	bool asked;			/* it was asked so at some time */
	bool ended;			/* the process, its program, or the library in it */
	VEC(struct app_goal) goals;
	VEC(struct app_taken) taken; /* by lane */
};

#define SOUGHT_NS 100000000ull /* a ring that is not found by then is not waited for */
#define SOUGHT_MAX 4096

/* A process whose ring is being looked for. */
struct app_sought {
	pid_t pid;
	u64 made_ns;
};

struct app_rings {
	VEC(struct app_source) sources;
	VEC(struct app_sought) sought; /* by made_ns */
	struct held_records held;      /* later than the last cut */
	VEC(pid_t) missed;	       /* processes with a missed ring, not yet told */
	struct app_threads threads;
	struct thread_owners owners;
	struct counter_clock clock;
	bool counted; /* the host's clock runs by the counter */
	size_t max;   /* of sources */
	u32 session;
	u64 cut_ns;
	u64 renewed_ns, ended_ns; /* when leases were renewed, and ends looked for, last */
	struct app_rings_counts counts;
	app_service_fn *service; /* NULL: nobody wants to see them */
	void *service_arg;
};

/* The first ring that the process made is not looked for any more. */
void app_sought_end(struct app_rings *rings, pid_t pid);

/* Stops listening to a ring, and frees what the source owns. */
void app_source_close(struct app_source *s);
/* The end of a lease that is given at `now`, in the clock of the process. */
u64 app_source_lease(const struct app_source *s, u64 now);

/* ---- lanes.c ---- */

/* Looks for lanes that came into use. `most`: how many lanes may be looked at. */
void app_source_look(struct app_source *s, u32 most);
/* Reads the head of a lane. False if it is not in use, or the ring is broken. */
bool app_source_head(struct app_source *s, u32 lane, u64 *head);
/* app_ring_lost() of the lanes in use. */
u64 app_source_lost(const struct app_source *s);
/* Whether that part of a lane's file is no hole. For app_ring_sink. */
bool app_source_has(const struct app_source *s, u32 lane, u64 offset);

/* ---- record.c ---- */

/* The state of one pass over a ring. */
struct app_take {
	struct app_rings *rings;
	struct app_source *source;
	const struct capture_sink *sink;
	u64 *newest_ns; /* time of the last record of the lane */
	u64 until_ns;	/* later records are held back */
	u64 polled_ns;	/* a time before any head was read */
	u64 now_ns;
	int err; /* of the sink */
};

/*
 * Takes a record that was copied out of the ring: hands it over, holds it back, or counts it as
 * damaged. For app_ring_sink.
 */
void app_record_taken(void *take, const struct record_head *head);

/* Hands over the records up to until_ns that were held back. 0 or the sink's result. */
int app_records_deliver_held(struct app_rings *rings, const struct capture_sink *sink,
			     u64 until_ns);

/* ---- losses.c ---- */

/* Tells of losses. `lost`: the ring's count at `now`. 0 or the sink's result. */
int app_source_tell(struct app_rings *rings, struct app_source *s, u64 lost,
		    const struct capture_sink *sink, u64 now);

/*
 * Renews the lease. If we did not run for longer than the lease, the process has stopped writing
 * without counting losses; app_source_tell() tells of that.
 */
void app_source_attend(const struct app_rings *rings, struct app_source *s, u64 now);

/* Tells of the processes that have a missed ring. 0 or the sink's result. */
int app_rings_tell_missed(struct app_rings *rings, const struct capture_sink *sink, u64 now);

#endif
