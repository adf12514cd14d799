/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One description of a struct for both ways: the functions below write what a
 * pointer points to, or read into it, as the archive was begun. So a reader can
 * never disagree with its writer.
 *
 * After a failure (bytes that make no sense, memory) `err` stays set, reads give
 * zeros and writes do nothing: look at it once, at the end.
 */
#ifndef MAP_CHECKPOINT_ARCHIVE_H
#define MAP_CHECKPOINT_ARCHIVE_H

#include "base/bytes.h"
#include "base/vec.h"
#include "map/fact/texts.h"
#include "model/work.h"
#include "record/record.h"
#include "span/split.h"

struct archive {
	struct bytes *out;	/* writing; else NULL */
	struct bytes_reader in; /* reading */
	int err;		/* 0, -EBADMSG or -ENOMEM */
	struct texts *texts;	/* reading: where texts that are shared are kept */
	/*
	 * A whole partial (map/file/file.h): with time, counts and what has ended, which
	 * a checkpoint leaves out, and in an order that does not depend on how it was merged.
	 */
	bool whole;
};

static inline bool archive_reads(const struct archive *a)
{
	return !a->out;
}

void archive_fail(struct archive *a, int err);
void archive_u64(struct archive *a, u64 *value);
void archive_time(struct archive *a, u64 *time_ns); /* -EBADMSG behind RECORD_TIME_END_NS */
void archive_s64(struct archive *a, s64 *value);
void archive_u32(struct archive *a, u32 *value); /* as are the next: -EBADMSG if it does not fit */
void archive_s32(struct archive *a, s32 *value);
void archive_u16(struct archive *a, u16 *value);
void archive_u8(struct archive *a, u8 *value);
void archive_bool(struct archive *a, bool *value);
void archive_bytes(struct archive *a, void *data, size_t bytes);
/* Text of `bytes` bytes, NUL behind it when read; owned. NULL is not empty. */
void archive_text(struct archive *a, char **text, u32 *bytes);
void archive_path(struct archive *a, char **path); /* the same of one without a NUL in it */
void archive_shared_path(struct archive *a, const char **path); /* of a->texts */
void archive_file(struct archive *a, struct file_ref *file);
void archive_context(struct archive *a, struct context *ctx);
void archive_split(struct archive *a, struct split *split); /* any numbers: sums may wrap */

void archive_work(struct archive *a, struct work_split *work); /* likewise */

/* How many elements follow; when reading, never more than there are bytes. */
size_t archive_count(struct archive *a, size_t count);

/*
 * A VEC, each element by `one(archive, element *)`. What was read before a
 * failure is in the list and belongs to its owner.
 */
#define archive_list(a, list, one)                                                                 \
	do {                                                                                       \
		size_t count_ = archive_count(a, (list)->count);                                   \
		for (size_t i_ = 0; i_ < count_ && !(a)->err; i_++) {                              \
			if (archive_reads(a) && vec_push(list, (__typeof__(*(list)->data)){0})) {  \
				archive_fail(a, -ENOMEM);                                          \
				break;                                                             \
			}                                                                          \
			one(a, &(list)->data[i_]);                                                 \
		}                                                                                  \
	} while (0)

struct archive_piece {
	size_t at, bytes;
};

/* The order of a list whose elements may come in any: that of their bytes. */
struct archive_order {
	struct bytes *out; /* of the archive; its elements go to `bytes` until the end */
	struct bytes bytes;
	VEC(struct archive_piece) pieces;
};

void archive_order_begin(struct archive *a, struct archive_order *order);
void archive_order_next(struct archive *a, struct archive_order *order); /* one is written */
void archive_order_end(struct archive *a, struct archive_order *order);

/* archive_list() of a list of which the order means nothing: a whole partial has it by bytes. */
#define archive_set(a, list, one)                                                                  \
	do {                                                                                       \
		struct archive_order order_ = {0};                                                 \
		if (archive_reads(a) || !(a)->whole) {                                             \
			archive_list(a, list, one);                                                \
			break;                                                                     \
		}                                                                                  \
		archive_count(a, (list)->count);                                                   \
		archive_order_begin(a, &order_);                                                   \
		for (size_t k_ = 0; k_ < (list)->count; k_++) {                                    \
			one(a, &(list)->data[k_]);                                                 \
			archive_order_next(a, &order_);                                            \
		}                                                                                  \
		archive_order_end(a, &order_);                                                     \
	} while (0)

#endif
