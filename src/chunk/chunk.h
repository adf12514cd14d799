/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks: directories of records of one host over one range of time.
 *
 * A recording is a directory of chunks. A chunk is written under the name
 * `.open-<begin>-<seq>` and becomes `<begin>-<end>-<seq>` when it is sealed;
 * begin and end are Unix nanoseconds with 20 digits, so names sort by time.
 * Directories and files are for their owner alone (0700, 0600): a recording
 * shows arguments and paths of everybody. The bytes of a chunk are described in chunk/format.h. It
 * is a valid CTF 1.8 trace.
 *
 * Points in time are nanoseconds of CLOCK_MONOTONIC unless a name says unix.
 * All functions return 0 (or what they say) or a negative errno and then have
 * put a cause into `e`, which may be NULL; outputs are untouched on failure.
 *
 * The life of a recorder:
 *
 *   recording_lock(dir, ..., &hold)         one recorder in a directory
 *   recording_recover(dir, &hold, ...)      seal what a crash left
 *   chunk_sealer_open(&sealer, ...)         the thread that seals
 *   chunk_writer_open(&w, &options)
 *   loop: chunk_writer_add(stream, record)  as the rings are drained
 *         chunk_writer_flush(w, T)          every few 100 ms: bounds what a crash takes
 *   rotate at the instant C (all rings are drained past C):
 *         chunk_writer_open(&next, begin_ns = C)
 *         chunk_writer_cut(w, C, next)      records at C and later move to next
 *         chunk_sealer_push(sealer, w)      fsync, rename: not on this thread
 *   chunk_sealer_close(sealer)              waits
 *
 * Our own cuts are instants. Where they are not (a foreign trace), begun_ns and
 * complete_ns of the writer's options say where all streams are there. So does
 * chunk_writer_complete() where a producer was in the middle of a record at the
 * cut: what it had of the time before comes to the late stream of a later chunk.
 */
#ifndef CHUNK_CHUNK_H
#define CHUNK_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/record.h"

/* ---- what is told of a chunk ---- */

enum chunk_state {
	CHUNK_OPEN, /* being written, or left by a crash */
	CHUNK_SEALED,
	CHUNK_RECOVERED, /* sealed after a crash, up to the last whole packet of each stream */
};

const char *chunk_state_name(enum chunk_state state);

/* Records that are absent, by class: enum record_loss. */
struct chunk_lost {
	uint64_t buffer;
	uint64_t recursion;
	uint64_t application;
	uint64_t damaged;
	uint64_t uncounted; /* `lost` records of the count 0: around a cut, the next chunk counts */
};

/* CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_BOOTTIME at one instant. */
struct chunk_clock {
	uint64_t monotonic_ns;
	uint64_t unix_ns;
	uint64_t boottime_ns;
	uint64_t error_ns; /* bound on the error of the relation */
};

/* Reads the clocks of this host. */
void chunk_clock_read(struct chunk_clock *clock);

#define CHUNK_HOST_BYTES 65
#define CHUNK_BOOT_BYTES 37

/* The id of this boot, empty if the kernel does not tell. */
void chunk_boot_read(char boot_id[CHUNK_BOOT_BYTES]);

#define CHUNK_NAME_BYTES 80
#define CHUNK_CPU_LIST_BYTES 256
#define CHUNK_MISSING_BYTES 1024

struct chunk_info {
	char path[4096];      /* of the directory */
	uint8_t identity[16]; /* the CTF uuid */
	char host[CHUNK_HOST_BYTES];
	char boot_id[CHUNK_BOOT_BYTES];
	uint64_t seq;
	uint64_t begin_ns;    /* the cut at which it begins */
	uint64_t end_ns;      /* the cut at which it ends: its records are older */
	uint64_t begun_ns;    /* all streams had begun: begin_ns, unless cut one by one */
	uint64_t complete_ns; /* no stream misses anything older; end_ns, unless cut one
				 by one, cut while a record was being written, or recovered
				 after a crash; can be before begin_ns */
	uint64_t late_ns;     /* the chunk before is complete up to here: begin_ns, or less */
	uint64_t cpus;	      /* so many have a stream from the begin on, of a recovered one
				 some may be missing; 0: not known */
	char cpu_list[CHUNK_CPU_LIST_BYTES]; /* which; "": 0 .. cpus - 1 */
	char missing[CHUNK_MISSING_BYTES];   /* tracepoints that the recorder had to do without,
						separated by commas; "": none */
	uint64_t filters;		     /* FILTER_*: what was left out on request */
	bool cpus_unknown;	  /* nothing is left that says which: any may be missing */
	struct chunk_clock clock; /* at its begin */
	uint64_t records;	  /* CTF events, what babeltrace2 counts */
	uint64_t bytes;		  /* of its files */
	struct chunk_lost lost;
	uint64_t incomplete; /* fields that are cut or could not be read */
	enum chunk_state state;
	bool plain; /* as it is sealed: it was to be compressed, but too many waited behind it */
};

