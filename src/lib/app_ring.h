/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of an application process, in which libfathom writes records that capture reads.
 *
 * Each copy of the library in a process has a ring; a plugin can have the archive inside. The ring
 * is a memfd named "fathom_ring" of APP_RING_BYTES bytes. It is sparse: a thread touches only its
 * lane, 128 KiB at most. It is sealed against shrinking, growing and further seals. The process
 * keeps it open and maps it shared, but not as a whole: the header, and each lane once a thread has
 * it. A fork does not inherit the mapping; a child makes its own ring when it first uses the
 *library. All numbers are in host byte order.
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
 *	40     4    lanes in use or used before: those behind were never touched
 *	44     4    level of the process (0 to 7), for information
 *	48     8    records lost because no lane was free, or none could be mapped
 *	56     4    stopped: if not 0, the library writes here no more
 *	64     4    listening: 0: nobody, APP_RING_GRACE: nobody yet, else the number
 *	            of a session of a listener                  (written by capture)
 *	68     4    counter: while it equals listening, records are stamped by the
 *	            processor's counter (base/counter.h)        (written by capture)
 *	72     8    lease: listening is void after this time, in the
 *	            CLOCK_MONOTONIC of the process              (written by capture)
 *	4096   8*n  for each lane: state (4), and tid (4) of its present or last thread
 *	            in the pid namespace of the process
 *	12288       lane 0: struct ring_control, then the slots, as in record/ring.h;
 *	            lane i follows at 12288 + i * lane bytes
 *
 * A lane has one producer, a thread with its signal handlers. Records are of the kinds service and
 * span_* of record/record.h, cut to the slots they use. head.cpu is APP_RECORD_WHOLE, minus
 * APP_RECORD_CUT if text was cut, minus APP_RECORD_COUNTED if head.time_ns is a reading of the
 * processor's counter; else head.time_ns is the process's CLOCK_MONOTONIC. The counter takes half
 *as long to read as the clock. head.tid and head.pid are numbers of the process's pid namespace.
 *The reader translates all of these. Each record has its thread, so a lane can be given to another
 * thread before it is drained. lost[RING_LOST_OTHER] counts records that had no room.
 *
 * To find a ring, look for `/memfd:fathom_ring (deleted)` in /proc/PID/fd and /proc/PID/maps. Take
 * the descriptor with pidfd_getfd, or open /proc/PID/fd/N or /proc/PID/map_files/RANGE. A forked
 * child shows its parent's ring until the library's fork handler has run: then header.pid is not
 *the child's, and the inode is known already.
 *
 * A ring is valid (app_ring_open() checks it) if F_GET_SEALS has APP_RING_SEALS, the size is
 *exactly APP_RING_BYTES, and the numbers at 0 to 27 are those below. Nothing else in it is trusted.
 *Sizes come from this file, not from the mapping. A record is copied before it is checked. Holes of
 *the file are not touched, since reading one allocates a page. `slots` beyond what is reserved,
 *other kinds, and lengths beyond the record are damage: they are counted and never followed.
 *
 * Grace: a ring begins with listening = APP_RING_GRACE and a lease of APP_RING_GRACE_NS. A thread
 * that wants to write after this lease replaces APP_RING_GRACE by 0 and writes nothing;
 * APP_RING_GRACE never comes back. So a listener that replaces APP_RING_GRACE by its session, in
 *one step, gets everything since the ring was made, and what was not written is counted as lost. A
 * listener that finds another value gets everything from then on.
 *
 * The reader writes the lease, then `listening`. It renews the lease at least once in half its
 * length, in one step that returns `listening`. If that is 0, a thread has found the lease over,
 *and records since then were neither written nor counted. To stop, it writes listening = 0. It
 *drains each lane below `lanes used`. Before it stores tail, it sets the first four bytes of each
 *slot that it gives back to zero, so that text of one round is never taken for a `seq` of the next.
 *It discards records that are older than its session, or than the ring if it took over the grace:
 *they are left from a listener that died, or from a grace that nobody used.
 *
 * When the library is unloaded, it sets `stopped` last and writes here no more. The process then
 *has nothing of the ring mapped, except perhaps a lane that a thread was about to take. The reader
 * takes the rest and closes the ring.
 *
 * When the reader dies, lanes run full. A thread that finds its lane full and the lease over sets
 * listening to 0 and stops writing. While the lease holds, records without room are counted. When
 * the process dies, published records stay as long as the reader has the mapping. A slot that was
 * reserved and never published (the thread was killed, or a handler left with longjmp) hides what
 * follows it in its lane. In a lane of a thread that is gone, the reader counts it as damage and
 * goes on to the next slot with its own seq and a sound record.
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
	APP_LANE_FREE = 0, /* has no thread, and all records were consumed */
	APP_LANE_USED = 1,
	APP_LANE_LEFT = 2, /* its thread ended; may have records; may be given to another thread */
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
	/* written by capture, on a cache line of their own */
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
 * Checks a memfd and maps it. 0, and *out is the caller's, for app_ring_close(); -EINVAL if it is
 * no such ring; or another negative errno. The descriptor stays the caller's and may be closed at
 * once.
 */
int app_ring_open(int fd, struct app_ring **out);
void app_ring_close(struct app_ring *ring);

struct app_ring_sink {
	/* Takes a copy of a record, with zeros behind its slots. Its text lengths are checked. */
	void (*record)(void *owner, const struct record_head *head);
	/* Whether that part of a lane is no hole; a hole is not touched. NULL: there are none. */
	bool (*has)(void *owner, u32 lane, u64 offset);
	void *owner;
};

/*
 * Takes out all published records, lane by lane, and passes them on. Returns their number. *damaged
 * grows by the number of damaged ones. One reader at a time for each ring.
 */
u64 app_ring_drain(struct app_ring *ring, const struct app_ring_sink *sink, u64 *damaged);

struct app_drained {
	u64 records;
	u64 damaged; /* records that failed a check */
};

/*
 * Does the same for one lane below app_ring_lanes(), up to `limit`, a result of app_ring_head().
 * *drained grows. True: all that was reserved before `limit` is taken out; false: some of it is not
 * published yet.
 */
bool app_ring_drain_lane(struct app_ring *ring, u32 lane, u64 limit,
			 const struct app_ring_sink *sink, struct app_drained *drained);

/* The number of lanes in use or used before, APP_RING_LANES at most. */
u32 app_ring_lanes(const struct app_ring *ring);

/* How many slots of a lane were reserved since the ring was made. */
u64 app_ring_head(const struct app_ring *ring, u32 lane);

/* Listens until `until_ns`, in the process's clock. With session 0: stops listening. */
void app_ring_listen(struct app_ring *ring, u32 session, u64 until_ns);

/* Asks for stamps by the processor's counter while that session listens; 0: never. */
void app_ring_count(struct app_ring *ring, u32 session);

/*
 * Begins to listen like app_ring_listen(). True if the ring was in its grace: then its records, and
 * its counts of losses, are for us since the ring was made.
 */
bool app_ring_take_over(struct app_ring *ring, u32 session, u64 until_ns);

/*
 * Goes on listening like app_ring_listen(). False if the library had stopped writing since the
 * lease was over: then records are missing that the ring did not count.
 */
bool app_ring_renew(struct app_ring *ring, u32 session, u64 until_ns);

/* Whether the library writes no more, so that the ring gets no more records. */
bool app_ring_is_stopped(const struct app_ring *ring);

/* How many records had no room since the ring was made: in all, and in a lane. */
u64 app_ring_lost(const struct app_ring *ring);
u64 app_ring_lane_lost(const struct app_ring *ring, u32 lane);

#endif
