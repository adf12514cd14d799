/* SPDX-License-Identifier: Apache-2.0 */
/* Where nothing says whether a thread had a span, its time is not that of no thread. */
#include "map/partial.h"
#include "map/tree/tree.h"
#include "one_thread.h"

static const struct context none;

/* Cut in two at a time: what is to the left of it, and the rest. */
struct halves {
	struct partial *left, *right;
	u64 cut_ns;
};

static struct halves halves_new(u64 cut_ns, u64 from_ns)
{
	struct partial_options options = {.from_ns = from_ns};

	return (struct halves){partial_new(&options), partial_new(&options), cut_ns};
}

static struct partial *half_of(const struct halves *h, u64 time_ns)
{
	return time_ns < h->cut_ns ? h->left : h->right;
}

static void begins(const struct halves *h, u64 time_ns, u32 tid, const struct context *ctx,
		   const struct context *parent)
{
	struct record_span_begin r = {
		.head = head(RECORD_span_begin, time_ns), .ctx = *ctx, .flags = 1};

	r.head.tid = tid;
	if (parent)
		memcpy(&r.parent, parent->span, 8);
	apply(half_of(h, time_ns), &r);
}

static void ends(const struct halves *h, u64 time_ns, const struct context *ctx,
		 const struct context *next)
{
	span_ends(half_of(h, time_ns), time_ns, ctx, next);
}

static void attaches(const struct halves *h, u64 time_ns, u32 tid, const struct context *ctx)
{
	struct record_span_attach r = {.head = head(RECORD_span_attach, time_ns), .ctx = *ctx};

	r.head.tid = tid;
	apply(half_of(h, time_ns), &r);
}

/* One that took 100 ns. */
static void call(const struct halves *h, u64 end_ns, u32 tid, const struct context *ctx)
{
	struct record_syscall r = {
		.head = head(RECORD_syscall, end_ns), .nr = 39, .duration_ns = 100, .ctx = *ctx};

	r.head.tid = tid;
	apply(half_of(h, end_ns), &r);
}

static void gap(const struct halves *h, u64 begin_ns, u64 end_ns)
{
	struct record_gap r = {.head = {.kind = RECORD_gap, .time_ns = end_ns},
			       .begin_ns = begin_ns};

	apply(half_of(h, end_ns), &r);
}

/* Of that span, when all is together. */
static struct span_time time_of(struct halves *h, const struct context *ctx)
{
	struct span_time times[8] = {0}, found = {0};
	struct partial *p = h->left;

	partial_cover(h->left, 1000, h->cut_ns);
	partial_cover(h->right, h->cut_ns, 9000);
	CHECK_EQ(partial_merge(h->left, h->right), 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK(p->spans.count <= 8);
	CHECK_EQ(span_times(p, times), 0);
	for (size_t i = 0; i < p->spans.count; i++)
		if (context_equal(&p->spans.data[i]->ctx, ctx))
			found = times[i];
	CHECK_EQ(split_total(&found.split), (s64)(found.end_ns - found.begin_ns));
	partial_free(p);
	return found;
}

#define EACH_CUT(cut_ns) for (u64 cut_ns = 1050; cut_ns < 9000; cut_ns += 250)

/* ---- a gap ---- */

/* Outer has a thread from 2000 to 3000 and, if it was attached in the gap, from 5000 on. */
static struct span_time time_over_gap(u64 cut_ns, const struct context *published)
{
	struct halves h = halves_new(cut_ns, 0);

	begins(&h, 2000, 5, &outer, NULL);
	attaches(&h, 3000, 5, &none);
	gap(&h, 4000, 5000);
	call(&h, 5600, 5, published);
	begins(&h, 6000, 5, &inner, published == &outer ? &outer : NULL);
	ends(&h, 7000, &inner, published);
	ends(&h, 8000, &outer, NULL);
	return time_of(&h, &outer);
}

TEST(in_a_gap_nobody_knows_of_a_thread)
{
	EACH_CUT(cut_ns)
	{
		struct span_time t = time_over_gap(cut_ns, &none);

		CHECK_EQ(t.split.ns[SPLIT_user], 1000);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 2000);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 3000);
	}
}

