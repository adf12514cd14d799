/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks: directories of records of one host over one range of time.
 *
 * A recording is a directory of chunks. A chunk is written under the name
 * `.open-<begin>-<seq>` and becomes `<begin>-<end>-<seq>` when it is sealed;
 * begin and end are Unix nanoseconds with 20 digits, so names sort by time.
 * Directories and files are accessible to their owner only (0700, 0600): a recording
 * contains arguments and paths of all users. A chunk is a valid CTF 1.8 trace;
 * chunk/format.h describes its bytes.
 *
 * Points in time are nanoseconds of CLOCK_MONOTONIC, unless a name says unix.
 * Unless stated otherwise, functions return 0, or a negative errno and then put a cause
 * into `e`, which may be NULL, and leave their outputs unchanged.
 *
 * A recorder calls:
 *
 *   recording_lock(dir, ..., &hold)         one recorder in a directory
 *   recording_recover(dir, &hold, ...)      seal chunks that a crash left
 *   chunk_sealer_open(&sealer, ...)         the thread that seals
 *   chunk_writer_open(&w, &options)
 *   loop: chunk_writer_add(stream, record)  as the rings are drained
 *         chunk_writer_flush(w, T)          every few 100 ms: bounds the loss in a crash
 *   rotate at the instant C (all rings are drained past C):
 *         chunk_writer_open(&next, begin_ns = C)
 *         chunk_writer_cut(w, C, next)      records at C and later move to next
 *         chunk_sealer_push(sealer, w)      fsync and rename, on the sealer's thread
 *   chunk_sealer_close(sealer)              waits
 *
 * fathom's own cuts are instants. For uneven cuts (a foreign trace), begun_ns and
 * complete_ns of the writer's options give the time in which all streams are there. So
 * does chunk_writer_complete(), if a producer was in the middle of a record at the cut:
 * its records of the time before go to the late stream of a later chunk.
 */
#ifndef CHUNK_CHUNK_H
#define CHUNK_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/record.h"

/* ---- facts about a chunk ---- */

enum chunk_state {
	CHUNK_OPEN, /* being written, or left open by a crash */
	CHUNK_SEALED,
	CHUNK_RECOVERED, /* sealed after a crash, up to the last whole packet of each stream */
};

/* "open", "sealed" or "recovered". Static memory. */
const char *chunk_state_name(enum chunk_state state);

/* Numbers of lost records, by enum record_loss. */
struct chunk_lost {
	uint64_t buffer;
	uint64_t recursion;
	uint64_t application;
	uint64_t damaged;
	uint64_t uncounted; /* `lost` records with count 0: a loss around a cut is in the next chunk
			     */
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

/* Reads the id of this boot; empty if the kernel does not provide it. */
void chunk_boot_read(char boot_id[CHUNK_BOOT_BYTES]);

/*
 * The boot id that the chunks of a recorder bear which was given a name for its host: derived of
 * this boot and the name, so that another name is another host. NULL: the id of this boot.
 */
void chunk_boot_named(char boot_id[CHUNK_BOOT_BYTES], const char *host);

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
	uint64_t end_ns;      /* the cut at which it ends: all its records are older */
	uint64_t begun_ns;    /* when all streams have begun: begin_ns, unless cut unevenly */
	uint64_t complete_ns; /* no stream lacks an older record; end_ns, unless cut unevenly,
				 cut while a record was being written, or recovered after a
				 crash; can be before begin_ns */
	uint64_t late_ns;     /* complete_ns of the chunk before: begin_ns, or less */
	uint64_t cpus;	      /* number of CPUs with a stream from the begin on; in a recovered
				 chunk some streams may be missing; 0: unknown */
	char cpu_list[CHUNK_CPU_LIST_BYTES]; /* these CPUs; "": 0 .. cpus - 1 */
	char missing[CHUNK_MISSING_BYTES];   /* tracepoints that the kernel lacked, separated by
						commas; "": none */
	uint64_t filters;		     /* FILTER_*: what the user left out */
	bool cpus_unknown;	  /* no list of these CPUs is left: any stream may be missing */
	struct chunk_clock clock; /* at its begin */
	uint64_t records;	  /* CTF events, as babeltrace2 counts them */
	uint64_t bytes;		  /* of its files */
	struct chunk_lost lost;
	uint64_t incomplete; /* fields that were cut or could not be read */
	enum chunk_state state;
	bool plain; /* when it is sealed: left uncompressed, because too many waited */
};

/* ---- a recording that is written ---- */

