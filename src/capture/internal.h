/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of src/capture itself share; its folders do not include this. A file calls files
 * that stand behind it in this order, and the folders:
 *
 *   open, flight, poll, pause; cut, snapshot, spawn; drain; rings, misses; deliver, conditions,
 * detail; scopes; services; watch, wait, ring_map, held
 */
#ifndef CAPTURE_INTERNAL_H
#define CAPTURE_INTERNAL_H

#include "capture/state.h"

struct capture_delivery;

/* ---- ring_map.c ---- */

/*
 * The slots of a CPU's ring, as a power of two: the largest rings that fit into `wish` bytes
 * together, or (0) into an eighth of the memory. Their slots can be numbered by a map's keys.
 */
u32 capture_ring_bits(u32 cpus, u64 wish);
/* Maps the rings once the programs are loaded. 0 or a negative errno. */
int capture_rings_map(struct capture *c, struct error *e);
void capture_rings_unmap(struct capture *c);

/* ---- wait.c ---- */

/* Prepares capture_wait(), which from now on ends with news in the rare ring. */
int capture_wait_open(struct capture *c);

/* ---- conditions.c ---- */

/*
 * The conditions under which a chunk is recorded: filter records at its begin, the steal time of
 * each CPU about every second and at its end, and steps of the clock. `cut`: the chunk ends now.
 */
void capture_conditions_open(struct capture *c);
int capture_conditions_tell(struct capture *c, const struct capture_sink *sink, bool cut);

/* ---- detail.c ---- */

/* Before the programs are loaded: tells them the level of detail, and scopes with another one. */
int capture_detail_open(struct capture *c, const struct capture_options *options, struct error *e);
/* From now on a thread's calls are followed from the begin or end of a call on. */
void capture_calls_anew(struct capture *c);
/* Tells the changes of the level of detail that were not told yet. */
int capture_detail_tell(struct capture *c, const struct capture_sink *sink);

/* ---- scopes.c ---- */

/* Before the programs are loaded: finds the scopes of detail. */
int capture_scopes_open(struct capture *c, const struct capture_options *options, struct error *e);
/* Once they are loaded: tells them what could not be told before. */
int capture_scopes_add(struct capture *c, struct error *e);
/* With the programs attached, and threads in scope: matches them with the scopes of detail. */
int capture_scopes_seed(struct capture *c, struct error *e);
/* Matches all threads with the scopes of cgroups anew, if some moved. */
int capture_scopes_follow(struct capture *c);
/* Sets the scope that goes before all others; NULL: there is none. On failure there is none. */
int capture_scopes_ask(struct capture *c, const struct capture_detail_scope *scope,
		       struct error *e);

/* ---- services.c ---- */

/* Notes the service of a process: fits app_rings_services(). */
void capture_services_note(void *capture, const struct record_service *r);
/* A record of the stream LIFE may end a process, or its program. */
void capture_services_life(struct capture *c, const struct record_head *r);
/*
 * Tells the programs, for a look at threads, which processes are services of scopes: new ones, or
 * all. False: there are no new ones.
 */
bool capture_services_tell(struct capture *c);
void capture_services_tell_all(struct capture *c);
/* After that look: takes it back, since their numbers may go to other processes. */
void capture_services_told(struct capture *c);
void capture_services_free(struct capture *c);

/* ---- misses.c ---- */

/* Tells the sink, as losses, of the runs that the kernel skipped since the last call. */
int capture_misses_tell(struct capture *c, const struct capture_sink *sink);
/*
 * Runs that were skipped around a cut are counted by the next call of capture_misses_tell(). Tells
 * of them with the count 0: some may have been before the cut.
 */
int capture_misses_tell_around(struct capture *c, const struct capture_sink *sink, u64 cut_ns);

/* ---- drain.c ---- */

/* Hands over all that was published, and what looks at processes and files found meanwhile. */
int capture_drain(struct capture *c, struct capture_delivery *to);
/* Makes the programs tell names anew (bpf/told.h). */
void capture_tell_again(struct capture *c, u64 now_ns);

/* ---- snapshot.c ---- */

/* Puts the threads that the user named in scope, before anything is recorded. */
int capture_snapshot_scope(struct capture *c, struct error *e);
/* Hands over the snapshot of capture_start(). */
int capture_snapshot(struct capture *c, struct capture_delivery *to, struct error *e);
/* Looks at processes that came into scope with a move to another cgroup, if there were any. */
int capture_snapshot_moves(struct capture *c, struct capture_delivery *to);

/* ---- spawn.c ---- */

/* Kills and reaps a child that was not released; else forgets it. */
void capture_spawn_abandon(struct capture *c);

#endif
