/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a thread was off its CPU: the part of the split to which a wait belongs.
 * The rules are the table in cause.c.
 */
#ifndef MODEL_CAUSE_H
#define MODEL_CAUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"
#include "span/split.h"

/* What is known of one stay off the CPU. All zero but for what the records say. */
struct cause_query {
	u8 mode;		    /* enum record_mode, without flags */
	u8 abi_flags;		    /* SYSCALL_*: of which table nr is */
	u16 nr;			    /* the syscall, with MODE_syscall */
	u8 leave_state;		    /* enum record_leave_state */
	bool has_waker;		    /* a waking was seen; the fields below are from it */
	u8 waker_context;	    /* enum record_wake_context */
	u8 waker_vector;	    /* with WAKE_softirq */
	u16 waker_irq;		    /* with WAKE_hardirq */
	bool waker_block;	    /* the completion of a block I/O woke it */
	u64 arg0;		    /* first argument of the syscall */
	struct file_ref file;	    /* behind arg0 */
	struct file_ref waker_file; /* what its waker worked on: as in record_waking */
};

/*
 * The part that the time from leaving the CPU to the waking belongs to, and in
 * `*reason` (may be NULL) why, as a phrase in static memory. Any input is
 * answered. Threads may call it at once.
 */
enum split_part cause_find(const struct cause_query *query, const char **reason);

/* The number of rules, and which of them answers a query: for tests. */
size_t cause_rules_count(void);
size_t cause_rule_index(const struct cause_query *query);

#endif
