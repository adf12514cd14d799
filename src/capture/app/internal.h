/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of app_rings.h share; nothing else includes it. app_ring_reach.c finds rings,
 * app_rings.c keeps the list of them, app_lanes.c says what is there of each, app_rings_drain.c
 * goes over it and cuts, app_record.c judges each record, app_losses.c tells what did not come.
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

struct app_ring_reached {
	struct app_ring_reached *next; /* of the same process, or NULL */
	struct app_ring *ring;
	int fd;	   /* holds the lock */
	int pidfd; /* readable once the process has ended */
	u64 inode, device;
	u64 made_ns; /* when it was made, 0: not seen */
	u64 reached_ns;
	struct app_process process;
};

/* True once all threads of the process have ended. */
bool app_ring_is_ended(const struct app_ring_reached *reached);

/* A lane that a cut waits for. */
struct app_goal {
	u32 lane;
	u64 head;
	bool fresh; /* nobody was in the middle of a record there when it was last drained */
};

/* What was taken out of a lane. */
struct app_taken {
	struct ring_mark mark;
	u64 newest_ns; /* when the last record was written */
};

struct app_source {
	struct app_ring_reached *r; /* owned; stands alone */
	u64 since_ns;		    /* older records are another listener's */
	u64 until_ns;		    /* another process has its number from then on; 0: no */
	u64 lost_told;		    /* as the ring counts them */
	u64 lost_cut;		    /* likewise, at the cut */
	u64 damaged, damaged_told;
	u64 told_ns;
	u64 lease_ns;	      /* until then it was to hear that we listen */
	u64 heard_ns;	      /* it may have heard otherwise from then on, and we not know */
	u64 unheard;	      /* times that it had stopped writing, not yet told */
	u64 unheard_ns;	      /* from then on, at first */
	u64 unheard_until_ns; /* to then, at last */
	u32 next_lane;	      /* where the next batch begins */
	u32 next_look;	      /* and the next look for lanes that are there */
	bool broken;	      /* a lane's head went back: nothing of it is looked at any more */
	u64 there[APP_RING_LANES / 64];
	bool counted; /* it is asked to stamp by the counter */
	bool asked;   /* or was */
	bool ended;   /* the process has, or its program, or the library in it */
	VEC(struct app_goal) goals;
	VEC(struct app_taken) taken; /* by lane */
};

#define SOUGHT_NS 100000000ull /* a ring that is not found by then is not waited for */
#define SOUGHT_MAX 4096

/* A process of which a ring is looked for. */
struct app_sought {
	pid_t pid;
	u64 made_ns;
};

struct app_rings {
	VEC(struct app_source) sources;
	VEC(struct app_sought) sought; /* by made_ns */
	struct held_records held;      /* later than the last cut */
	VEC(pid_t) missed;
	struct app_threads threads;
	struct thread_owners owners;
	struct counter_clock clock;
	bool counted; /* the counter is as good as the clock */
	size_t max;
	u32 session;
	u64 cut_ns;
	u64 renewed_ns, ended_ns;
	struct app_rings_counts counts;
};

/* A ring of it, the first that was made, is not looked for any more. */
void app_sought_end(struct app_rings *rings, pid_t pid);

/* Stops listening, and frees what the source has. */
void app_source_close(struct app_source *s);
/* Until when a lease holds that is given now, by the clock of the process. */
u64 app_source_lease(const struct app_source *s, u64 now);

/* ---- app_lanes.c ---- */

/* Looks for lanes that came into use since. `most`: how many may be asked for. */
void app_source_look(struct app_source *s, u32 most);
/* The head of a lane that is there. False if there is none, or the ring is found to be broken. */
bool app_source_head(struct app_source *s, u32 lane, u64 *head);
/* app_ring_lost() of the lanes that are there. */
u64 app_source_lost(const struct app_source *s);
/* Is that part of a lane there? For app_ring_sink. */
bool app_source_has(const struct app_source *s, u32 lane, u64 offset);

/* ---- app_record.c ---- */

struct app_take {
	struct app_rings *rings;
	struct app_source *source;
	const struct capture_sink *sink;
	u64 *newest_ns; /* of the lane */
	u64 until_ns;	/* later ones are held back */
	u64 polled_ns;	/* before any head was read */
	u64 now_ns;
	int err;
};

/* A record that was copied out of the ring: the sink's, or held, or damage. For app_ring_sink. */
void app_record_taken(void *take, const struct record_head *head);

/* Hands over what was held back up to until_ns. 0 or what the sink returned. */
int app_records_deliver_held(struct app_rings *rings, const struct capture_sink *sink,
			     u64 until_ns);

/* ---- app_losses.c ---- */

/* `lost`: as the ring counted them at `now`. 0 or what the sink returned. */
int app_source_tell(struct app_rings *rings, struct app_source *s, u64 lost,
		    const struct capture_sink *sink, u64 now);

/*
 * Renews the lease. Where the process stopped writing, since we did not run for longer than the
 * lease, it has counted nothing: that is for app_source_tell() to tell.
 */
void app_source_attend(const struct app_rings *rings, struct app_source *s, u64 now);

/* The processes of which a ring was missed. 0 or what the sink returned. */
int app_rings_tell_missed(struct app_rings *rings, const struct capture_sink *sink, u64 now);

#endif
