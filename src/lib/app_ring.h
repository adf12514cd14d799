/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of an application process: what libfathom writes, capture reads.
 *
 * Each copy of the library in a process (a plugin can have the archive inside) has
 * a memfd named "fathom_ring" of APP_RING_BYTES bytes (sparse:
 * a thread touches at most its lane, 128 KiB). It is sealed against shrinking,
 * growing and further seals, mapped shared by the process, from offset 0 on and not
 * all of it (the header, and each lane once a thread has it), not inherited by
 * fork (a child makes its own when it first uses the library) and kept open.
 * All numbers are in host byte order.
 *
 *	offset size field
 *	0      8    magic, APP_RING_MAGIC
 *	8      4    version, 1
 *	12     4    header bytes: offset of lane 0
 *	16     4    lanes
 *	20     4    lane bytes: from one lane to the next
 *	24     4    slots in a lane, a power of two
 *	28     4    pid, in the pid namespace of the process
 *	32     8    CLOCK_MONOTONIC at its creation
 *	40     4    lanes in use or ever used: those behind were never touched
 *	44     4    level of the process (0 to 7), for information
 *	48     8    records lost because no lane was free, or could be mapped
 *	56     4    stopped: not 0, and the library writes here no more
 *	64     4    listening: 0 nobody, APP_RING_GRACE nobody yet, else a number
 *	            that differs for each session of a listener (written by capture)
 *	68     4    counter: while it is what listening is, records are stamped by the
 *	            processor's counter (base/counter.h)        (written by capture)
 *	72     8    lease: listening is void after this time, in the
 *	            CLOCK_MONOTONIC of the process     (written by capture)
 *	4096   8*n  for each lane: state (4), tid (4) of the thread that has or
 *	            had it, in the pid namespace of the process
 *	12288       lane 0: struct ring_control, then the slots, as in record/ring.h;
 *	            lane i follows at 12288 + i * lane bytes
 *
 * A lane has one producer, a thread with its signal handlers. Records are those
 * of record/record.h of the kinds service and span_*, cut to the slots they
 * use. head.cpu is APP_RECORD_WHOLE, less APP_RECORD_CUT if some of the text did not fit into the
 * record, less APP_RECORD_COUNTED if head.time_ns is what the processor's counter said; else that
 * is CLOCK_MONOTONIC of the process. head.tid and head.pid are numbers of its own pid namespace.
 * The reader translates all of them: a counter takes half as long to read as a clock. A record says
 * whose it is, so a lane given to another thread needs no draining before. lost[RING_LOST_OTHER]
 * counts records that did not fit, ever.
 *
 * Finding it: the process has `/memfd:fathom_ring (deleted)` in /proc/PID/fd
 * and /proc/PID/maps. Take the fd with pidfd_getfd, or open
 * /proc/PID/fd/N or /proc/PID/map_files/RANGE. A forked child shows its
 * parent's until the library's fork handler has run: header.pid differs from the
 * child's, and the inode is one that is known.
 *
 * What is valid (app_ring_open() checks it): F_GET_SEALS has APP_RING_SEALS, the
 * size is exactly APP_RING_BYTES, and the numbers at 0 to 27 are those below.
 * Then nothing behind the header's first words is believed: sizes come from
 * this file, not from the mapping; a record is copied before it is looked at; what lies in a
 * hole of the file is not there yet, and not touched, since the reader would pay for its page;
 * `slots` beyond what is reserved, kinds other than ours and lengths beyond
 * the record are damage, which is counted and never followed.
 *
 * Grace: a ring begins with listening = APP_RING_GRACE and a lease of APP_RING_GRACE_NS.
 * Whoever finds that lease over when it wants to write puts 0 in place of APP_RING_GRACE,
 * writes nothing, and it never comes back. So a listener that replaces
 * APP_RING_GRACE by its session, in one step, has everything since the ring was made: what
 * was not written was counted as lost. One that finds anything else has it from now on.
 *
 * Reader: write the lease, then `listening`, and the lease again at least once in
 * half its length, in one step that shows what `listening` was: 0 if a thread found the lease
 * over meanwhile, and then what was not written since is not counted anywhere. To stop write
 * listening = 0. Drain each lane up to
 * `lanes used`. Of each slot that is given back the first four bytes are set
 * to zero before tail is stored: what was text in the last round is never
 * taken for the `seq` of this one. Records older than the session, or than the ring
 * where the grace was taken over, are left over from a listener that died, or from a grace
 * that nobody used; discard them.
 *
 * When a library is unloaded it says `stopped` last, and writes here no more; of the ring
 * nothing is mapped in the process then but, perhaps, a lane that a thread was about to take.
 * The reader takes what is left, and lets the ring go.
 *
 * When the reader dies: lanes run full; a thread that finds its lane full and
 * the lease over sets listening to 0 and stops writing. While the lease holds,
 * what does not fit is counted. When the process dies: whatever was published
 * is there as long as the reader has the mapping. A slot that was reserved and
 * never published (killed in mid-write, longjmp out of a handler) hides what
 * follows it in its lane: in a lane of a thread that is gone the reader
 * counts it as damaged and goes on to the next slot that holds its own seq and a sound record.
 */
#ifndef LIB_APP_RING_H
#define LIB_APP_RING_H

#include <fcntl.h>
#include <stdbool.h>

