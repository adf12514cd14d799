/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial files: partials of whole chunks that travel and are kept as files.
 *
 * A file lists its chunks by the identity in their manifests. Chunks that follow each other without
 * a gap are one run, whose partials are merged; runs stay apart until the chunk between them comes.
 * So files merge in any order and grouping: the outcome depends on the set of their chunks alone,
 * and so do its bytes. A checkpoint stays a part of its own, which joins no run: an answer begins
 * with it unless chunks of its time are there.
 *
 * Not thread-safe; different files may be used by different threads.
 */
#ifndef MAP_FILE_FILE_H
#define MAP_FILE_FILE_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "chunk/checkpoint.h"
#include "chunk/chunk.h"
#include "map/partial.h"

/* A chunk, as much of its manifest as answers need. */
struct partial_chunk {
	u8 identity[16];
	char host[CHUNK_HOST_BYTES];
	u64 seq, begin_ns, end_ns, begun_ns, complete_ns; /* as in struct chunk_info */
	u64 covers_ns;					  /* chunk_covers_to() */
	struct chunk_clock clock;
	struct chunk_lost lost; /* all, as reading it found them */
	u64 incomplete;
	char *missing; /* as in struct chunk_info; owned */
	bool unread;   /* it could not be read, so that no partial has it */
};

/* Chunks that follow each other without a gap, or one that could not be read. */
struct partial_run {
	VEC(struct partial_chunk) chunks; /* in the order of time */
	u64 covers_ns;			  /* up to when nothing of their time is missing */
	struct partial *partial;	  /* of all of them, not finished; owned; NULL: unread */
};

/* All of one boot of one host. */
struct partial_boot {
	char boot_id[CHUNK_BOOT_BYTES];
	VEC(struct partial_run *) runs;		      /* owned, in the order of time */
	VEC(struct recording_checkpoint) checkpoints; /* by their ends, then their bytes; owned */
};

/* How the chunks were mapped: alike, or their files do not merge. */
struct partial_terms {
	bool spans;	    /* with each kernel span */
	u64 from_ns, to_ns; /* as in struct partial_options: as they were asked for */
};

struct partial_file {
	struct partial_terms terms;
	u64 illegible;			  /* chunks that say nothing, not even which they are */
	VEC(struct partial_boot *) boots; /* owned, by boot id */
	struct bytes_map identities;	  /* of all chunks, also of runs that a join took */
};

/* A file without a chunk; NULL if memory ran out. */
struct partial_file *partial_file_new(const struct partial_terms *terms);
void partial_file_free(struct partial_file *file); /* NULL is fine */

size_t partial_file_chunks(const struct partial_file *file); /* how many it has */

/* What options a partial must have been mapped with to be added to it. */
struct partial_options partial_file_options(const struct partial_file *file);

/*
 * Adds a chunk: takes `partial`, what map/chunk_map.h made of it with task.covered_ns 0 and
 * partial_file_options(); NULL if the chunk could not be read. `lost`: what reading it found.
 * 0; -EEXIST if another chunk is of its time; -EINVAL if the chunk does not say when it was
 * recorded; -ENOMEM. The partial is freed then, and the file only to be freed.
 */
int partial_file_add(struct partial_file *file, const struct chunk_info *info,
		     const struct chunk_lost *lost, struct partial *partial, struct error *e);

/*
 * Adds a copy of a checkpoint, unless it is there already, or the file has no chunk of its boot. 0
 * or -ENOMEM.
 */
int partial_file_add_checkpoint(struct partial_file *file,
				const struct recording_checkpoint *checkpoint);

/*
 * Joins `right` into `left`, and always frees `right`. If all chunks of one are among those of
 * the other, that one adds nothing. 0; -EEXIST if they share some chunks otherwise, or have chunks
 * of one time that are not the same; -EINVAL if they were mapped in different ways; -ENOMEM. After
 * a failure `left` is only to be freed.
 */
int partial_file_merge(struct partial_file *left, struct partial_file *right, struct error *e);

/* ---- bytes ---- */

/* Appends the file to `out`. Partials may stand in another order afterwards. 0 or -ENOMEM. */
int partial_file_pack(struct partial_file *file, struct bytes *out);

/* True if the bytes begin as those of a partial file do, whole or damaged, of any version. */
bool partial_file_is_one(const void *data, size_t bytes);

/*
 * Makes a file of bytes, which are borrowed only during the call and not trusted. Of `options`,
 * spans and only count, as partial_read() says (map/file/whole.h). 0 and *out, which is the
 * caller's; -EBADMSG if it is not a partial file or is damaged, -EPROTO if another version wrote
 * it, -ENOMEM.
 */
int partial_file_parse(struct partial_file **out, const void *data, size_t bytes,
		       const struct partial_options *options);

/* Reads the file at `path`, which error messages name. */
int partial_file_read(struct partial_file **out, const char *path,
		      const struct partial_options *options, struct error *e);

/* Where a file will be written. */
struct partial_target {
	const char *path; /* borrowed */
	char *beside;	  /* the name that is renamed to it; NULL: closed */
	int fd;		  /* a file without a name; negative: its file system knows none */
};

/*
 * Checks that a file can be written at `path`, before what takes a while. What is there must be a
 * regular file. 0, or a negative errno with the causes: then there is nothing to close.
 */
int partial_target_open(struct partial_target *target, const char *path, struct error *e);
void partial_target_close(struct partial_target *target);

/*
 * Replaces the file at once, for its owner alone to read, or leaves what was there. A signal that
 * ends the process leaves no file beside. Call it once. 0 or a negative errno with the causes.
 */
int partial_target_write(struct partial_target *target, struct partial_file *file, struct error *e);

/* Does all three. */
int partial_file_write(struct partial_file *file, const char *path, struct error *e);

/* ---- answers ---- */

/* The partial of an answer, and its times. */
struct partial_joined {
	struct partial *partial; /* of all runs and checkpoints, not finished; the caller's */
	u64 from_ns;		 /* where the first chunk begins */
	u64 end_ns;		 /* where the last one ends */
	u64 recorded_ns;	 /* how much of the range chunks cover */
};

/*
 * Joins the runs and checkpoints of a boot for an answer with these options (only: see
 * partial_read()). Their limits are those of the file. Takes the runs out of the boot; its chunks
 * stay. A checkpoint that cannot be read is left out, with its cause in `e`. 0 and *out, or
 * -ENOMEM.
 */
int partial_file_join(struct partial_file *file, struct partial_boot *boot,
		      const struct partial_options *options, struct partial_joined *out,
		      struct error *e);

#endif