/* ---- a recording that is written ---- */

/*
 * What a recorder has of its recording. All writing goes by way of the descriptor: the path
 * is of somebody who may put a link in its place, and whoever writes may have more rights. A
 * path that stands beside a hold is only told. Without a hold (NULL) the path is opened.
 */
struct recording_hold {
	int dir;  /* the directory */
	int lock; /* its file that is locked */
};

/* ---- writing ---- */

struct chunk_writer;
struct chunk_stream;

enum chunk_stream_kind {
	CHUNK_STREAM_CPU,  /* "cpu<number>" */
	CHUNK_STREAM_LIFE, /* "life": rare and long records of the kernel and of snapshots */
	CHUNK_STREAM_APP,  /* "app-<pid>"; see CHUNK_PROGRAMS_MAX */
	CHUNK_STREAM_LATE, /* "late": came after the cut before their time */
};

/*
 * A reader takes so many streams of a chunk, a writer makes so many of programs: the last one
 * takes the records of all further programs, too. Whose a record is, it says itself.
 */
#define CHUNK_STREAMS_MAX 16384u
#define CHUNK_PROGRAMS_MAX 4096u

/* Whom a recording belongs to, where that is not the user who writes it. */
struct chunk_owner {
	uid_t uid;
	gid_t gid;
};

struct chunk_writer_options {
	const char *dir;		   /* the recording; created if missing */
	const struct recording_hold *hold; /* of it, borrowed while it opens; may be NULL */
	uint64_t begin_ns;		   /* the cut; 0: now */
	uint64_t begun_ns;		   /* when the last stream begins; 0: at the cut, too */
	uint64_t complete_ns;		   /* when the first stream ends; 0: at the end, too */
	uint64_t late_ns;		   /* complete_ns of the chunk before; 0: at the cut, too */
	const char *cpus;    /* base/cpu_list.h: their streams are there from the begin; NULL: as
				records come */
	const char *missing; /* what the kernel lacks, as in chunk_info; NULL: nothing */
	uint64_t filters;    /* FILTER_*: what is left out on request */
	uint64_t seq;	     /* its number, for who counts on; 0: one that no chunk in `dir` has */
	const char *host;    /* NULL: this host's name */
	const char *boot_id; /* NULL: this boot's */
	const struct chunk_clock *clock; /* NULL: of this host, now */
	const struct chunk_owner *owner; /* of what is made; NULL: the effective user */
	bool compress;			 /* zstd, when it is sealed */
	bool no_sync;			 /* tests: no fsync */
};

/*
 * Begins a chunk. The writer belongs to the caller until chunk_writer_close()
 * or chunk_sealer_push(). One thread at a time.
 */
int chunk_writer_open(struct chunk_writer **writer, const struct chunk_writer_options *options,
		      struct error *e);

/*
 * The stream of a CPU (number) or a process (number is its pid); made at the
 * first call, or one that it shares. Belongs to the writer. NULL with errno set if memory ran out.
 */
struct chunk_stream *chunk_writer_stream(struct chunk_writer *writer, enum chunk_stream_kind kind,
					 uint32_t number);