/*
 * The descriptors by which a recorder holds its recording. All writes go through them: the path
 * belongs to a user who may replace it by a link, and the writer may have more rights. A path that
 * is given together with a hold is only used in messages. Without a hold (NULL), the path is
 * opened.
 */
struct recording_hold {
	int dir;  /* the directory */
	int lock; /* its locked file */
};

/* ---- writing ---- */

struct chunk_writer;
struct chunk_stream;

enum chunk_stream_kind {
	CHUNK_STREAM_CPU,  /* "cpu<number>" */
	CHUNK_STREAM_LIFE, /* "life": rare and long records of the kernel and of snapshots */
	CHUNK_STREAM_APP,  /* "app-<pid>"; see CHUNK_PROGRAMS_MAX */
	CHUNK_STREAM_LATE, /* "late": records of a time before the chunk that arrived late */
};

/*
 * The maximum of streams that a reader takes, and of program streams that a writer makes. The last
 * program stream takes the records of all further programs. Each record has its own pid.
 */
#define CHUNK_STREAMS_MAX 16384u
#define CHUNK_PROGRAMS_MAX 4096u

/* The owner of a recording, if it is not the user who writes it. */
struct chunk_owner {
	uid_t uid;
	gid_t gid;
};

struct chunk_writer_options {
	const char *dir;		   /* the recording; created if missing */
	const struct recording_hold *hold; /* of dir, borrowed during the call; may be NULL */
	uint64_t begin_ns;		   /* the cut; 0: now */
	uint64_t begun_ns;		   /* when the last stream begins; 0: at the cut */
	uint64_t complete_ns;		   /* when the first stream ends; 0: at the end */
	uint64_t late_ns;		   /* complete_ns of the chunk before; 0: the cut */
	const char *cpus;    /* CPUs (base/cpu_list.h) with streams from the begin; NULL: streams
				are made for their first record */
	const char *missing; /* tracepoints, as in chunk_info; NULL: none */
	uint64_t filters;    /* FILTER_*: what the user left out */
	uint64_t seq;	     /* the number of the chunk; 0: the next free one in `dir` */
	const char *host;    /* NULL: this host's name */
	const char *boot_id; /* NULL: this boot's id */
	const struct chunk_clock *clock; /* NULL: this host's clocks, now */
	const struct chunk_owner *owner; /* of the files; NULL: the effective user */
	bool compress;			 /* with zstd, when it is sealed */
	bool no_sync;			 /* for tests: no fsync */
};

/*
 * Begins a chunk. The caller owns the writer until chunk_writer_close() or
 * chunk_sealer_push(). One thread at a time may use a writer.
 */
int chunk_writer_open(struct chunk_writer **writer, const struct chunk_writer_options *options,
		      struct error *e);

/*
 * Returns the stream of a CPU (`number`) or of a process (`number` is its pid). It is made at
 * the first call, or shared (CHUNK_PROGRAMS_MAX). The writer owns it. NULL with errno set if
 * out of memory.
 */
struct chunk_stream *chunk_writer_stream(struct chunk_writer *writer, enum chunk_stream_kind kind,
					 uint32_t number);

/*
 * Copies a record into a stream. `head.slots` is the number of its 64-byte slots; missing
 * bytes of its struct are zero; 0: the whole struct is there. `seq` is ignored. Records of
 * a stream may come in any order. A record that is older than the time to which its stream
 * has advanced, or than the begin of the chunk, goes to the late stream.
 * An invalid record (kind, length) gives -EINVAL and is counted as lost. A record for
 * which memory or disk has no room is counted as lost (buffer) in the stream.
 */
int chunk_writer_add(struct chunk_stream *stream, const struct record_head *record);

/*
 * Counts lost records: writes a `lost` record into this stream, and adds to its discarded events.
 * Only time_ns of the head is used. A count of 0 means that some of the losses which the next
 * chunk counts may lie in this one; it means nothing if the loss takes no time.
 */
int chunk_writer_lost(struct chunk_stream *stream, const struct record_lost *lost);

/* Adds to the incomplete fields in the manifest. */
void chunk_writer_incomplete(struct chunk_writer *writer, uint64_t count);

/*
 * Advances all streams except the late one to up_to_ns, ends their packets and
 * writes them to the files. Every CPU stream gets a packet, even without a record,
 * that shows how far it has advanced. If a write fails (disk full), the error is
 * returned, its records are counted as lost, and the writer can go on.
 */
