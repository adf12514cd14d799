/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint stands for what was deleted, and does not grow with time. */
#include "answers.h"

#include <errno.h>
#include <stdlib.h>

#include "map/fact/query.h"
#include "map/tree/tree.h"
#include "records.h"
#include "seeds.h"

#define CHUNK_NS 1000000u

/* Its number is its name; it has three attributes. */
static void tells(struct partial *p, u64 time_ns, unsigned int number)
{
	struct record_span_event r = {
		.head = {.kind = RECORD_span_event, .tid = 7, .pid = 7, .time_ns = time_ns},
		.ctx = ctx};
	struct record_span_attribute a = {
		.head = {.kind = RECORD_span_attribute, .tid = 7, .pid = 7, .time_ns = time_ns},
		.ctx = ctx,
		.type = ATTRIBUTE_integer,
		.value = number,
		.text_len = 3,
		.key_len = 3,
		.text = "key"};

	r.name_len = (u16)snprintf(r.name, sizeof(r.name), "%u", number);
	apply(p, &r);
	for (a.of_event = 0; a.of_event < 2; a.of_event++)
		apply(p, &a);
}

/* One of `chunks` with 100 events of a span that began in the first. */
static struct partial *chunk_of_events(unsigned int number)
{
	struct partial *p = partial_new(&state);
	u64 at = (u64)CHUNK_NS * (number + 1);

	if (number == 0)
		begins(p, at);
	for (unsigned int i = 0; i < 100; i++) {
		lives(p, at + 1000 * i + 200);
		tells(p, at + 1000 * i + 300, 100 * number + i);
	}
	partial_cover(p, at, at + CHUNK_NS);
	return p;
}

/* The checkpoint of so many chunks, written each `step` of them, and how long it is. */
static struct partial *checkpoint_of(unsigned int chunks, unsigned int step, size_t *length)
{
	struct partial *checkpoint = partial_new(&state);

	for (unsigned int i = 0; i < chunks; i++) {
		struct bytes bytes = {0};

		CHECK_EQ(partial_merge(checkpoint, chunk_of_events(i)), 0);
		if (i % step != step - 1)
			continue;
		CHECK_EQ(checkpoint_write(checkpoint, &bytes), 0);
		partial_free(checkpoint);
		CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, &state), 0);
		*length = bytes.count;
		bytes_free(&bytes);
	}
	return checkpoint;
}

TEST(a_span_without_an_end_does_not_make_it_grow)
{
	size_t few = 0, many = 0, once = 0;
	struct partial *a = checkpoint_of(4, 1, &few), *b = checkpoint_of(40, 1, &many);
	struct partial *c = checkpoint_of(40, 40, &once);

	CHECK(many < few + few / 8); /* longer numbers */
	CHECK_EQ(once, many);
	partial_free(a);
	for (int i = 0; i < 2; i++) {
		struct partial *p = i ? c : b;
		const struct app_span *s = p->spans.data[0];

		CHECK_EQ(p->spans.count, 1);
		CHECK_EQ(s->events.count, 128);
		CHECK_EQ(s->events_deleted, 4000 - 128);
		CHECK_STR(s->events.data[0].name, "3872");
		CHECK_STR(s->events.data[127].name, "3999");
		CHECK_EQ(s->events.data[127].attributes.data[0].value, 3999);
		CHECK_EQ(s->attributes.count, 128);
		CHECK_EQ(s->attributes_deleted, 4000 - 128);
		CHECK_EQ(s->attributes.data[127].value, 3999);
		partial_free(p);
	}
}

