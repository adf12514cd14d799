/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that never ran: a random but consistent stream of records, and the
 * time split of each thread that the records must give.
 */
#ifndef TESTS_SIMULATE_H
#define TESTS_SIMULATE_H

#include "base/bytes.h"
#include "base/vec.h"
#include "record/record.h"
#include "span/split.h"

struct simulated_record {
	u64 time_ns;
	size_t order; /* in which it was made: breaks ties */
	size_t at;    /* where it lies in `bytes`, 8-byte aligned */
};

struct simulated_thread {
	u32 tid, pid; /* an exec from another thread than the leader changes the tid */
	bool born;    /* here, so that its begin was seen */
	u64 start_ns;
	u64 renamed_ns;	      /* when its tid changed, 0: never */
	u64 begin_ns, end_ns; /* of its records */
	struct split truth;   /* between them */
	struct split under;   /* of that, under spans, and until it first ran */
	struct split owned;   /* of that, while a span of its program was active */
	bool ends_under;      /* it has a span at its end */
};

#define SIMULATED_CONNECTIONS 4
#define SIMULATED_SOCKET 70  /* key of the first; its other end has key ^ 1 */
#define SIMULATED_SLOTS 1000 /* keys of files that only slots have begin here */

struct simulation {
	u64 random; /* state of the generator */
	u64 from_ns, to_ns;
	u32 filters;			      /* FILTER_* */
	u64 filtered_from_ns, filtered_to_ns; /* when they are in force */
	u64 limit_from_ns, limit_to_ns;	      /* of what is asked; 0: none */
	VEC(u64) levels;		      /* when recording of calls begins and ends, in turn */
	bool calls_first;		      /* calls are recorded before the first of them */
	bool scoped; /* where calls are recorded, then those of threads in some scopes */
	VEC(struct simulated_record) records;  /* sorted by time */
	VEC(struct simulated_thread) threads;  /* by tid, as it is at the end, and begin */
	u64 streams[SIMULATED_CONNECTIONS][2]; /* bytes so far, by direction */
	struct bytes bytes;
};

/*
 * Simulates `threads` threads, each doing `actions` random things. Numbers of those that
 * end are used again; two more are a process of which the second thread runs a program.
 */
void simulate(struct simulation *s, u64 seed, int threads, int actions);

/* The same with what is left out on request; all spans are followed from the begin on. */
void simulate_filtered(struct simulation *s, u64 seed, int threads, int actions, u32 filters);

/* The same; calls are recorded at times, the level of detail changes some times at random. */
void simulate_levels(struct simulation *s, u64 seed, int threads, int actions);

/*
 * The same; calls are recorded only of threads in some scopes, which each thread enters and leaves
 * at random.
 */
void simulate_scopes(struct simulation *s, u64 seed, int threads, int actions);

/*
 * The same of one of two recordings between which lies a gap, which is returned: the second one
 * if `second`. The other one leaves out nothing.
 */
struct simulated_gap {
	u64 begin_ns, end_ns;
};
struct simulated_gap simulate_filtered_once(struct simulation *s, u64 seed, u32 filters,
					    bool second);

/* Takes away what happened in [begin_ns, end_ns), as if nobody had recorded. */
void simulation_gap(struct simulation *s, u64 begin_ns, u64 end_ns);
/* Takes away what a CPU recorded in [begin_ns, end_ns), and says so as a reader does. */
void simulation_loss(struct simulation *s, u64 begin_ns, u64 end_ns, u16 cpu);
/* The same, so many times at random. */
void simulation_lose(struct simulation *s, int times);
struct simulated_cpus {
	u16 first, count;
};
/*
 * Takes away what CPUs recorded in [begin_ns, end_ns), but not what came by other ways, and tells
 * it as a reader does. If it was not damage, some of it got through.
 */
void simulation_damage(struct simulation *s, enum record_loss why, u64 begin_ns, u64 end_ns,
		       struct simulated_cpus cpus);
/* Takes away some of what a program recorded of its spans, so many times, and says so. */
void simulation_mute(struct simulation *s, int times);
void simulation_free(struct simulation *s);

static inline const struct record_head *simulation_record(const struct simulation *s, size_t i)
{
	return (const void *)(s->bytes.data + s->records.data[i].at);
}

/*
 * The thread that had the CPU until a thread got it at that time; 0: none, it was idle. It is out
 * of the scope of the recording.
 */
static inline u32 simulation_had_cpu(u64 time_ns)
{
	return time_ns % 4 ? 900 + (u32)(time_ns % 3) : 0;
}

/* The same as it is told to a partial: a thread gets its CPU from another one. Uses `copy`. */
static inline const struct record_head *simulation_told(const struct simulation *s, size_t i,
							struct record_switch *copy)
{
	const struct record_head *r = simulation_record(s, i);

	if (r->kind != RECORD_switch || r->tid)
		return r;
	*copy = *(const struct record_switch *)r;
	copy->head.tid = copy->head.pid = simulation_had_cpu(r->time_ns);
	copy->mode |= copy->head.tid ? MODE_PREV_OUT : 0;
	return &copy->head;
}

/* A number below `below` (not 0). */
u64 simulation_random(struct simulation *s, u64 below);

#endif
