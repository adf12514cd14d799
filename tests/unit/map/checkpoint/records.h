/* SPDX-License-Identifier: Apache-2.0 */
/* Thread 7 and its span, as the tests of checkpoints make them. */
#ifndef TESTS_MAP_CHECKPOINT_RECORDS_H
#define TESTS_MAP_CHECKPOINT_RECORDS_H

#include "apply.h"
#include "map/checkpoint/checkpoint.h"

static const struct partial_options state = {.state_only = true};

/* Thread 7 is there. */
static inline void lives(struct partial *p, u64 time_ns)
{
	struct record_syscall r = {
		.head = {.kind = RECORD_syscall, .tid = 7, .pid = 7, .time_ns = time_ns},
		.nr = 39,
		.duration_ns = 100};

	apply(p, &r);
}

static const struct context ctx = {.trace = {1}, .span = {2}};

static inline void begins(struct partial *p, u64 time_ns)
{
	struct record_span_begin r = {
		.head = {.kind = RECORD_span_begin, .tid = 7, .pid = 7, .time_ns = time_ns},
		.ctx = ctx,
		.name_len = 4,
		.name = "long"};

	apply(p, &r);
}

static inline void ends(struct partial *p, u64 time_ns)
{
	struct record_span_end r = {
		.head = {.kind = RECORD_span_end, .tid = 7, .pid = 7, .time_ns = time_ns},
		.ctx = ctx,
		.flags = 1};

	apply(p, &r);
}

static inline void begins_below(struct partial *p, u64 time_ns, u8 number)
{
	struct record_span_begin r = {
		.head = {.kind = RECORD_span_begin, .tid = 7, .pid = 7, .time_ns = time_ns},
		.ctx = {.trace = {1}, .span = {number}},
		.parent = number - 1};

	apply(p, &r);
}

static inline void sleeps(struct partial *p, u64 time_ns)
{
	struct record_switch leaves = {
		.head = {.kind = RECORD_switch, .tid = 7, .pid = 7, .time_ns = time_ns},
		.state = LEAVE_sleep};

	apply(p, &leaves);
}

/* The checkpoint of it; frees it. */
static inline struct partial *checkpoint_of_all(struct partial *p)
{
	const struct partial_options since = {.from_ns = p->to_ns};
	struct bytes bytes = {0};

	CHECK_EQ(checkpoint_write(p, &bytes), 0);
	partial_free(p);
	CHECK_EQ(checkpoint_read(&p, bytes.data, bytes.count, &since), 0);
	bytes_free(&bytes);
	return p;
}

#endif