#include "record/ring.h"

#define APP_RING_NAME "fathom_ring"
#define APP_RING_MAGIC 0x31474e4952485446ull /* "FTHRING1" in little endian */
#define APP_RING_VERSION 1
#define APP_RING_LANES 1024
#define APP_RING_SLOTS 2048
#define APP_RING_GRACE 0xffffffffu
#define APP_RING_GRACE_NS 100000000ull
#define APP_RING_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

#define APP_RECORD_WHOLE 0xffff
#define APP_RECORD_CUT 1
#define APP_RECORD_COUNTED 2

enum app_lane_state {
	APP_LANE_FREE = 0, /* of no thread, and everything was consumed */
	APP_LANE_USED = 1,
	APP_LANE_LEFT = 2, /* its thread ended; records may be in it; may be given to another */
};

struct app_lane_entry {
	u32 state; /* written by the process alone */
	u32 tid;
};

struct app_lane {
	struct ring_control control;
	struct ring_slot slots[APP_RING_SLOTS];
} __attribute__((aligned(64)));

struct app_ring {
	u64 magic;
	u32 version;
	u32 header_bytes;
	u32 lanes;
	u32 lane_bytes;
	u32 slots;
	u32 pid;
	u64 start_ns;
	u32 lanes_used;
	u32 level;
	u64 lost;
	u32 stopped;
	u32 pad;
	/* on a cache line of its own, written by capture */
	u32 listening;
	u32 counter;
	u64 lease_ns;
	u8 pad3[4016];
	struct app_lane_entry table[APP_RING_LANES];
	struct app_lane lane[APP_RING_LANES];
} __attribute__((aligned(64)));

#define APP_RING_BYTES sizeof(struct app_ring)

_Static_assert(sizeof(struct app_lane) == 131200, "lane");
_Static_assert(__builtin_offsetof(struct app_ring, stopped) == 56, "stopped");
_Static_assert(__builtin_offsetof(struct app_ring, listening) == 64, "listening");
_Static_assert(__builtin_offsetof(struct app_ring, counter) == 68, "counter");
_Static_assert(__builtin_offsetof(struct app_ring, table) == 4096, "table");
_Static_assert(__builtin_offsetof(struct app_ring, lane) == 12288, "lanes");

/* ---- the reader's side (app_ring.c) ---- */

static inline bool app_record_is_counted(const struct record_head *head)
{
	return !(head->cpu & APP_RECORD_COUNTED);
}

static inline bool app_record_is_cut(const struct record_head *head)
{
	return !(head->cpu & APP_RECORD_CUT);
}

/*
 * Checks a memfd and maps it. *out is the caller's, for app_ring_close(); the
 * fd stays the caller's and may be closed at once. -EINVAL: not such a ring.
 */
int app_ring_open(int fd, struct app_ring **out);
void app_ring_close(struct app_ring *ring);

struct app_ring_sink {
	/* A record, copied, zero behind its slots. Its text lengths are checked. */
	void (*record)(void *owner, const struct record_head *head);
	/* NULL, or: is what lies there in a lane no hole? It is not touched then. */
	bool (*has)(void *owner, u32 lane, u64 offset);
	void *owner;
};

/*
 * Takes out what is published, lane after lane, and passes it on. Returns how many
 * records there were; *damaged grows by what was not believed. One reader at a
 * time for each ring.
 */
u64 app_ring_drain(struct app_ring *ring, const struct app_ring_sink *sink, u64 *damaged);

struct app_drained {
	u64 records;
	u64 damaged; /* what was not believed */
};

/*
 * The same for one lane (below app_ring_lanes()), up to `limit`: a position that
 * app_ring_head() gave. *drained grows. Returns true if all that was reserved before
 * `limit` is out, false if some of it is not published yet.
 */
bool app_ring_drain_lane(struct app_ring *ring, u32 lane, u64 limit,
			 const struct app_ring_sink *sink, struct app_drained *drained);

/* Lanes in use or ever used, APP_RING_LANES at most. */
u32 app_ring_lanes(const struct app_ring *ring);

/* How many slots of a lane were ever reserved. */
u64 app_ring_head(const struct app_ring *ring, u32 lane);

/* Listens for the next `lease_ns` from `now_ns` on, both of the process's clock. */
void app_ring_listen(struct app_ring *ring, u32 session, u64 until_ns);

/* Has the records of that session stamped by the processor's counter; 0: of none. */
void app_ring_count(struct app_ring *ring, u32 session);

/*
 * Begins to listen as app_ring_listen() does. True if this was in the grace of the ring: what
 * is in it was written for us, and what did not fit was counted for us.
 */
bool app_ring_take_over(struct app_ring *ring, u32 session, u64 until_ns);

/*
 * Goes on listening as app_ring_listen() does. False if the library had stopped writing: the lease
 * was over, and what it left out is not counted in the ring.
 */
bool app_ring_renew(struct app_ring *ring, u32 session, u64 until_ns);

/* True once the library writes no more: what is read from now on is all there will be. */
bool app_ring_is_stopped(const struct app_ring *ring);

/* Records that did not fit since the ring was made: all, and those of a lane. */
u64 app_ring_lost(const struct app_ring *ring);
u64 app_ring_lane_lost(const struct app_ring *ring, u32 lane);

#endif