/* A recorder that was begun again: the thread is there, and nobody sees the span. */
TEST(a_span_that_nobody_saw_behind_a_gap_ended_at_it)
{
	const u64 at = CHUNK_NS, gap_ns = at + 1000, again_ns = at + 3000;
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = again_ns},
				 .begin_ns = gap_ns};

	for (int seen = 0; seen < 2; seen++) {
		struct partial *checkpoint = partial_new(&state), *next = partial_new(&state);
		struct span_time time = {0};
		struct bytes bytes = {0};

		begins(checkpoint, at + 100);
		lives(checkpoint, at + 500);
		partial_cover(checkpoint, at, gap_ns);
		apply(next, &gap);
		lives(next, again_ns + 500);
		partial_cover(next, again_ns, again_ns + 1000);
		CHECK_EQ(partial_merge(checkpoint, next), 0);
		CHECK_EQ(checkpoint_write(checkpoint, &bytes), 0);
		partial_free(checkpoint);
		CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, &state), 0);
		bytes_free(&bytes);

		next = partial_new(&state);
		lives(next, again_ns + 1500);
		if (seen)
			tells(next, again_ns + 1600, 1);
		if (seen)
			ends(next, again_ns + 1800);
		partial_cover(next, again_ns + 1000, again_ns + 2000);
		CHECK_EQ(partial_merge(checkpoint, next), 0);
		CHECK_EQ(partial_finish(checkpoint), 0);
		CHECK_EQ(checkpoint->spans.count, 1);
		CHECK_EQ(span_times(checkpoint, &time), 0);
		CHECK_EQ(time.end_ns, seen ? again_ns + 1800 : gap_ns);
		CHECK_EQ(time.end_soft, !seen);
		partial_free(checkpoint);
	}
}

static struct span_time time_of_span(struct partial *p)
{
	struct span_time time = {0};

	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, 1);
	CHECK_EQ(span_times(p, &time), 0);
	return time;
}

/* `complete_ns`: not all of its streams are told to its end. */
static struct partial *behind_a_gap(u64 complete_ns)
{
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 3000}, .begin_ns = 2000};
	struct partial *p = partial_new(&state);

	if (complete_ns)
		partial_streams(p, 3000, complete_ns);
	apply(p, &gap);
	lives(p, 3200);
	partial_cover(p, 3000, 4000);
	return p;
}

/* The end of the span of a checkpoint that ends at 4000. */
static u64 end_behind(struct partial *checkpoint)
{
	struct partial *next = partial_new(NULL);
	struct span_time times[2] = {0};
	u64 end_ns = 0;

	lives(next, 4500);
	partial_cover(next, 4000, 9000);
	CHECK_EQ(partial_merge(checkpoint, next), 0);
	CHECK_EQ(partial_finish(checkpoint), 0);
	CHECK(checkpoint->spans.count <= 2);
	CHECK_EQ(span_times(checkpoint, times), 0);
	for (size_t i = 0; i < checkpoint->spans.count; i++)
		if (context_equal(&checkpoint->spans.data[i]->ctx, &ctx))
			end_ns = times[i].end_ns;
	partial_free(checkpoint);
	return end_ns;
}

/* It goes with the chunk. */
TEST(a_span_of_which_one_below_it_was_seen_behind_a_gap_goes_on)
{
	for (u8 depth = 0; depth < 3; depth++) {
		struct partial *checkpoint = partial_new(&state), *next = behind_a_gap(0);
		struct record_span_end end = {
			.head = {.kind = RECORD_span_end, .tid = 7, .pid = 7, .time_ns = 3600},
			.ctx = {.trace = {1}, .span = {(u8)(2 + depth)}}};

		begins(checkpoint, 1100);
		if (depth == 2)
			begins_below(checkpoint, 1200, 3);
		lives(checkpoint, 1500);
		partial_cover(checkpoint, 1000, 2000);
		if (depth) {
			begins_below(next, 3300, 2 + depth);
			apply(next, &end);
		}
		CHECK_EQ(partial_merge(checkpoint, next), 0);
		CHECK_EQ(end_behind(checkpoint_of_all(checkpoint)), depth ? 9000 : 2000);
	}
}

