/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the simulation share. */
#ifndef TESTS_SIMULATE_INTERNAL_H
#define TESTS_SIMULATE_INTERNAL_H

#include "simulate.h"

#define SIMULATED_IN_VAIN 64 /* with waking.context: it ends no sleep */

#define FIRST_TID 100
#define EXEC_PID 120 /* of a process whose second thread runs a program */

/* A thread at work. */
struct actor {
	struct simulation *s;
	struct simulated_thread *thread;
	u64 now;
	u64 on_since; /* when it last got the CPU, or returned to user code */
	u64 spans[8]; /* ids of the open spans, innermost last */
	int depth;
	bool unborn; /* it has not run yet */
	bool execs;  /* it runs another program already, and has not returned from execve */
};

struct call; /* simulate_time.c */

/* 1 to below. */
static inline u64 some(struct actor *a, u64 below)
{
	return 1 + simulation_random(a->s, below);
}

static inline struct record_head head_of(struct actor *a)
{
	return (struct record_head){.tid = a->thread->tid, .pid = a->thread->pid};
}

/* ---- simulate.c ---- */

/* Copies a record, the head of which has the thread. */
void actor_emit(struct actor *a, void *record, size_t bytes, u8 kind, u64 time_ns);
/* By time, then as they were made. */
void simulation_sort(struct simulation *s);
/* Events at the same time are on the same CPU. */
u16 simulation_cpu(u64 time_ns);

/* ---- simulate_time.c ---- */

void actor_run(struct actor *a, enum split_part part, u64 ns);
void actor_enters(struct actor *a);
/* visit: when it entered the kernel, 0: it was in user code; call: the one that it is in, or NULL
 */
void actor_leaves(struct actor *a, u8 state, u8 mode, u64 visit, const struct call *call);
/* Now and then: what it does is told, and it goes on. */
void actor_looked_at(struct actor *a, u8 mode, u64 visit, const struct call *call);
void actor_preempted(struct actor *a, u8 mode, u64 visit, const struct call *call);
/* Asleep in a visit or, with MODE_user, stopped; the waking may carry an earlier time. */
void actor_sleeps(struct actor *a, u8 mode, u64 visit, const struct call *call, u8 part);
/* Asleep in a call when recording begins: the snapshot or, if it is late, the call's end says so.
 */
void actor_was_in_call(struct actor *a);
/* It begins to end; now and then the record of its last switch was lost. */
void actor_dies(struct actor *a);
/* Runs another program, and has the number `tid` then. Its spans end with the one before. */
void actor_execs(struct actor *a, u32 tid);
void does_syscall(struct actor *a);
void does_fault(struct actor *a);

/* ---- simulate_told.c ---- */

void does_span(struct actor *a);
void does_tell(struct actor *a);
void does_event(struct actor *a);
void does_files(struct actor *a);
void does_exec(struct actor *a);
void does_request(struct actor *a);
void does_block(struct actor *a);
void does_bytes(struct actor *a);
void does_move(struct actor *a);

/* Some thread out of scope, by time. */
u32 simulation_waker(u64 time_ns);
/* Tells the names of wakers, each when it first wakes somebody, and now and then another one. */
void simulation_name_wakers(struct simulation *s);

/* As simulate_filtered(), with nothing left out yet. */
void simulation_begin(struct simulation *s, u64 seed, int threads, int actions, u32 filters);

/* ---- simulate_levels.c ---- */

/* Tells the level of detail at that time. */
void simulation_level_tell(struct simulation *s, u64 time_ns);

/* ---- simulate_missing.c ---- */

/* Takes away what the filters say while they are in force, and tells them. */
void simulation_filter(struct simulation *s);

#endif
