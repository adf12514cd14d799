/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums: how often something happened, how long it took, and what its time was. They add up over
 * chunks. Not thread-safe.
 */
#ifndef MAP_KERNEL_SUMS_H
#define MAP_KERNEL_SUMS_H

#include "base/histogram.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/life.h"

struct sum {
	u64 key; /* each table says what it is */
	u32 pid;
	struct file_ref file;
	u64 opening; /* of the file (openings.h); 0: none, or not known */
	u64 count, errors;
	u64 read_bytes, written_bytes; /* that calls moved from and to the file */
	struct split split;
	struct work_split idle; /* of that, waits for work under no context */
	struct histogram durations;
};

#define SUMS_RECENT_BITS 11
#define SUMS_LATE 8

struct sum_late {
	u32 number; /* in list, + 1; 0: none */
	u32 bucket; /* of its durations */
};

struct sums {
	u16 recent[1 << SUMS_RECENT_BITS]; /* numbers in list that were found last, as a hint */
	struct map index;		   /* hash of struct sum_of -> number in list + 1 */
	VEC(struct sum) list;
	struct sum_late late[SUMS_LATE]; /* not counted in their histograms yet */
	u32 late_next;
};

/* The thing that is counted. */
struct sum_of {
	u64 key;
	u32 pid;
	struct file_ref file;
	u64 opening;
};

static inline struct sum_of sum_names(const struct sum *sum)
{
	return (struct sum_of){sum->key, sum->pid, sum->file, sum->opening};
}

/* What is counted once. */
struct sum_one {
	u64 duration_ns;
	bool error;
	bool part; /* of a call that goes on: only its time counts */
	u64 read_bytes, written_bytes;
	const struct work_split *idle; /* waits for work under no context; NULL: none */
};

/* Counts one more. 0 or -ENOMEM. */
int sums_add(struct sums *s, const struct sum_of *of, const struct split *split,
	     const struct sum_one *one);
/* Counts one more, all of whose time is that part. 0 or -ENOMEM. */
int sums_add_part(struct sums *s, const struct sum_of *of, enum split_part part,
		  const struct sum_one *one);

/* Adds all that another sum has, as that of the thing `of`. 0 or -ENOMEM. */
int sums_give(struct sums *s, const struct sum_of *of, const struct sum *from);

/* Adds `right` to `left`; right is only to be freed afterwards. 0 or -ENOMEM. */
int sums_merge(struct sums *left, struct sums *right);

/* The same, with each sum of `right` added to the one that `of` names. 0 or -ENOMEM. */
int sums_merge_as(struct sums *left, struct sums *right,
		  int (*name)(void *arg, const struct sum *sum, struct sum_of *of), void *arg);

/* Counts the durations that wait. 0 or -ENOMEM. */
int sums_settle(struct sums *s);

/* Adds a sum that is not there yet, and takes its histogram. 0, -EEXIST or -ENOMEM. */
int sums_take(struct sums *s, struct sum *sum);

/* Sorts them once nothing more will be added. 0 or -ENOMEM. */
int sums_sort(struct sums *s);

void sums_free(struct sums *s);

#endif
