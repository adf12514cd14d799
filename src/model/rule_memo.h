/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that a thread found last in a table of rules, by all that their conditions ask. Most
 * waits of a program are alike, and the tables are long.
 */
#ifndef MODEL_RULE_MEMO_H
#define MODEL_RULE_MEMO_H

#include "record/record.h"

#define RULE_MEMO_BITS 6
#define RULE_NONE 31 /* in place of a number that no rule asks for */

struct rule_memo {
	u64 key; /* not 0; 0: nothing is noted */
	u32 rule;
};

/* A number that conditions have as a bit of their mask. */
static inline u32 rule_number(u32 number)
{
	return number < RULE_NONE ? number : RULE_NONE;
}

static inline u32 rule_mask(u32 number)
{
	return number < RULE_NONE ? 1u << number : 0;
}

/* Where a key is noted in `memo`, of 1 << RULE_MEMO_BITS. */
static inline struct rule_memo *rule_memo_at(struct rule_memo *memo, u64 key)
{
	return &memo[key * 0x9e3779b97f4a7c15u >> (64 - RULE_MEMO_BITS)];
}

#endif
