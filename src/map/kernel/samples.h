/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of what CPUs ran, summed up: those of a thread with the same stack and span in the same
 * stretch of time are one. The functions of a stack are found when everything is together, since
 * another chunk may tell what was mapped. The stretches are short, so that a process that maps
 * other files, or a number that another process gets, is rarely taken for the one before.
 */
#ifndef MAP_KERNEL_SAMPLES_H
#define MAP_KERNEL_SAMPLES_H

#include "base/map.h"
#include "base/vec.h"
#include "record/record.h"

struct archive;
struct partial;

#define SAMPLE_STRETCH_BITS 33 /* of nanoseconds: 8.6 s */

/* What samples that are one have in common. */
struct sample_key {
	u64 stretch; /* their time >> SAMPLE_STRETCH_BITS */
	struct context ctx;
	u32 tid, pid;
	u32 flags;		 /* STACK_* */
	u16 kernel, user, words; /* as in the record */
	u16 bytes;
	const char *frames; /* as in the record */
};

struct sample_sum {
	struct sample_key key; /* owns its frames */
	u64 count;
	u64 ns;	     /* time on a CPU that they stand for */
	u64 last_ns; /* when the last of them was taken */
};

/* Starts with all zero. */
struct samples {
	struct map index; /* hash of the key -> number in the list + 1 */
	VEC(struct sample_sum) list;
};

/* Adds a record of a sample. 0 or -ENOMEM. */
int samples_add(struct partial *p, const struct record_head *r);

/*
 * Adds the stack of a wait to partial.wait_stacks, which tell how many stacks end for want of what
 * was recorded. They have no time, thread and span. 0 or -ENOMEM.
 */
int samples_add_stack(struct partial *p, const struct record_head *r);

/* Adds `right` to `left`; right is only to be freed afterwards. 0 or -ENOMEM. */
int samples_merge(struct samples *left, struct samples *right);

/* Sorts them once nothing more will be added. */
void samples_sort(struct samples *s);

/* Writes them, or reads them into empty ones (map/checkpoint/archive.h). */
void samples_archive(struct archive *a, struct samples *s);

void samples_free(struct samples *s);

#endif