/*
 * Takes a copy of a record. `head.slots` says how many bytes of it there are
 * (64 each; what is missing of its struct is zero); 0: the whole struct is
 * there. Records of a stream may come in any order, as long as none is older
 * than what its stream has advanced to: a record that is (or that is older
 * than the begin of the chunk) goes to the late stream by itself. seq is ignored.
 * A record that makes no sense (kind, length) is -EINVAL, counted as lost.
 * What memory or disk do not take is counted as lost (buffer) in the stream.
 */
int chunk_writer_add(struct chunk_stream *stream, const struct record_head *record);

/*
 * Counts records that never came: becomes a `lost` record of this stream and the stream's
 * discarded events. Of the head only time_ns counts. Of the count 0 it says that some of those
 * that the next chunk counts may be of this one; nothing, if it takes no time.
 */
int chunk_writer_lost(struct chunk_stream *stream, const struct record_lost *lost);

/* Counts fields that could not be read, into the manifest. */
void chunk_writer_incomplete(struct chunk_writer *writer, uint64_t count);

/*
 * Advances all streams (late excepted) to up_to_ns, ends their packets and
 * writes them to the files; every CPU stream gets a packet that says so, even
 * without a record. A failed write (disk full) is returned, what it concerns
 * is counted as lost, and the writer goes on.
 */
int chunk_writer_flush(struct chunk_writer *writer, uint64_t up_to_ns, struct error *e);

/*
 * Some records that are older than the cut are still being written; none of them is older
 * than complete_ns. Before the cut.
 */
void chunk_writer_complete(struct chunk_writer *writer, uint64_t complete_ns);

/*
 * Ends the chunk at the instant cut_ns: encodes and writes all older records.
 * Later ones go to `next`, if it is not NULL, else they are counted as lost.
 * Only chunk_writer_seal() and chunk_writer_close() may follow. No fsync.
 */
int chunk_writer_cut(struct chunk_writer *writer, uint64_t cut_ns, struct chunk_writer *next,
		     struct error *e);

/*
 * Seals a chunk that was cut: compresses (what cannot be, stays plain), writes the manifest,
 * fsyncs, renames. May be called by another thread than the one that wrote. `info` may be NULL.
 */
int chunk_writer_seal(struct chunk_writer *writer, struct chunk_info *info, struct error *e);

/* It will be sealed uncompressed, whatever its options say. */
void chunk_writer_plain(struct chunk_writer *writer);

/* Bytes in files and in memory so far (for rotation by size), and its directory. */
uint64_t chunk_writer_bytes(const struct chunk_writer *writer);
const char *chunk_writer_path(const struct chunk_writer *writer);

/* Its number: chunks of a recording are numbered as they are begun. */
uint64_t chunk_writer_seq(const struct chunk_writer *writer);

/* The recording has another name now. */
void chunk_writer_moved(struct chunk_writer *writer, const char *dir);

/* Frees a writer; an unsealed chunk stays under its temporary name. NULL is fine. */
void chunk_writer_close(struct chunk_writer *writer);

/* Frees a writer that has sealed nothing, and removes what it has written. NULL is fine. */
void chunk_writer_abandon(struct chunk_writer *writer);

/* ---- sealing without waiting ---- */

struct chunk_sealer;

/*
 * Called on the sealer's thread after each chunk: `err` is 0 and info is
 * filled, or negative and e says why (the chunk is left for recovery).
 */
typedef void chunk_sealed_fn(void *arg, int err, const struct chunk_info *info,
			     const struct error *e);

int chunk_sealer_open(struct chunk_sealer **sealer, chunk_sealed_fn *sealed, void *arg,
		      struct error *e);
/*
 * Takes the writer over; it is sealed and freed in the order of the calls. Never blocks on I/O.
 * While more than a few wait, none is compressed: a disk that fills with unsealed chunks, which no
 * retention counts, is worse than larger ones.
 */
int chunk_sealer_push(struct chunk_sealer *sealer, struct chunk_writer *writer);
/* Waits until all is sealed, ends the thread, frees. NULL is fine. */
void chunk_sealer_close(struct chunk_sealer *sealer);

/* ---- a directory of chunks ---- */

/*
 * Makes the directory if it is missing, for `owner` (NULL: the effective user),
 * and locks it for one recorder. -EBUSY
 * if another has it. *hold is the caller's, to give to recording_unlock().
 */