int chunk_writer_flush(struct chunk_writer *writer, uint64_t up_to_ns, struct error *e);

/*
 * Call this before the cut if producers are still writing records that are older than the cut. None
 * of these is older than complete_ns.
 */
void chunk_writer_complete(struct chunk_writer *writer, uint64_t complete_ns);

/*
 * Ends the chunk at the instant cut_ns: encodes and writes all older records.
 * Later records go to `next` or, if that is NULL, are counted as lost.
 * Only chunk_writer_seal() and chunk_writer_close() may follow. No fsync.
 */
int chunk_writer_cut(struct chunk_writer *writer, uint64_t cut_ns, struct chunk_writer *next,
		     struct error *e);

/*
 * Seals a chunk that was cut: compresses (files that cannot be compressed stay plain), writes the
 * manifest, fsyncs, renames. Another thread than the one that wrote may call it. `info` may be
 * NULL.
 */
int chunk_writer_seal(struct chunk_writer *writer, struct chunk_info *info, struct error *e);

/* Seal the chunk uncompressed, whatever its options are. */
void chunk_writer_plain(struct chunk_writer *writer);

/* The bytes in files and in memory so far (for rotation by size), and the path of the chunk. */
uint64_t chunk_writer_bytes(const struct chunk_writer *writer);
const char *chunk_writer_path(const struct chunk_writer *writer);

/* The number of the chunk. The chunks of a recording are numbered in order of their begin. */
uint64_t chunk_writer_seq(const struct chunk_writer *writer);

/* The directory of the recording was renamed to `dir`. */
void chunk_writer_moved(struct chunk_writer *writer, const char *dir);

/* Frees a writer. An unsealed chunk stays under its temporary name. NULL is allowed. */
void chunk_writer_close(struct chunk_writer *writer);

/* Frees a writer and removes its unsealed chunk. NULL is allowed. */
void chunk_writer_abandon(struct chunk_writer *writer);

/* ---- sealing on another thread ---- */

struct chunk_sealer;

/*
 * The sealer's thread calls this after each chunk. `err` is 0 and `info` is filled, or
 * `err` is negative, `e` has the cause, and the chunk is left for recovery.
 */
typedef void chunk_sealed_fn(void *arg, int err, const struct chunk_info *info,
			     const struct error *e);

/* Starts the thread that seals. Free it with chunk_sealer_close(). */
int chunk_sealer_open(struct chunk_sealer **sealer, chunk_sealed_fn *sealed, void *arg,
		      struct error *e);
/*
 * Takes ownership of the writer. Writers are sealed and freed in the order of the calls. Never
 * blocks on I/O. While more than a few wait, none is compressed. Otherwise the disk could fill with
 * unsealed chunks, which retention does not count.
 */
int chunk_sealer_push(struct chunk_sealer *sealer, struct chunk_writer *writer);
/* Waits until all chunks are sealed, ends the thread, and frees. NULL is allowed. */
void chunk_sealer_close(struct chunk_sealer *sealer);

/* ---- a directory of chunks ---- */

/*
 * Makes the directory if it is missing, for `owner` (NULL: the effective user), and
 * locks it for one recorder. -EBUSY if another recorder has it. The caller releases
 * *hold with recording_unlock().
 */
int recording_lock(const char *dir, const struct chunk_owner *owner, struct recording_hold *hold,
		   struct error *e);

/* The same for a directory that is open; `dir` is used in messages. Borrows the descriptor. */
int recording_lock_opened(const char *dir, int fd, struct recording_hold *hold, struct error *e);

/*
 * Opens the directory `name` in another one, which its owner writes, and makes it if it is
 * missing. Follows no link: -ENOTDIR or -ELOOP; -EPERM if it is not of `owner` (NULL: the effective
 * user). Returns a descriptor or a negative errno.
 */
int recording_make_at(int parent, const char *name, const struct chunk_owner *owner,
		      struct error *e);

/* Closes both descriptors and sets them to -1. Each may be -1 before. */
void recording_unlock(struct recording_hold *hold);

/*
 * Called for each chunk that a crash left: with `info` if it was sealed, or with NULL and the
 * reason in `why` if it was left unchanged.
 */
typedef void chunk_recovered_fn(void *arg, const struct chunk_info *info, const struct error *why);

/*
 * Seals the chunks that a crash left in `dir`, each stream up to its last whole packet. Damaged
 * parts before that are removed and counted. Call it with the lock held. `recovered` (may be NULL)
 * is called for each chunk. A chunk without anything to recover is removed. A chunk that cannot be
 * sealed because of its own contents is left unchanged. After any other failure (memory, rights,
 * the disk), the function continues with the other chunks, and then returns the error. Returns the
 * number of recovered chunks.
 */