TEST(what_is_published_behind_a_gap_has_its_thread)
{
	EACH_CUT(cut_ns)
	{
		struct span_time t = time_over_gap(cut_ns, &outer);

		CHECK_EQ(t.split.ns[SPLIT_kernel], 100);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 1000);
		CHECK_EQ(t.split.ns[SPLIT_user], 1000 + 900 + 2000);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 1000);
	}
}

/* No record follows that names the span, and it is published all the time. */
TEST(a_thread_that_stays_in_its_span_behind_a_gap)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		begins(&h, 2000, 5, &outer, NULL);
		gap(&h, 4000, 5000);
		for (u64 at = 5200; at < 9000; at += 200)
			call(&h, at, 5, &outer);
		t = time_of(&h, &outer);
		CHECK(t.end_soft);
		CHECK_EQ(t.end_ns, 9000);
		CHECK_EQ(t.split.ns[SPLIT_kernel], 1900);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 0);
	}
}

TEST(two_spans_that_are_published_behind_a_gap)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		begins(&h, 2000, 5, &outer, NULL);
		call(&h, 4000, 5, &outer);
		gap(&h, 4000, 5000);
		call(&h, 5200, 5, &outer);
		call(&h, 5400, 5, &inner);
		attaches(&h, 6000, 5, &none);
		ends(&h, 8000, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_user], 1900);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 2000);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 2000);
	}
}

/* Another thread begins outer; this one has it from its attach on, which it published before. */
TEST(what_a_thread_did_before_a_span_began_is_not_the_spans)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		gap(&h, 4000, 5000);
		call(&h, 5200, 5, &none);
		begins(&h, 5500, 6, &outer, NULL);
		attaches(&h, 5550, 6, &none);
		call(&h, 5650, 5, &outer);
		attaches(&h, 5700, 5, &outer);
		ends(&h, 8000, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_user], 50 + 2300);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 150);
	}
}

TEST(a_span_that_begins_behind_a_gap_is_seen_whole)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		call(&h, 2000, 6, &none);
		call(&h, 2000, 5, &none);
		gap(&h, 4000, 5000);
		begins(&h, 5500, 5, &outer, NULL);
		attaches(&h, 6000, 5, &none);
		call(&h, 6500, 6, &none); /* nobody named what it has */
		ends(&h, 8000, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_user], 500);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 2000);
	}
}

/* ---- before the recording ---- */

TEST(before_the_recording_nobody_knows_of_a_thread)
{
	for (u64 from_ns = 0; from_ns <= 1200; from_ns += 100) {
		struct halves h = halves_new(5000, from_ns);
		u64 since_ns = from_ns > 1000 ? from_ns : 1000;
		struct span_time t;

		partial_late(h.left, 1000, 1000);
		begins(&h, 900, 5, &outer, NULL);
		call(&h, 1500, 5, &outer);
		attaches(&h, 2000, 5, &none);
		ends(&h, 3000, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.begin_ns, 900);
		CHECK(t.split.ns[SPLIT_unknown] >= (s64)(since_ns - 900));
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 1000);
	}
}

/* ---- what a program lost ---- */

static void loses(const struct halves *h, u64 begin_ns, u64 end_ns)
{
	struct record_lost r = {.head = head(RECORD_lost, end_ns),
				.why = LOST_application,
				.count = 3,
				.begin_ns = begin_ns};

	apply(half_of(h, end_ns), &r);
}

/* Outer is begun and left; that its thread comes back to it from inner is lost. */
static void attach_is_lost(struct halves *h)
{
	begins(h, 1500, 5, &outer, NULL);
	attaches(h, 2000, 5, &none);
	begins(h, 3000, 5, &inner, NULL);
	call(h, 3500, 5, &inner);
	loses(h, 4000, 4500);
	for (u64 at = 5100; at <= 6900; at += 100)
		call(h, at, 5, &outer);
	attaches(h, 7000, 5, &none);
	ends(h, 8000, &inner, NULL);
	ends(h, 8500, &outer, NULL);
}