/* It keeps all that is told, but no gap. */
TEST(a_checkpoint_with_an_open_end_ends_a_span_at_a_gap)
{
	for (int seen = 0; seen < 2; seen++) {
		struct partial *checkpoint = partial_new(&state), *next = behind_a_gap(3990);
		struct record_syscall under = {
			.head = {.kind = RECORD_syscall, .tid = 7, .pid = 7, .time_ns = 3995},
			.nr = 39,
			.duration_ns = 5,
			.ctx = ctx};

		begins(checkpoint, 1100);
		lives(checkpoint, 1500);
		partial_cover(checkpoint, 1000, 2000);
		if (seen)
			apply(next, &under);
		CHECK_EQ(partial_merge(checkpoint, next), 0);
		CHECK_EQ(end_behind(checkpoint_of_all(checkpoint)), seen ? 9000 : 2000);
	}
}

/* ---- with --spans-only ---- */

static void filters(struct partial *p, u64 time_ns, u32 pid, u32 flags)
{
	struct record_filter r = {.head = {.kind = RECORD_filter, .pid = pid, .time_ns = time_ns},
				  .flags = FILTER_SPANS | flags};

	apply(p, &r);
}

static void begins_on_its_thread(struct partial *p, u64 time_ns)
{
	struct record_span_begin r = {
		.head = {.kind = RECORD_span_begin, .tid = 7, .pid = 7, .time_ns = time_ns},
		.ctx = ctx,
		.flags = 1};

	apply(p, &r);
}

/* The user code that is known of the span, once it has ended at 9000 behind a checkpoint up to
 * 6000. */
static s64 user_behind(struct partial *checkpoint, struct partial *next)
{
	struct span_time time;

	partial_cover(checkpoint, 1000, 6000);
	checkpoint = checkpoint_of_all(checkpoint);
	ends(next, 9000);
	partial_cover(next, 6000, 9500);
	CHECK_EQ(partial_merge(checkpoint, next), 0);
	time = time_of_span(checkpoint);
	CHECK_EQ(time.end_ns, 9000);
	partial_free(checkpoint);
	return time.split.ns[SPLIT_user];
}

/* A flight recorder tells it again for each chunk; `open`: the end of the checkpoint is. */
TEST(a_checkpoint_keeps_since_when_spans_are_followed)
{
	for (int open = 0; open < 2; open++) {
		struct partial *checkpoint = partial_new(&state), *next = partial_new(NULL);

		if (open)
			partial_streams(checkpoint, 1000, 5990);
		filters(checkpoint, 1001, 0, 0);
		filters(checkpoint, 1500, 7, FILTER_FOLLOWS);
		begins_on_its_thread(checkpoint, 2000);
		filters(checkpoint, 4000, 7, FILTER_FOLLOWS | FILTER_AGAIN);
		filters(next, 6000, 7, FILTER_FOLLOWS | FILTER_AGAIN);
		CHECK_EQ(user_behind(checkpoint, next), 3000);
	}
}

/* It was another recorder that told it. */
TEST(a_checkpoint_keeps_nothing_of_who_was_followed_before_a_gap)
{
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 5000}, .begin_ns = 4000};
	struct partial *checkpoint = partial_new(&state), *next = partial_new(NULL);

	filters(checkpoint, 1001, 0, 0);
	filters(checkpoint, 1500, 7, FILTER_FOLLOWS);
	lives(checkpoint, 1700);
	apply(checkpoint, &gap);
	filters(checkpoint, 5001, 0, 0);
	lives(checkpoint, 5500);
	begins_on_its_thread(next, 6100);
	CHECK_EQ(user_behind(checkpoint, next), 0);
}

/* ---- of another directory ---- */

/* The checkpoint of another directory, which begins at `covered_ns`, or later, and ends at `at_ns`.
 */
static struct partial *joined(struct partial *checkpoint, u64 covered_ns, u64 at_ns)
{
	struct partial *p = partial_new(NULL);

	partial_cover(p, 1, covered_ns);
	CHECK_EQ(checkpoint_follow(checkpoint, covered_ns, at_ns), 0);
	CHECK_EQ(partial_merge(p, checkpoint), 0);
	return p;
}