int recording_lock(const char *dir, const struct chunk_owner *owner, struct recording_hold *hold,
		   struct error *e);

/* Closes both descriptors, of which any may be -1; they are -1 then. */
void recording_unlock(struct recording_hold *hold);

/*
 * Called for each chunk that a crash left: with `info` if it is sealed now, else (NULL) `why` it
 * is left as it is.
 */
typedef void chunk_recovered_fn(void *arg, const struct chunk_info *info, const struct error *why);

/*
 * Seals what a crash left in `dir`, each stream up to its last whole packet; what is damaged
 * before that is taken out and counted.
 * Call it with the lock held. `recovered` (may be NULL) is called for each;
 * a directory without anything to recover is removed. One that cannot be sealed for what it
 * is itself is left, and keeps nobody from the others; for another reason (memory, rights, the
 * disk) this fails, after the others.
 * Returns how many were recovered.
 */
int recording_recover(const char *dir, const struct recording_hold *hold,
		      chunk_recovered_fn *recovered, void *arg, struct error *e);

/* Makes a new directory for a recording. -EEXIST if there is something of that name. */
int recording_make(const char *dir, const struct chunk_owner *owner, struct error *e);

/*
 * Removes a recording, if it is one: a directory of the effective user's or of
 * `owner` (may be NULL) that has nothing but chunks and what recorders leave
 * beside them. Else -EPERM or -ENOTEMPTY, -EBUSY while it is being recorded.
 */
int recording_remove(const char *dir, const struct chunk_owner *owner, struct error *e);

/* Would recording_remove() remove it? 0, or what it would return. */
int recording_removable(const char *dir, const struct chunk_owner *owner, struct error *e);

/* Removes one chunk, whatever its directory's name. */
int chunk_remove(const char *path, struct error *e);

struct chunk_reader;

struct recording_keep {
	uint64_t age_ns; /* 0: no limit */
	uint64_t bytes;	 /* 0: no limit */
	/*
	 * Called for each chunk before it goes, with a reader at its begin, unless it is no
	 * chunk or a damaged one; what does not return 0 keeps it. NULL: nobody asks.
	 */
	int (*before)(void *arg, struct chunk_reader *reader, struct error *e);
	/* Called once for several of these, when they are about to go; NULL: nobody asks. */
	int (*together)(void *arg, struct error *e);
	void *arg;
	const struct recording_hold *hold; /* borrowed; may be NULL */
};

/* What is to be deleted for its size. */
struct recording_excess {
	size_t chunks;
	uint64_t bytes;
};

/*
 * Keeps a recording within limits. One thread at a time, with the lock held.
 * Opening it removes what a crash left of chunks that were being deleted.
 */
struct recording_retainer;

int recording_retainer_open(struct recording_retainer **retainer, const char *dir,
			    const struct recording_keep *keep, struct error *e);

/*
 * Deletes the oldest sealed chunks until the limits are met (the latest one
 * always stays). How old one of this boot is, now_ns says (CLOCK_MONOTONIC), which nobody sets,
 * and now_unix_ns of others. If `before` keeps one, or one cannot be read for a reason that is not
 * its own (descriptors, rights, the disk), nothing more is deleted and that is returned. Returns
 * how many were deleted. Those that go together have 32 MB at most, or are one.
 */
int recording_retain(struct recording_retainer *retainer, uint64_t now_unix_ns, uint64_t now_ns,
		     struct error *e);

/* As the last recording_retain() found it, before it deleted. */
struct recording_excess recording_retainer_excess(const struct recording_retainer *retainer);

void recording_retainer_close(struct recording_retainer *retainer); /* NULL is fine */

/* ---- reading ---- */

/* Called with one line for each damaged chunk; `text` has no line break. */
typedef void chunk_damage_fn(void *arg, const char *text);

/*
 * Opens a chunk (also one that is still being written). Thread-safe between
 * different readers. Fails only if there is no chunk at all: what is damaged
 * is skipped and counted in chunk_reader_info()->lost.damaged.
 */
int chunk_reader_open(struct chunk_reader **reader, const char *path, struct error *e);