TEST(what_is_published_behind_a_loss_has_its_thread)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		attach_is_lost(&h);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_user], 500);
		CHECK_EQ(t.split.ns[SPLIT_kernel], 1900);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 3000 - 1900);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 2000 + 1500);
	}
}

TEST(what_no_record_ends_is_unknown_behind_a_loss)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		attach_is_lost(&h);
		t = time_of(&h, &inner);
		CHECK_EQ(t.split.ns[SPLIT_user], 0);
		CHECK_EQ(t.split.ns[SPLIT_kernel], 100);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 4000 - 100);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 1000);
	}
}

/* The begin of its child, and its own end, say that it was active until then. */
TEST(what_a_record_confirms_is_known_over_a_loss)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		begins(&h, 2000, 5, &outer, NULL);
		loses(&h, 2400, 2600);
		begins(&h, 3000, 5, &inner, &outer);
		ends(&h, 4000, &inner, &outer);
		loses(&h, 4000, 5500);
		ends(&h, 6000, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_user], 4000);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 0);
	}
}

TEST(a_span_that_begins_behind_a_loss_is_seen_whole)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		begins(&h, 1500, 6, &inner, NULL);
		loses(&h, 2000, 2500);
		begins(&h, 3000, 5, &outer, NULL);
		attaches(&h, 4000, 5, &none);
		ends(&h, 6000, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_user], 1000);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 2000);
	}
}

/* That inner has ended is lost: until then outer had its thread, through it. */
TEST(what_a_child_had_that_is_in_doubt_is_not_that_of_no_thread)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		begins(&h, 2000, 5, &outer, NULL);
		begins(&h, 3000, 5, &inner, &outer);
		loses(&h, 5000, 6000);
		ends(&h, 8000, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_user], 1000);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 5000);
	}
}

/* A thread that runs a program gets the number of its leader: its loss was before. */
TEST(what_a_thread_lost_before_it_had_another_number)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct record_exec r = {.head = head(RECORD_exec, 6000), .old_tid = 6};
		struct span_time t;

		call(&h, 1300, 5, &none);
		call(&h, 1300, 6, &none);
		begins(&h, 2000, 6, &outer, NULL);
		loses(&h, 3000, 4000);
		apply(half_of(&h, 6000), &r);
		call(&h, 6500, 5, &none);
		t = time_of(&h, &outer);
		CHECK_EQ(t.end_ns, 6000);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 4000);
	}
}

/* Its attach, another's and its own again are lost: what was published meanwhile says so. */
TEST(what_was_seen_of_another_span_is_not_known_over_a_loss)
{
	EACH_CUT(cut_ns)
	{
		struct span_time t[2];

		for (int i = 0; i < 2; i++) {
			struct halves h = halves_new(cut_ns, 0);

			begins(&h, 1500, 6, &inner, NULL);
			attaches(&h, 1600, 6, &none);
			begins(&h, 2000, 5, &outer, NULL);
			loses(&h, 3000, 6000);
			for (u64 at = 3200; at < 5900; at += 100)
				call(&h, at, 5, &inner);
			call(&h, 6500, 5, &outer);
			ends(&h, 7000, &outer, NULL);
			ends(&h, 8000, &inner, NULL);
			t[i] = time_of(&h, i ? &inner : &outer);
		}
		CHECK_EQ(t[0].split.ns[SPLIT_kernel], 100);
		CHECK_EQ(t[0].split.ns[SPLIT_unknown], 5000 - 100);
		CHECK_EQ(t[1].split.ns[SPLIT_kernel], 2700);
		CHECK_EQ(t[1].split.ns[SPLIT_user], 100);
	}
}