/* On no thread: it was open where the checkpoint ends, though all before is a gap there. */
TEST(a_span_of_a_joined_checkpoint_goes_on_behind_it)
{
	for (int pruned = 0; pruned < 2; pruned++) {
		struct partial *checkpoint = partial_new(&state), *next = partial_new(NULL);

		lives(checkpoint, 3100);
		begins(checkpoint, 3300);
		lives(checkpoint, 3500);
		partial_cover(checkpoint, 3000, 5000);
		checkpoint = joined(checkpoint_of_all(checkpoint), 2000, 5000);
		if (pruned)
			checkpoint = checkpoint_of_all(checkpoint);
		lives(next, 5500);
		partial_cover(next, 5000, 9000);
		CHECK_EQ(partial_merge(checkpoint, next), 0);
		CHECK_EQ(time_of_span(checkpoint).end_ns, 9000);
		partial_free(checkpoint);
	}
}

/* Its thread had it where the checkpoint ends: what that did before, nothing tells. */
TEST(what_a_thread_did_in_a_span_of_a_joined_checkpoint_is_unknown)
{
	struct partial *checkpoint = partial_new(&state), *next = partial_new(NULL);
	struct span_time time;

	lives(checkpoint, 3100);
	begins_on_its_thread(checkpoint, 3300);
	partial_cover(checkpoint, 3000, 5000);
	checkpoint = joined(checkpoint_of_all(checkpoint), 2000, 5000);
	lives(next, 5500);
	ends(next, 8000);
	partial_cover(next, 5000, 9000);
	CHECK_EQ(partial_merge(checkpoint, next), 0);
	time = time_of_span(checkpoint);
	CHECK_EQ(time.begin_ns, 3300);
	CHECK_EQ(time.end_ns, 8000);
	CHECK_EQ(time.split.ns[SPLIT_unknown], 1700);
	CHECK_EQ(time.split.ns[SPLIT_off_thread], 0);
	partial_free(checkpoint);
}

/* Up to a gap behind the checkpoint: nothing tells of it there but the checkpoint. */
TEST(a_sleeper_of_a_joined_checkpoint_sleeps_behind_it)
{
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 8000}, .begin_ns = 7000};
	struct partial *checkpoint = partial_new(&state), *next = partial_new(NULL);

	lives(checkpoint, 3100);
	sleeps(checkpoint, 3500);
	partial_cover(checkpoint, 3000, 5000);
	checkpoint = joined(checkpoint_of_all(checkpoint), 2000, 5000);
	apply(next, &gap);
	partial_cover(next, 8000, 9000);
	CHECK_EQ(partial_merge(checkpoint, next), 0);
	CHECK_EQ(partial_finish(checkpoint), 0);
	CHECK_EQ(checkpoint->lives.count, 1);
	CHECK_EQ(checkpoint->lives.data[0]->state.last_ns, 7000);
	CHECK_EQ(split_total(&checkpoint->lives.data[0]->total), 2000);
	partial_free(checkpoint);
}

/* Of its last time some streams are missing for good: there it was not seen in user code. */
TEST(what_a_crash_left_before_a_joined_checkpoint_is_not_whole)
{
	struct partial *left = partial_new(NULL), *checkpoint = partial_new(&state);
	const struct split *total;

	partial_streams(left, 1000, 1600);
	lives(left, 1500);
	lives(left, 1900);
	partial_cover(left, 1000, 2000);
	lives(checkpoint, 3500);
	partial_cover(checkpoint, 3000, 5000);
	checkpoint = checkpoint_of_all(checkpoint);
	CHECK_EQ(checkpoint_follow(checkpoint, 1600, 5000), 0);
	CHECK_EQ(partial_merge(left, checkpoint), 0);
	CHECK_EQ(partial_finish(left), 0);
	CHECK(left->lives.count > 0);
	total = &left->lives.data[0]->total;
	CHECK_EQ(total->ns[SPLIT_user], 400); /* up to its first call */
	partial_free(left);
}

