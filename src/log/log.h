/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An append-only log in a directory: the queue between what receives and what stores.
 *
 * An entry has a position, a number that only grows, and bytes that mean nothing to the log. What
 * was synced is still there after a crash. All who wait at the same time share one fdatasync. Old
 * entries are removed a segment (one file) at a time. The format stands on top of segment.h.
 *
 * One process writes a directory at a time. Functions on a struct log are for all threads; a
 * struct log_reader is for one at a time.
 */
#ifndef LOG_LOG_H
#define LOG_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define LOG_ENTRY_BYTES_MAX ((size_t)64 << 20)
#define LOG_SEGMENT_BYTES ((uint64_t)64 << 20) /* a segment that is longer is not continued */

struct log;

struct log_options {
	uint64_t segment_bytes; /* 0: LOG_SEGMENT_BYTES */
	uint64_t begin;		/* the position that its reader has reached: appends go behind it */
};

/* A piece of an entry. */
struct log_part {
	const void *data;
	size_t bytes;
};

struct log_status {
	uint64_t begin;	    /* position of the oldest entry that is kept */
	uint64_t end;	    /* position behind the newest one */
	uint64_t synced;    /* what lies before it is durable */
	uint64_t syncs;	    /* fdatasync calls */
	uint64_t cut_bytes; /* that opening cut from the end, behind the last whole entry */
	int failed;	    /* why nothing can be written now, a negative errno; 0: it can */
};

/*
 * Opens the log in the directory `dir`, a descriptor which stays the caller's, for writing. Cuts
 * what a crash left behind the last whole entry. -EBUSY: another process has it open.
 */
int log_open(int dir, const struct log_options *options, struct log **out, struct error *e);

/*
 * Appends an entry, the parts joined. *end is the position behind it, for log_sync(). On failure
 * the log is as before: -EMSGSIZE: too large; -ENOSPC and the like: try again later.
 */
int log_append(struct log *l, const struct log_part *parts, size_t count, uint64_t *end);

/*
 * Waits until everything before the position `end` is durable. If the kernel could not write, what
 * is on the disk is unknown, and each call for these entries fails. After a second, log_append()
 * begins a new segment behind them. Their positions may be synced or not: call this for each entry.
 */
int log_sync(struct log *l, uint64_t end);

/* Removes segments whose entries all lie before the position. */
int log_trim(struct log *l, uint64_t position, struct error *e);

struct log_status log_status(struct log *l);

/* Syncs and closes the log. NULL is allowed. 0, or the error of the sync. */
int log_close(struct log *l);

struct log_reader;

struct log_entry {
	const void *data; /* valid until the next call */
	size_t bytes;
	uint64_t begin; /* position of the entry */
	uint64_t end;	/* position of the next one */
};

/* Reads from a position: 0, or that of an entry, or the end of one. The log may be written
 * meanwhile. */
int log_reader_open(int dir, uint64_t position, struct log_reader **out, struct error *e);

/*
 * The next entry that lies before the position `until`: 1, 0 if there is none, or a negative errno.
 * Passes over what is damaged and counts it. Give `synced` of the log that is being written.
 */
int log_reader_next(struct log_reader *r, uint64_t until, struct log_entry *entry, struct error *e);

/* Bytes that the reader passed over because they are damaged or gone. */
uint64_t log_reader_lost(const struct log_reader *r);

void log_reader_close(struct log_reader *r);

#endif