int recording_recover(const char *dir, const struct recording_hold *hold,
		      chunk_recovered_fn *recovered, void *arg, struct error *e);

/* Makes a new directory for a recording. -EEXIST if the name exists. */
int recording_make(const char *dir, const struct chunk_owner *owner, struct error *e);

/*
 * Removes a recording. It must be a directory of the effective user or of `owner` (may
 * be NULL; otherwise -EPERM) that has only chunks and the files of recorders beside
 * them (otherwise -ENOTEMPTY). -EBUSY while a recorder uses it.
 */
int recording_remove(const char *dir, const struct chunk_owner *owner, struct error *e);

/* Whether recording_remove() would remove it: 0, or the error that it would return. */
int recording_removable(const char *dir, const struct chunk_owner *owner, struct error *e);

/* Removes one chunk, whatever the name of its directory. */
int chunk_remove(const char *path, struct error *e);

struct chunk_reader;

struct recording_keep {
	uint64_t age_ns; /* 0: no limit */
	uint64_t bytes;	 /* 0: no limit */
	bool by_names;	 /* nothing in the chunks is read, so ages are those of the wall clock */
	/*
	 * Called before each chunk is deleted, with a reader at its begin, unless it is damaged or
	 * not a chunk. A result other than 0 keeps the chunk. May be NULL.
	 */
	int (*before)(void *arg, struct chunk_reader *reader, struct error *e);
	/*
	 * Called once for several of these chunks, before they are deleted. May be NULL. On a full
	 * disk (-ENOSPC, -EDQUOT) it is called again after each of them is deleted.
	 */
	int (*together)(void *arg, struct error *e);
	void *arg;
	const struct recording_hold *hold; /* borrowed; may be NULL */
	const char
		*host; /* the name that this host was given, see chunk_boot_named(); may be NULL */
};

/* The chunks beyond the limit on the size. */
struct recording_excess {
	size_t chunks;
	uint64_t bytes;
};

/*
 * Keeps a recording within limits. One thread at a time, with the lock held.
 * Opening it removes the rests of chunks that were being deleted in a crash.
 */
struct recording_retainer;

int recording_retainer_open(struct recording_retainer **retainer, const char *dir,
			    const struct recording_keep *keep, struct error *e);

/*
 * Deletes the oldest sealed chunks until the limits are met; the latest one always stays. The
 * age of a chunk of this boot comes from now_ns (CLOCK_MONOTONIC, which nobody sets), of other
 * chunks from now_unix_ns of the first call, and what passed since then by now_ns. If `before`
 * keeps a chunk, or a chunk cannot be read for a reason outside of it (descriptors, rights, the
 * disk), nothing more is deleted and that error is returned. Otherwise returns the number of
 * deleted chunks. `together` is called for chunks of at most 32 MB, or for one larger chunk.
 */
int recording_retain(struct recording_retainer *retainer, uint64_t now_unix_ns, uint64_t now_ns,
		     struct error *e);

/* The excess that the last recording_retain() found, before it deleted. */
struct recording_excess recording_retainer_excess(const struct recording_retainer *retainer);

/* How many chunks the last recording_retain() deleted, also if it failed later. */
size_t recording_retainer_gone(const struct recording_retainer *retainer);

void recording_retainer_close(struct recording_retainer *retainer); /* NULL is allowed */

/* ---- reading ---- */

/* Called with one line for each damaged chunk; `text` has no line break. */
typedef void chunk_damage_fn(void *arg, const char *text);

/*
 * Opens a chunk, also one that is still being written. Different threads may use different
 * readers. Fails only if there is no chunk at all: damaged parts are skipped and counted in
 * chunk_reader_info()->lost.damaged.
 */
int chunk_reader_open(struct chunk_reader **reader, const char *path, struct error *e);

/*
 * Delivers the next record of all streams, in order of (time, cpu, position in the stream).
 * Returns 1 and *record, 0 at the end, or -ENOMEM. head.slots is the number of slots that the
 * record would fill, and seq is 0. All fields of its struct are filled; of a text, `<name>_len`
 * bytes and, if there is room, a NUL. The reader owns the record, until the next call. Rows of
 * the packets' tables are not delivered.
 *
 * Where a loss begins, a copy of its `lost` record is delivered that is in no stream. It has the
 * time of the begin (or of the chunk's begin, if that is later) and the count LOST_BEGINS. A
 * damaged part in the stream of a CPU is replaced by such a record and, where the records
 * continue, by one with count 0. In the stream of a program it is replaced by the second one
 * only, which says that the program lost the records.
 */
