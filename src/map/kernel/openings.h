/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of files and connections are kept by opening: what a descriptor stood for, or whom a socket
 * was connected to, at the time of the call. So a call never counts for a file that had the inode
 * or the descriptor at another time.
 *
 * An opening that is answered is its path, so that memory is bounded by paths. Where no fact of
 * this partial is older than the call, it is "the opening before" of the descriptor or socket. A
 * merge asks the left neighbour for it; what nobody answered, the facts do in the end.
 *
 * Not thread-safe; several threads may ask for names at once.
 */
#ifndef MAP_KERNEL_OPENINGS_H
#define MAP_KERNEL_OPENINGS_H

#include "base/map.h"
#include "base/vec.h"
#include "map/kernel/sums.h"
#include "record/record.h"

struct partial;
struct fact_socket;
struct call_detail;

enum opening_kind {
	OPENING_PATH,	       /* answered */
	OPENING_FD_BEFORE,     /* the descriptor `fd` of process `pid` at the begin */
	OPENING_FILE_BEFORE,   /* a file that no descriptor of `pid` has */
	OPENING_SOCKET,	       /* the socket `socket` with the peer `told` */
	OPENING_SOCKET_BEFORE, /* likewise, of which no fact is older than first_ns */
};

struct opening {
	u64 key; /* sum.opening */
	u8 kind; /* enum opening_kind */
	const char *path;
	u32 mounts; /* of the path: its mount namespace; 0: the recorder's */
	u32 pid;
	s32 fd;
	u64 socket; /* its key; OPENING_FILE_BEFORE: the inode */
	u32 dev;    /* OPENING_FILE_BEFORE: device and kind */
	u16 file_kind;
	const struct fact_socket *told; /* OPENING_SOCKET; with its path of facts.texts */
	u64 first_ns;			/* the first use; of an answered opening 0 */
	/*
	 * Not 0: the time of its only use. A neighbour may have facts that lie between it and uses
	 * at which this partial has all facts.
	 */
	u64 only_ns;
};

/* Starts with all zero. */
struct openings {
	VEC(struct opening) list;
	struct map index; /* key -> number in list + 1 */
	/* Answers that were given last, while records come; NULL: none yet; owned. */
	struct opening_memos *memos;
};

/* A use of a file: by a descriptor if one is known, at a time. */
struct file_use {
	struct file_ref file;
	u32 pid;
	s32 fd; /* -1: none, or not known */
	u64 time_ns;
};

/* Sets file and opening of the sum that the use counts for. 0 or -ENOMEM. */
int opening_of(struct partial *p, const struct file_use *use, struct sum_of *of);

/*
 * A file of which only the descriptor is known, at a call: use.file of opening_of(), and the file
 * of its sum. It counts for the name that the descriptor had.
 */
#define FILE_OF_FD ((struct file_ref){.kind = FILE_KIND_other})

static inline bool file_is_of_fd(const struct file_ref *file)
{
	return file->kind == FILE_KIND_other && !file->key && !file->dev;
}

/* The same of a use that names its path or peer itself. 0 or -ENOMEM. */
int opening_named(struct partial *p, const struct file_use *use, const struct call_detail *detail,
		  struct sum_of *of);

/* Whether a partial has anything that can answer a right neighbour. */
bool openings_answer(const struct partial *p);

/*
 * Merges the sums of files, once the facts of both are together. `answers`: what openings_answer()
 * said of `left` before that. 0 or -ENOMEM.
 */
int openings_merge(struct partial *left, struct partial *right, bool answers);

/* Adds one that was read; its key is made here. 0 or -ENOMEM. */
int openings_take(struct openings *o, struct opening *opening);

void openings_free(struct openings *o);

/* ---- of a finished partial ---- */

/*
 * The path of the file of a sum of files; NULL: not known, or it has none. Sets *mounts to the
 * mount namespace in which it holds; 0: the recorder's.
 */
const char *opening_path(const struct partial *p, const struct sum *sum, u32 *mounts);

/* The addresses of the socket of a sum of files; NULL: it is none, or they are not known. */
const struct fact_socket *opening_socket(const struct partial *p, const struct sum *sum);

#endif
