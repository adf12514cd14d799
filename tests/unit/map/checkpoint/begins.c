/* SPDX-License-Identifier: Apache-2.0 */
/* What a checkpoint keeps of spans of which the begin was not seen. */
#include <stdlib.h>
#include <string.h>

#include "map/partial.h"
#include "map/tree/tree.h"
#include "records.h"

static void seen_in(struct partial *p, u64 time_ns, u32 tid, struct context in)
{
	struct record_syscall r = {
		.head = {.kind = RECORD_syscall, .tid = tid, .pid = 7, .time_ns = time_ns},
		.nr = 39,
		.duration_ns = 100,
		.ctx = in};

	apply(p, &r);
}

/* Of ctx: the whole, or with a checkpoint in place of the first. Frees both. */
static struct span_time time_over(struct partial *first, struct partial *next, bool checkpoint)
{
	struct span_time times[4] = {0}, found = {0};

	partial_cover(first, 1000, 4000);
	partial_cover(next, 4000, 9000);
	first = checkpoint ? checkpoint_of_all(first) : first;
	CHECK_EQ(partial_merge(first, next), 0);
	CHECK_EQ(partial_finish(first), 0);
	CHECK(first->spans.count <= 4);
	CHECK_EQ(span_times(first, times), 0);
	for (size_t i = 0; i < first->spans.count; i++)
		if (context_equal(&first->spans.data[i]->ctx, &ctx))
			found = times[i];
	partial_free(first);
	return found;
}

/* Another one, or none, is published where the chunk ends. */
TEST(a_checkpoint_keeps_when_a_context_was_seen_that_its_thread_left)
{
	static const struct context others[] = {{{1}, {3}}, {{0}, {0}}};

	for (int i = 0; i < 4; i++) {
		struct partial *first = partial_new(&state), *next = partial_new(NULL);
		struct span_time t;

		seen_in(first, 2000, 7, ctx);
		seen_in(first, 3000, 7, others[i / 2]);
		seen_in(next, 5000, 7, others[i / 2]);
		seen_in(next, 8000, 7, ctx);
		t = time_over(first, next, i % 2);
		CHECK_EQ(t.begin_ns, 1900);
		CHECK_EQ(t.end_ns, 8000);
	}
}

/* What lies before the range that is asked for says nothing of a span that is seen in it. */
TEST(a_checkpoint_has_no_requests)
{
	for (int i = 0; i < 2; i++) {
		const struct partial_options since = {.from_ns = 4000};
		struct partial *first = partial_new(i ? &state : &since);
		struct partial *next = partial_new(&since);
		struct record_block r = {
			.head = {.kind = RECORD_block, .tid = 7, .pid = 7, .time_ns = 3000},
			.duration_ns = 200,
			.ctx = ctx};

		lives(first, 2000);
		apply(first, &r);
		seen_in(next, 8000, 7, ctx);
		CHECK_EQ(time_over(first, next, i).begin_ns, 7900);
	}
}

TEST(contexts_that_no_thread_has_do_not_make_it_grow)
{
	struct partial *p = partial_new(&state);
	struct context many = {{1}, {0}};

	for (u32 i = 1; i <= 5000; i++) {
		memcpy(many.span, &i, sizeof(i));
		seen_in(p, 1000 + 200ull * i, 7, many);
	}
	partial_cover(p, 1000, 2000000);
	p = checkpoint_of_all(p);
	CHECK_EQ(p->spans.count, 4096 + 1); /* and the one that the thread has */
	for (u32 i = 1; i <= 5000; i++) {
		memcpy(many.span, &i, sizeof(i));
		CHECK_EQ(bytes_map_get(&p->span_index, &many, sizeof(many)) != NULL,
			 i >= 5000 - 4096);
	}
	partial_free(p);
}

/* It began before the recording, as did no span below it; these end and go with the chunk. */
TEST(a_checkpoint_keeps_when_one_below_a_span_was_seen_first)
{
	for (int i = 0; i < 4; i++) {
		struct partial *first = partial_new(&state), *next = partial_new(NULL);
		struct partial *in = i / 2 ? next : first; /* where its own begin comes, late */
		struct record_span_end end = {
			.head = {.kind = RECORD_span_end, .tid = 7, .pid = 7, .time_ns = 3000},
			.ctx = {.trace = {1}, .span = {3}},
			.next = ctx,
			.flags = 1};
		struct span_time t;

		begins_below(first, 1500, 3);
		lives(first, 2000);
		apply(first, &end);
		lives(first, 3500);
		ends(next, 8000);
		if (in == next)
			begins(next, 1200);
		t = time_over(first, next, i % 2);
		CHECK_EQ(t.begin_ns, in == next ? 1200 : 1500);
		CHECK_EQ(t.end_ns, 8000);
	}
}

TEST_MAIN()