/*
 * The next record of all streams by (time, cpu, order in the stream): 1 and
 * *record, or 0 at the end. head.slots says how many slots it would fill, seq
 * is 0; all fields of its struct are filled, of a text `<name>_len` bytes and,
 * if it has room, a NUL. The record is the reader's and lives until the next call.
 * Records of the packets' tables are not delivered.
 * Where a loss begins comes a copy of its `lost` record that is in no stream, with this time
 * and the count LOST_BEGINS; the chunk's begin, if it began before. In place of what is damaged
 * in the stream of a CPU come such a record and, where records are there again, one of count 0;
 * of a program that one only, which says that the program lost them.
 * Negative only if memory runs out.
 */
int chunk_reader_next(struct chunk_reader *reader, const struct record_head **record,
		      struct error *e);

/* What the manifest says and, once all is read, what was found damaged. */
const struct chunk_info *chunk_reader_info(const struct chunk_reader *reader);
/* Why it is damaged, one line, NULL if it is not (as far as it was read). */
const char *chunk_reader_damage(const struct chunk_reader *reader);
/*
 * 0, or the negative errno of a file that could not be read (as far as it was) though it may be
 * whole: for want of descriptors or rights, by an error of the disk. Another try may succeed.
 */
int chunk_reader_failed(const struct chunk_reader *reader);
/* Is it the chunk's own fault that it cannot be read: it is none, or it is damaged? */
bool chunk_error_is_own(int err);
void chunk_reader_close(struct chunk_reader *reader);

/* Streams one by one: index from 0 up to chunk_reader_streams(). Do not mix with _next(). */
size_t chunk_reader_streams(const struct chunk_reader *reader);
const char *chunk_reader_stream_name(const struct chunk_reader *reader, size_t index);
int chunk_reader_stream_next(struct chunk_reader *reader, size_t index,
			     const struct record_head **record, struct error *e);

struct recording;

struct recording_gap {
	uint64_t from_ns;
	uint64_t to_ns;
};

struct recording_info {
	const struct chunk_info *chunks; /* in the order of time */
	size_t chunk_count;
	const struct recording_gap
		*gaps; /* between its chunks; from complete_ns of a recovered one */
	size_t gap_count;
	uint64_t begin_ns;
	uint64_t end_ns;
	struct chunk_lost lost; /* sum of what is known before they are read */
	uint64_t illegible;	/* chunks of which nothing can be read; in lost.damaged each is 1 */
	uint64_t incomplete;
	const char *boot_id;
	const char *host;
};

/*
 * Up to when nothing of its time is missing: end_ns, but of what a crash left, in which each stream
 * ends where its last packet was written, complete_ns. A gap begins there.
 */
uint64_t chunk_covers_to(const struct chunk_info *chunk);

struct recording_options {
	int boot;	   /* 0: the latest in it, -1: the one before, ... */
	const char *after; /* NULL, or a sealed chunk's path: only those made later, by name */
	bool with_open;	   /* chunks that are being written too, and what is damaged */
	chunk_damage_fn *damage; /* may be NULL; told of chunks that a crash left, too */
	void *arg;
};

/*
 * Opens recordings and chunks, in any order and any mix: a chunk given twice
 * (by its identity) counts once; sorted by time. `options` may be NULL.
 * Open chunks that nobody writes to are read up to their last whole packets.
 * -ENOENT if there is no chunk.
 */
int recording_open(struct recording **recording, const char *const *dirs, size_t count,
		   const struct recording_options *options, struct error *e);

/* Valid until the recording is closed; recording_pass_over() changes it. */
const struct recording_info *recording_info(const struct recording *recording);

/*
 * Whether two of its chunks are of the same time, as only two recorders at once make them: what
 * both saw is in both. `pair` gets two of them, the one that begins first before the other. A
 * time in which the streams of a chunk end and those of the next one begin one by one is none.
 */
bool recording_overlap(const struct recording *recording, const struct chunk_info *pair[2]);

/*
 * Takes `count` chunks from `at` on out of it, not the first one and not the last one: something
 * else stands for them. Where they were is a gap. 0 or -ENOMEM.
 */
int recording_pass_over(struct recording *recording, size_t at, size_t count);
void recording_close(struct recording *recording);

#endif
