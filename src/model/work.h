/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a thread that waits is idle: it waits for new work, so that nothing slows it down. The
 * table in work.c has the rules.
 *
 * A wait has its cause all the same. Such a wait counts as idle where no span had the thread, and
 * by its cause within a span. That is decided once everything is together (map/idle.c), as a left
 * half may tell which span the thread had, and other chunks how its futex is used.
 */
#ifndef MODEL_WORK_H
#define MODEL_WORK_H

#include "model/cause.h"

/* Values are persisted in partials: they are only ever appended. */
enum work {
	WORK_NOT = 0,	  /* it waits for something else */
	WORK_WAITS = 1,	  /* it waits for work */
	WORK_FUTEX = 2,	  /* for work, unless those who wake on this futex also sleep on it */
	WORK_BY_WORD = 3, /* only the use of its futex can tell */
	/* for work only if threads that have no request wait for the same futex, too */
	WORK_IN_REQUEST = 4,
};
#define WORK_VALUES_COUNT 5

/* Whether such a wait is taken as one for work until its futex says otherwise. */
static inline bool work_is_assumed(u8 work)
{
	return work == WORK_WAITS || work == WORK_FUTEX;
}

/*
 * Whether the wait is one for work. *reason (may be NULL) gets the reason, a phrase in static
 * memory; "" with WORK_NOT. Thread-safe.
 */
enum work work_find(const struct cause_query *query, const char **reason);

/* For tests: the number of rules, and the index of the rule that matches a query. */
size_t work_rules_count(void);
size_t work_rule_index(const struct cause_query *query);

/* Whether a call is one on a futex, which has the address of the futex as its first argument. */
bool work_is_futex(u16 nr, bool compat);

/* The parts that a wait for work can have as its cause, and their place in struct work_split. */
#define WORK_FIRST_PART SPLIT_network
#define WORK_LAST_PART SPLIT_other
#define WORK_PARTS_COUNT (WORK_LAST_PART - WORK_FIRST_PART + 1)

/* Nanoseconds of waits for work by their causes: each is within the same part of a split. */
struct work_split {
	s64 ns[WORK_PARTS_COUNT];
};

static inline bool work_is_part(unsigned int part)
{
	return part >= WORK_FIRST_PART && part <= WORK_LAST_PART;
}

static inline void work_add(struct work_split *sum, const struct work_split *more)
{
	for (int i = 0; i < WORK_PARTS_COUNT; i++)
		sum->ns[i] = split_sum(sum->ns[i], more->ns[i]);
}

/* Makes that much of the split idle, as far as its parts have it. */
void work_to_idle(struct split *split, const struct work_split *work);

/* The operation and the value of a futex call as struct file_ref of kind none (record.h). */
static inline struct file_ref work_futex(u64 operation, u64 value)
{
	return (struct file_ref){.key = FUTEX_KEY(operation, value), .flags = FILE_NONE_FUTEX};
}

#endif