int chunk_reader_next(struct chunk_reader *reader, const struct record_head **record,
		      struct error *e);

/* The facts of the manifest and, once everything is read, the damage that was found. Borrowed. */
const struct chunk_info *chunk_reader_info(const struct chunk_reader *reader);
/* The damage, in one line; NULL if none was found so far. Borrowed. */
const char *chunk_reader_damage(const struct chunk_reader *reader);
/*
 * 0, or the negative errno of a file that could not be read so far although it may be intact: lack
 * of descriptors or rights, or an error of the disk. Another attempt may succeed.
 */
int chunk_reader_failed(const struct chunk_reader *reader);
/* Whether an error means that the chunk itself is damaged, or is not a chunk. */
bool chunk_error_is_own(int err);
void chunk_reader_close(struct chunk_reader *reader);

/*
 * The streams one by one: `index` is below chunk_reader_streams(). Do not mix this with
 * chunk_reader_next().
 */
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
		*gaps; /* between its chunks; after a crash, from complete_ns on */
	size_t gap_count;
	uint64_t begin_ns;
	uint64_t end_ns;
	struct chunk_lost lost; /* sum of the manifests, before the chunks are read */
	uint64_t illegible;	/* chunks that cannot be read at all; each is 1 in lost.damaged */
	uint64_t incomplete;
	const char *boot_id;
	const char *host; /* of several hosts of one name: NAME@ and 8 digits of the boot id */
};

#define RECORDING_HOST_BYTES (CHUNK_HOST_BYTES + 9)

/*
 * The time up to which a chunk is complete, and at which a gap begins: end_ns. After a crash it is
 * complete_ns, since each stream ends with its last written packet.
 */
uint64_t chunk_covers_to(const struct chunk_info *chunk);

struct recording_options {
	int boot;	   /* 0: the latest boot, -1: the one before, ... */
	const char *after; /* NULL, or the path of a sealed chunk: only chunks after it, by name */
	bool with_open;	   /* include damaged chunks and chunks that are being written */
	bool only_sealed;  /* leave out chunks that a crash left open: they are yet to be sealed */
	chunk_damage_fn *damage; /* may be NULL; also called for chunks that a crash left */
	void *arg;
};

/*
 * Opens directories of recordings and single chunks, in any order. A chunk that is
 * given twice (by its identity) counts once. The chunks are sorted by time. `options`
 * may be NULL. Open chunks that nobody writes to are read up to their last whole
 * packets. -ENOENT if there is no chunk. Free it with recording_close().
 */
int recording_open(struct recording **recording, const char *const *dirs, size_t count,
		   const struct recording_options *options, struct error *e);

/* What is opened. All is borrowed; `options` may be NULL. */
struct recording_query {
	const char *const *dirs;
	size_t count;
	const struct recording_options *options;
};

/* Recordings of different hosts. */
struct recording_set {
	struct recording **data; /* owned, by the name of the host */
	size_t count, capacity;
};

/*
 * Opens recordings and chunks of any number of hosts: of each host its latest boot, as
 * recording_open() does for one. A host is told by its boot id. Another boot is of the same host if
 * it bears the same name, and no chunks of the two overlap in Unix time. An earlier boot
 * (options.boot) can be asked for of one host only: else -EINVAL. Errors otherwise as above. Free
 * the set with recording_set_close().
 */
int recording_set_open(struct recording_set *set, const struct recording_query *query,
		       struct error *e);
void recording_set_close(struct recording_set *set);

/* Valid until the recording is closed; recording_pass_over() changes it. */
const struct recording_info *recording_info(const struct recording *recording);

/*
 * Whether two of its chunks overlap in time. Only two recorders at once make such chunks, and
 * events that both saw are in both. `pair` gets two of them, in order of their begin. The time of
 * an uneven cut between two chunks is not an overlap.
 */
bool recording_overlap(const struct recording *recording, const struct chunk_info *pair[2]);

/*
 * Removes `count` chunks from index `at` on, neither the first nor the last one, since a checkpoint
 * replaces them. Their time becomes a gap. 0 or -ENOMEM.
 */
int recording_pass_over(struct recording *recording, size_t at, size_t count);
void recording_close(struct recording *recording);

#endif