/* To a disk, inside of a call. */
static void requests(const struct halves *h, u64 end_ns, u32 tid, const struct context *ctx)
{
	struct record_block r = {
		.head = head(RECORD_block, end_ns), .duration_ns = 20, .bytes = 512, .ctx = *ctx};

	r.head.tid = tid;
	apply(half_of(h, end_ns), &r);
}

/* Outer's end says that it had the thread over a loss; calls before and behind say that of inner.
 */
static struct span_time sighted_over_loss(u64 cut_ns, bool requested, const struct context *of)
{
	struct halves h = halves_new(cut_ns, 0);

	begins(&h, 1500, 6, &inner, NULL);
	attaches(&h, 1600, 6, &none);
	call(&h, 1900, 5, &inner);
	begins(&h, 2000, 5, &outer, NULL);
	loses(&h, 4000, 4500);
	call(&h, 5900, 5, &inner);
	if (requested)
		requests(&h, 6050, 5, &inner);
	call(&h, 6100, 5, &inner);
	ends(&h, 8000, &outer, NULL);
	return time_of(&h, of);
}

TEST(a_request_inside_of_a_call_changes_nothing_over_a_loss)
{
	EACH_CUT(cut_ns)
	{
		for (int i = 0; i < 2; i++) {
			const struct context *of = i ? &inner : &outer;
			struct span_time plain = sighted_over_loss(cut_ns, false, of);
			struct span_time t = sighted_over_loss(cut_ns, true, of);

			CHECK_EQ(memcmp(&t.split, &plain.split, sizeof(t.split)), 0);
		}
	}
}

/* ---- out of the scope of a recording ---- */

static void moves(const struct halves *h, u64 time_ns, u32 flags)
{
	struct record_cgroup_attach r = {.head = head(RECORD_cgroup_attach, time_ns),
					 .flags = flags};

	apply(half_of(h, time_ns), &r);
}

/* Nothing tells what it begins and leaves there: what is published behind that does. */
TEST(a_thread_that_comes_back_may_have_a_span)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		begins(&h, 2000, 5, &outer, NULL);
		moves(&h, 3000, CGROUP_LEFT_SCOPE);
		moves(&h, 5000, CGROUP_ENTERED_SCOPE);
		call(&h, 5500, 5, &outer);
		call(&h, 6500, 5, &outer);
		ends(&h, 7000, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_kernel], 200);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 1000 + 2000);
		CHECK_EQ(t.split.ns[SPLIT_user], 400 + 900 + 500);
	}
}

/* Nor does it take what begins behind that, or lies before. */
TEST(a_thread_that_was_away_had_what_began_before_it_came_back)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		call(&h, 1300, 5, &none);
		begins(&h, 1500, 6, &outer, NULL);
		attaches(&h, 2000, 6, &none);
		moves(&h, 3000, CGROUP_LEFT_SCOPE);
		moves(&h, 5000, CGROUP_ENTERED_SCOPE);
		call(&h, 5500, 5, &none);
		attaches(&h, 6000, 5, &none);
		begins(&h, 6500, 6, &inner, NULL);
		attaches(&h, 6600, 6, &none);
		ends(&h, 8000, &inner, NULL);
		ends(&h, 8500, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 2000 + 1000);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 1000 + 2500);
	}
}

TEST(a_thread_that_stays_away_may_have_a_span)
{
	EACH_CUT(cut_ns)
	{
		struct halves h = halves_new(cut_ns, 0);
		struct span_time t;

		call(&h, 1300, 5, &none);
		begins(&h, 2000, 6, &outer, NULL);
		attaches(&h, 2500, 6, &none);
		moves(&h, 3000, CGROUP_LEFT_SCOPE);
		ends(&h, 7000, &outer, NULL);
		t = time_of(&h, &outer);
		CHECK_EQ(t.split.ns[SPLIT_user], 500);
		CHECK_EQ(t.split.ns[SPLIT_off_thread], 500);
		CHECK_EQ(t.split.ns[SPLIT_unknown], 4000);
	}
}

/* ---- the end of a recording ---- */