static void check_checkpoint(struct simulation *s, u64 seed, u64 at, int steps)
{
	char *whole = answers_since(map_since(s, at), s, at);
	char *resumed = answers_since(map_on_checkpoint(s, at, steps), s, at);

	CHECK_ANSWERS(whole, resumed, seed, at);
	free(whole);
	free(resumed);
}

/* What was deleted left a checkpoint: the rest says what the whole says of the same time. */
TEST(checkpoint_stands_for_what_was_deleted)
{
	for (u64 seed = 1; seed <= seeds_of(800); seed++) {
		struct simulation s;

		simulate(&s, seed, 5, 40);
		simulation_lose(&s, seed % 4 == 3 ? 6 : 0);
		simulation_mute(&s, seed % 5 == 2 ? 1 + (int)seed % 4 : 0);
		for (int i = 0; i < 6; i++)
			check_checkpoint(&s, seed,
					 s.from_ns + simulation_random(&s, s.to_ns - s.from_ns),
					 1 + i);
		simulation_free(&s);
	}
}

/* A checkpoint that was made at an uneven cut keeps what the records that wait there ask for. */
TEST(a_checkpoint_at_an_uneven_cut_stands_for_what_was_deleted)
{
	for (u64 seed = 1; seed <= seeds_of(200); seed++) {
		struct simulation s;
		u64 at;
		char *whole, *resumed;

		simulate(&s, seed, 5, 40);
		at = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);
		whole = answers_since(map_since(&s, at), &s, at);
		resumed = answers_since(map_on_uneven_checkpoint(&s, at, 2 + (int)seed % 3), &s,
					at);
		CHECK_ANSWERS(whole, resumed, seed, at);
		free(whole);
		free(resumed);
		simulation_free(&s);
	}
}

/*
 * When all threads that go on behind a gap were seen again, of which this snapshot finds some
 * only: a checkpoint names nobody else, and the whole knows what they were called before.
 */
static u64 all_seen(const struct simulation *s, u64 gap_end_ns)
{
	bool seen[256] = {false};
	u64 since_ns = gap_end_ns;

	for (size_t i = 0; i < s->records.count; i++) {
		const struct record_head *r = simulation_record(s, i);

		if (!r->tid || r->time_ns < gap_end_ns || seen[r->tid % 256])
			continue;
		seen[r->tid % 256] = true;
		if (r->kind != RECORD_fork)
			since_ns = r->time_ns + 1;
	}
	return since_ns;
}

/* Now and then one of the two recordings is filtered. */
static struct simulated_gap simulate_around_gap(struct simulation *s, u64 seed)
{
	struct simulated_gap gap;

	if (seed % 4 == 0)
		return simulate_filtered_once(s, seed, 1 + (u32)seed % 3, seed % 8);
	simulate(s, seed, 5, 40);
	gap.begin_ns = s->from_ns + simulation_random(s, s->to_ns - s->from_ns);
	gap.end_ns = gap.begin_ns + 1 + simulation_random(s, 9000);
	simulation_gap(s, gap.begin_ns, gap.end_ns);
	return gap;
}

/* No cut lies in it: a recording is cut where it is recorded. */
TEST(checkpoint_stands_for_what_was_deleted_around_a_gap)
{
	for (u64 seed = 1; seed <= seeds_of(800); seed++) {
		struct simulation s;
		struct simulated_gap gap = simulate_around_gap(&s, seed);
		u64 seen_ns;

		simulation_mute(&s, seed % 5 == 2 ? 1 + (int)seed % 4 : 0);
		seen_ns = all_seen(&s, gap.end_ns);
		for (int i = 0; i < 3; i++) {
			u64 at = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);

			if (at <= gap.begin_ns || at >= seen_ns)
				check_checkpoint(&s, seed, at, 1);
		}
		simulation_free(&s);
	}
}

