/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cause of a wait: the part of the time split to which it belongs. The table in
 * cause.c has the rules.
 */
#ifndef MODEL_CAUSE_H
#define MODEL_CAUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"
#include "span/split.h"

/* The facts about one stay off the CPU. Fields that no record gives are zero. */
struct cause_query {
	u8 mode;		    /* enum record_mode, without flags */
	u8 abi_flags;		    /* SYSCALL_*: the table of nr */
	u16 nr;			    /* the syscall, with MODE_syscall */
	u8 leave_state;		    /* enum record_leave_state */
	bool has_waker;		    /* a waking was seen; the fields below are from it */
	u8 waker_context;	    /* enum record_wake_context */
	u8 waker_vector;	    /* with WAKE_softirq */
	u16 waker_irq;		    /* with WAKE_hardirq */
	bool waker_block;	    /* the completion of a block I/O woke it */
	bool waker_own;		    /* with WAKE_task: a thread of the same process woke it */
	u64 arg0;		    /* first argument of the syscall */
	struct file_ref file;	    /* the file of arg0 */
	struct file_ref waker_file; /* the file that its waker worked on, as in record_waking */
};

/*
 * Returns the part for the time from leaving the CPU to the waking. *reason (may be NULL)
 * gets the reason, a phrase in static memory. Every input has an answer. Thread-safe.
 */
enum split_part cause_find(const struct cause_query *query, const char **reason);

/* For tests: the number of rules, and the index of the rule that matches a query. */
size_t cause_rules_count(void);
size_t cause_rule_index(const struct cause_query *query);

#endif