/* Where some streams end before others, as a crash leaves them. */
TEST(behind_the_end_of_a_stream_nobody_knows_of_a_thread)
{
	struct halves h = halves_new(8500, 0);
	struct span_time t;

	partial_streams(h.left, 1000, 4000);
	partial_late(h.right, 8500, 8500);
	begins(&h, 2000, 5, &outer, NULL);
	attaches(&h, 3000, 5, &none);
	call(&h, 4500, 5, &none);
	t = time_of(&h, &outer);
	CHECK_EQ(t.split.ns[SPLIT_user], 1000);
	CHECK_EQ(t.split.ns[SPLIT_off_thread], 1000 + 500);
}

/* ---- how it is found ---- */

static u64 next_random(u64 *state, u64 below)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return (*state >> 33) % below;
}

/* The instants of a stretch, all of which lie before 64. */
static u64 instants(u64 begin_ns, u64 end_ns)
{
	u64 mask = 0;

	for (u64 at = begin_ns; at < end_ns; at++)
		mask |= 1ull << at;
	return mask;
}

static u64 instants_found(const struct partial *p, const struct app_span *span,
			  struct interval range)
{
	struct looks looks = {.most = 1000};
	struct intervals found = {0};
	u64 mask = 0;

	CHECK_EQ(unsure_find(p, span, range, &looks, &found), 0);
	for (size_t i = 0; i < found.count; i++)
		mask |= instants(found.data[i].begin_ns, found.data[i].end_ns);
	vec_free(&found);
	return mask;
}

#define UNSURE_MANY 24
#define SPANS_MANY 3

struct random_case {
	struct unsure list[UNSURE_MANY];
	struct app_span spans[SPANS_MANY];
	u64 gaps;
	struct partial *p;
};

static void case_make(struct random_case *c, u64 *state)
{
	*c = (struct random_case){.p = partial_new(NULL)};
	for (u32 i = 0; i < SPANS_MANY; i++)
		c->spans[i].pid = i ? 5 : 6;
	for (size_t i = 0; i < UNSURE_MANY; i++) {
		struct unsure *u = &c->list[i];

		u->begin_ns = next_random(state, 60);
		u->end_ns = u->begin_ns + 1 + next_random(state, 60 - u->begin_ns);
		u->before_ns = u->begin_ns + next_random(state, 3) * next_random(state, 12);
		u->pid = 5 + (u32)next_random(state, 2);
		CHECK_EQ(vec_push(&c->p->unsure, *u), 0);
	}
	for (u64 n = next_random(state, 4); n > 0; n--) {
		struct record_gap gap = {.begin_ns = next_random(state, 60)};

		gap.head.time_ns = gap.begin_ns + 1 + next_random(state, 3);
		c->gaps |= instants(gap.begin_ns, gap.head.time_ns);
		CHECK_EQ(vec_push(&c->p->gaps, gap), 0);
	}
	CHECK_EQ(unsure_sort(c->p), 0);
}

/* One after the other. */
static u64 instants_of(const struct random_case *c, const struct app_span *span,
		       struct interval range)
{
	u64 mask = c->gaps;

	for (size_t i = 0; i < UNSURE_MANY; i++) {
		const struct unsure *u = &c->list[i];

		if (u->pid == span->pid && u->before_ns > span->begin_ns)
			mask |= instants(u->begin_ns, u->end_ns);
	}
	return mask & instants(range.begin_ns, range.end_ns);
}

TEST(what_is_joined_says_the_same_of_each_span)
{
	u64 state = 1;

	for (int i = 0; i < 500; i++) {
		struct random_case c;

		case_make(&c, &state);
		for (u64 begin_ns = 0; begin_ns < 60; begin_ns++) {
			struct app_span *span = &c.spans[begin_ns % SPANS_MANY];
			struct interval range = {.begin_ns = begin_ns + next_random(&state, 2) * 5,
						 .end_ns = 62};

			span->begin_ns = begin_ns;
			CHECK_EQ(instants_found(c.p, span, range), instants_of(&c, span, range));
		}
		partial_free(c.p);
	}
}