/* Nobody completes what a crash left: the checkpoint does not wait for that, and says the same. */
TEST(checkpoint_stands_for_what_a_crash_left)
{
	for (u64 seed = 1; seed <= seeds_of(800); seed++) {
		struct simulation s;
		struct simulated_gap gap = simulate_around_gap(&s, seed);
		u64 ends_ns[SIMULATED_STREAMS];
		char *whole, *resumed;

		for (int i = 0; i < SIMULATED_STREAMS; i++)
			ends_ns[i] = gap.begin_ns -
				     simulation_random(&s, (gap.begin_ns - s.from_ns) / 4 + 1);
		whole = answers_since(map_crash(&s, &gap, ends_ns, false), &s, gap.begin_ns);
		resumed = answers_since(map_crash(&s, &gap, ends_ns, true), &s, gap.begin_ns);
		CHECK_ANSWERS(whole, resumed, seed, gap.begin_ns);
		free(whole);
		free(resumed);
		simulation_free(&s);
	}
}

/* What it says may be said by anybody: where it covers times that nothing can add to, it is none.
 */
TEST(a_checkpoint_of_times_beyond_belief_is_damaged)
{
	struct partial *p = partial_new(&state), *back = NULL;
	struct bytes bytes = {0};
	unsigned char *last;

	lives(p, 5000);
	partial_cover(p, 1, RECORD_TIME_END_NS);
	CHECK_EQ(checkpoint_write(p, &bytes), 0);
	CHECK_EQ(checkpoint_read(&back, bytes.data, bytes.count, NULL), 0);
	partial_free(back);
	last = (unsigned char *)bytes.data + 19; /* of what it covers: behind magic, versions, 1 */
	CHECK_EQ(*last, RECORD_TIME_END_NS >> 56);
	*last += 1;
	CHECK_EQ(checkpoint_read(&back, bytes.data, bytes.count, NULL), -EBADMSG);
	bytes_free(&bytes);
	partial_free(p);
}

TEST(a_checkpoint_of_a_gap_beyond_belief_is_damaged)
{
	struct partial *p = partial_new(&state), *back = NULL;
	struct bytes bytes = {0}, gap = {0};
	unsigned char *found;

	lives(p, 5000);
	begins(p, 6000);
	p->spans.data[0]->gap_ns = RECORD_TIME_END_NS;
	partial_cover(p, 1, 9000);
	CHECK_EQ(checkpoint_write(p, &bytes), 0);
	bytes_put_varint(&gap, RECORD_TIME_END_NS);
	found = memmem(bytes.data, bytes.count, gap.data, gap.count);
	CHECK(found);
	found[gap.count - 1]++;
	CHECK_EQ(checkpoint_read(&back, bytes.data, bytes.count, NULL), -EBADMSG);
	bytes_free(&gap);
	bytes_free(&bytes);
	partial_free(p);
}

/* Behind the checkpoint of another directory its programs are followed as before. */
TEST(who_is_followed_is_so_behind_a_joined_checkpoint)
{
	for (int follows = 0; follows < 2; follows++) {
		struct partial *checkpoint = partial_new(&state), *next = partial_new(NULL);
		struct span_time time;

		filters(checkpoint, 3001, 0, 0);
		filters(checkpoint, 3050, 7, FILTER_FOLLOWS);
		lives(checkpoint, 3100);
		partial_cover(checkpoint, 3000, 5000);
		checkpoint = checkpoint_of_all(checkpoint);
		if (follows)
			checkpoint = joined(checkpoint, 2000, 5000);
		begins_on_its_thread(next, 6000);
		ends(next, 8000);
		partial_cover(next, 5000, 9000);
		CHECK_EQ(partial_merge(checkpoint, next), 0);
		time = time_of_span(checkpoint);
		CHECK_EQ(time.split.ns[SPLIT_user], 2000);
		CHECK_EQ(time.split.ns[SPLIT_unknown], 0);
		CHECK_EQ(checkpoint->lives.data[0]->total.ns[SPLIT_user], 2000); /* and no more */
		partial_free(checkpoint);
	}
}

TEST_MAIN()