#define LOSSES_MANY 1000

/* A program that loses all the time, with many threads of which nothing is told. */
TEST(what_idle_threads_may_have_is_unknown)
{
	struct halves h = halves_new(8999, 0);
	struct span_time t;

	for (u32 tid = 100; tid < 200; tid++)
		call(&h, 1100, tid, &none);
	begins(&h, 1500, 5, &outer, NULL);
	attaches(&h, 1600, 5, &none);
	for (u64 i = 0; i < LOSSES_MANY; i++)
		loses(&h, 2000 + 5 * i, 2002 + 5 * i);
	ends(&h, 8000, &outer, NULL);
	t = time_of(&h, &outer);
	CHECK_EQ(t.split.ns[SPLIT_off_thread], 400);
	CHECK_EQ(t.split.ns[SPLIT_unknown], 6000);
}

TEST(what_idle_threads_may_have_is_kept_once)
{
	struct partial *p = partial_new(NULL);

	for (u32 tid = 100; tid < 200; tid++) {
		struct record_syscall r = {.head = head(RECORD_syscall, 1100), .nr = 39};

		r.head.tid = tid;
		apply(p, &r);
	}
	for (u64 i = 0; i < LOSSES_MANY; i++) {
		struct record_lost r = {.head = head(RECORD_lost, 2002 + 5 * i),
					.why = LOST_application,
					.begin_ns = 2000 + 5 * i};

		apply(p, &r);
	}
	partial_cover(p, 1000, 9000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK(p->unsure.count >= 1 && p->unsure.count <= 2);
	partial_free(p);
}

static struct partial *with_gaps(u64 count)
{
	struct partial *p = partial_new(NULL);

	for (u64 i = 0; i < count; i++) {
		struct record_gap gap = {.head.time_ns = 1005 + 10 * i, .begin_ns = 1000 + 10 * i};

		CHECK_EQ(vec_push(&p->gaps, gap), 0);
	}
	CHECK_EQ(unsure_sort(p), 0);
	return p;
}

/* Of a short one among many gaps only what is near it. */
TEST(only_what_lies_in_its_time_is_looked_at)
{
	struct partial *p = with_gaps(LOSSES_MANY);
	struct app_span span = {.pid = 5};

	for (u64 i = 10; i < LOSSES_MANY; i++) {
		struct looks looks = {.most = 1000};
		struct intervals found = {0};

		span.begin_ns = 1000 + 10 * i;
		CHECK_EQ(unsure_find(p, &span,
				     (struct interval){.begin_ns = span.begin_ns,
						       .end_ns = span.begin_ns + 10},
				     &looks, &found),
			 0);
		CHECK_EQ(found.count, 1);
		CHECK_EQ(found.data[0].begin_ns, span.begin_ns);
		CHECK(looks.count <= 2);
		vec_free(&found);
	}
	partial_free(p);
}

/* Long ones with many gaps: when too much was looked at, all is unknown, and nothing is looked at.
 */
TEST(what_is_looked_at_is_bounded)
{
	struct partial *p = with_gaps(LOSSES_MANY);
	struct app_span span = {.pid = 5, .begin_ns = 500};
	struct interval range = {.begin_ns = 500, .end_ns = 20000};
	struct looks looks = {.most = 2 * LOSSES_MANY + 500};
	struct intervals found = {0};

	for (int i = 0; i < 100; i++) {
		CHECK_EQ(unsure_find(p, &span, range, &looks, &found), 0);
		CHECK_EQ(found.count, i < 2 ? LOSSES_MANY : 1);
		CHECK_EQ(found.data[0].begin_ns, i < 2 ? 1000 : 500);
		CHECK_EQ(found.data[0].end_ns, i < 2 ? 1005 : 20000);
		CHECK(looks.count <= looks.most);
	}
	vec_free(&found);
	partial_free(p);
}

TEST_MAIN()
