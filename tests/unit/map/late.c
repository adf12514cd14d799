/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Producers that were in the middle of a record at a cut: what they and, in their stream,
 * those behind them wrote before it comes with a later chunk.
 */
#include "answers.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cpu_time.h"
#include "map/checkpoint/checkpoint.h"
#include "map/partial.h"
#include "seeds.h"

#define STREAMS SIMULATED_STREAMS
#define CUTS_MAX 16

/* Chunk k begins at cut[k]; it has of each stream what lies in [seen[k], seen[k + 1]). */
struct late_cuts {
	int chunks;
	int waited; /* for so many streams: none is complete without them */
	u64 cut[CUTS_MAX + 2];
	u64 seen[CUTS_MAX + 2][STREAMS];
};

static u64 least(const u64 *times, int streams)
{
	u64 min = times[0];

	for (int i = 1; i < streams; i++)
		min = times[i] < min ? times[i] : min;
	return min;
}

/* The time up to which a stream is seen at cut k: at times less, also over several cuts. */
static u64 seen_until(struct simulation *s, const struct late_cuts *c, int k, int stream)
{
	u64 before = c->seen[k - 1][stream], back;

	if (before < c->cut[k - 1] && simulation_random(s, 3) == 0)
		return before;
	if (simulation_random(s, 4))
		return c->cut[k];
	back = simulation_random(s, 1ull << (4 + simulation_random(s, 12)));
	return c->cut[k] > before + back ? c->cut[k] - back : before;
}

/* Recording began anew: nothing comes late from before that. */
static bool is_begin(const struct simulation *s, u64 time_ns)
{
	for (size_t i = 0; i < s->records.count; i++)
		if (s->records.data[i].time_ns == time_ns &&
		    simulation_record(s, i)->kind == RECORD_gap)
			return true;
	return false;
}

static void late_cut(struct simulation *s, struct late_cuts *c, int cuts)
{
	u64 span = s->to_ns - s->from_ns;

	c->chunks = cuts + 1;
	c->waited = STREAMS;
	for (int i = 0; i < STREAMS; i++)
		c->seen[0][i] = s->from_ns;
	c->cut[0] = s->from_ns;
	for (int k = 1; k <= cuts; k++) {
		c->cut[k] = s->from_ns + span * (u64)k / (u64)(cuts + 1) +
			    simulation_random(s, span / (u64)(cuts + 1) + 1);
		if (c->cut[k] < c->cut[k - 1])
			c->cut[k] = c->cut[k - 1];
		for (int i = 0; i < STREAMS; i++)
			c->seen[k][i] = is_begin(s, c->cut[k]) ? c->cut[k] : seen_until(s, c, k, i);
	}
	c->cut[cuts + 1] = s->to_ns;
	for (int i = 0; i < STREAMS; i++)
		c->seen[cuts + 1][i] = UINT64_MAX; /* a gap may reach over the end */
}

/* Maps chunk k as chunk_map() does. */
static struct partial *late_map(const struct simulation *s, const struct late_cuts *c, int k,
				const struct partial_options *options)
{
	struct partial *p = partial_new(options);
	u64 complete = least(c->seen[k + 1], c->waited), late = least(c->seen[k], c->waited);
	struct simulated_piece piece = {.begin_ns = c->cut[k]};

	partial_late(p, late < c->cut[k] ? late : c->cut[k], c->cut[k]);
	if (complete < c->cut[k + 1])
		partial_streams(p, c->cut[k], complete);
	memcpy(piece.from_ns, c->seen[k], sizeof(piece.from_ns));
	memcpy(piece.to_ns, c->seen[k + 1], sizeof(piece.to_ns));
	for (int i = 0; i < STREAMS; i++) { /* losses are never late */
		piece.losses_from[i] = c->cut[k];
		piece.losses_to[i] = k + 1 == c->chunks ? UINT64_MAX : c->cut[k + 1];
	}
	map_piece(s, p, &piece);
	partial_cover(p, c->cut[k], c->cut[k + 1]);
	return p;
}

static struct partial *map_late(struct simulation *s, int cuts)
{
	static const struct partial_options all = {.spans = true, .hits = true};
	struct partial *pieces[CUTS_MAX + 1];
	struct late_cuts c;

	late_cut(s, &c, cuts);
	for (int k = 0; k < c.chunks; k++)
		pieces[k] = late_map(s, &c, k, &all);
	return merge_at_random(s, pieces, c.chunks);
}

static void lose_and_gap(struct simulation *s, u64 seed)
{
	u64 begin = s->from_ns + simulation_random(s, s->to_ns - s->from_ns);

	if (seed % 4 == 1)
		simulation_gap(s, begin, begin + simulation_random(s, 9000) + 1);
	simulation_lose(s, seed % 4 == 3 ? 6 : 0);
}

TEST(what_came_late_is_where_it_belongs)
{
	for (u64 seed = 1; seed <= seeds_of(60); seed++) {
		struct simulation s;
		char *whole;

		simulate_filtered(&s, seed, 5, 40, seed % 5 ? 0 : 1 + (u32)seed % 3);
		lose_and_gap(&s, seed);
		whole = answers(map_range(&s, 0, s.records.count), &s);
		for (int i = 0; i < 12; i++) {
			int cuts = 1 + (int)simulation_random(&s, CUTS_MAX);
			char *cut = answers(map_late(&s, cuts), &s);

			CHECK_ANSWERS(whole, cut, seed, i);
			free(cut);
		}
		free(whole);
		simulation_free(&s);
	}
}

/* Nothing is unknown that was recorded, however late. */
TEST(split_with_late_records_is_the_truth)
{
	for (u64 seed = 1; seed <= seeds_of(500); seed++) {
		struct simulation s;
		struct partial *p;

		simulate(&s, seed, 6, 60);
		p = map_late(&s, 1 + (int)seed % CUTS_MAX);
		CHECK_EQ(partial_finish(p), 0);
		CHECK_EQ(p->lives.count, s.threads.count);
		for (size_t i = 0; i < p->lives.count; i++)
			for (int part = 0; part < SPLIT_PARTS_COUNT; part++)
				CHECK_EQ(p->lives.data[i]->total.ns[part],
					 s.threads.data[i].truth.ns[part]);
		partial_free(p);
		simulation_free(&s);
	}
}

/* The answers of the same in another grouping: those of `before`, if it is not the first one. */
static char *answers_again(struct partial *p, const struct simulation *s, char *before, u64 seed)
{
	char *now = answers(p, s);

	if (before)
		CHECK_ANSWERS(before, now, seed, 0);
	free(before);
	return now;
}

/* Records that came too late are still used, and the grouping does not matter. */
TEST(what_came_too_late_is_the_same_in_any_grouping)
{
	static const struct partial_options all = {.spans = true, .hits = true};

	for (u64 seed = 1; seed <= seeds_of(180); seed++) {
		struct simulation s;
		struct late_cuts c;
		char *first = NULL;

		simulate(&s, seed, 5, 40);
		lose_and_gap(&s, seed | 2); /* a gap is never late */
		late_cut(&s, &c, 2 + (int)seed % 8);
		c.waited = (int)seed % STREAMS; /* 0: for one */
		for (int i = 0; i < 8; i++) {
			struct partial *pieces[CUTS_MAX + 1];

			for (int k = 0; k < c.chunks; k++)
				pieces[k] = late_map(&s, &c, k, &all);
			first = answers_again(merge_at_random(&s, pieces, c.chunks), &s, first,
					      seed);
		}
		free(first);
		simulation_free(&s);
	}
}

static bool is_of_span(const struct record_head *r)
{
	return r->kind >= RECORD_span_begin && r->kind <= RECORD_span_attribute;
}

/* The index of a span's record before before_ns, UINT32_MAX if there is none. */
static size_t span_record(struct simulation *s, u64 before_ns)
{
	size_t first = (size_t)simulation_random(s, s->records.count);

	for (size_t n = 0; n < s->records.count; n++) {
		size_t i = (first + n) % s->records.count;
		const struct record_head *r = simulation_record(s, i);

		if (is_of_span(r) && r->time_ns < before_ns)
			return i;
	}
	return UINT32_MAX;
}

/* The second of three chunks says what the first could not: that of its time a ring is sought. */
static struct partial *sought_map(const struct simulation *s, const u64 *cuts, int k, size_t late)
{
	static const struct partial_options all = {.spans = true, .hits = true};
	const struct record_head *lost = simulation_record(s, late);
	struct partial *p = partial_new(&all);

	partial_late(p, k == 2 ? lost->time_ns : cuts[k], cuts[k]);
	if (k == 1)
		partial_streams(p, cuts[k], lost->time_ns);
	if (k == 2)
		must(partial_apply(p, lost));
	for (size_t i = 0; i < s->records.count; i++) {
		const struct record_head *r = simulation_record(s, i);

		if (i != late && r->time_ns >= cuts[k] && r->time_ns < cuts[k + 1])
			must(partial_apply(p, r));
	}
	partial_cover(p, cuts[k], cuts[k + 1]);
	return p;
}

static struct partial *merge_sought(struct simulation *s, const u64 *cuts, size_t late)
{
	struct partial *pieces[3], *p;

	for (int k = 0; k < 3; k++)
		pieces[k] = sought_map(s, cuts, k, late);
	p = merge_at_random(s, pieces, 3);
	CHECK(!uneven_cut_is_open(p)); /* a checkpoint of it would grow for ever */
	return p;
}

TEST(a_ring_that_is_found_late_is_the_same_in_any_grouping)
{
	for (u64 seed = 1; seed <= seeds_of(200); seed++) {
		struct simulation s;
		char *first = NULL;
		u64 cuts[4];
		size_t late;

		simulate(&s, seed, 5, 40);
		cuts[0] = s.from_ns;
		cuts[3] = s.to_ns;
		cuts[1] = s.from_ns + (s.to_ns - s.from_ns) / 3;
		cuts[2] = cuts[1] + (s.to_ns - s.from_ns) / (1 + seed % 3 * 20) / 3;
		late = span_record(&s, cuts[1]);
		for (int i = 0; late != UINT32_MAX && i < 8; i++)
			first = answers_again(merge_sought(&s, cuts, late), &s, first, seed);
		free(first);
		simulation_free(&s);
	}
}

/* The sum of the times of all lives that ever had this thread id. */
static struct split total_of(const struct partial *p, u32 tid)
{
	struct split sum = {0};

	for (size_t i = 0; i < p->lives.count; i++)
		if (p->lives.data[i]->tid == tid || p->lives.data[i]->left_tid == tid)
			split_add(&sum, &p->lives.data[i]->total);
	return sum;
}

/* Time on a CPU is claimed only where it was; where a thread slept is inferred. */
static s64 check_claims(const struct partial *p, const struct partial *truth, u64 range_ns)
{
	s64 known = 0;

	for (size_t i = 0; i < p->lives.count; i++) {
		const struct life *l = p->lives.data[i];
		struct split claimed = total_of(p, l->tid), should = total_of(truth, l->tid);

		CHECK(split_total(&l->total) <= (s64)range_ns);
		CHECK(claimed.ns[SPLIT_user] <= should.ns[SPLIT_user]);
		CHECK(claimed.ns[SPLIT_kernel] <= should.ns[SPLIT_kernel]);
		known += split_total(&l->total) - l->total.ns[SPLIT_unknown];
	}
	return known;
}

/* Time that a chunk cannot know without its neighbours is unknown, and no other time is. */
TEST(a_chunk_alone_does_not_guess)
{
	static const struct partial_options all = {.spans = true, .hits = true};
	s64 known = 0, total = 0;

	for (u64 seed = 1; seed <= seeds_of(840); seed++) {
		struct simulation s;
		struct late_cuts c;

		simulate(&s, seed, 6, 60);
		late_cut(&s, &c, 1 + (int)seed % 8);
		for (int k = 0; k < c.chunks; k++) {
			const struct partial_options range = {.from_ns = c.cut[k],
							      .to_ns = c.cut[k + 1]};
			struct partial *truth = partial_new(&range);
			struct partial *p = late_map(&s, &c, k, &all);

			for (size_t i = 0; i < s.records.count; i++)
				must(partial_apply(truth, simulation_record(&s, i)));
			partial_cover(truth, s.from_ns, s.to_ns);
			must(partial_finish(truth));
			must(partial_finish(p));
			known += check_claims(p, truth, range.to_ns - range.from_ns);
			for (size_t i = 0; i < truth->lives.count; i++)
				total += split_total(&truth->lives.data[i]->total);
			partial_free(truth);
			partial_free(p);
		}
		simulation_free(&s);
	}
	CHECK(known > total / 2 && known < total);
}

/* A checkpoint that ends in the middle of what is late, and what comes then. */
static struct partial *late_on_checkpoint(struct simulation *s, const struct late_cuts *c, int gone)
{
	const struct partial_options state = {.state_only = true};
	const struct partial_options rest = {.spans = true, .from_ns = c->cut[gone]};
	struct partial *checkpoint = partial_new(&state);

	for (int k = 0; k < gone; k++) {
		struct bytes bytes = {0};

		must(partial_merge(checkpoint, late_map(s, c, k, &state)));
		must(checkpoint_write(checkpoint, &bytes));
		partial_free(checkpoint);
		must(checkpoint_read(&checkpoint, bytes.data, bytes.count,
				     k + 1 == gone ? &rest : &state));
		bytes_free(&bytes);
	}
	for (int k = gone; k < c->chunks; k++)
		must(partial_merge(checkpoint, late_map(s, c, k, &rest)));
	return checkpoint;
}

TEST(checkpoint_carries_what_waits_for_late_records)
{
	for (u64 seed = 1; seed <= seeds_of(420); seed++) {
		struct simulation s;

		simulate(&s, seed, 5, 40);
		for (int i = 0; i < 6; i++) {
			int cuts = 1 + (int)simulation_random(&s, 8);
			int gone = 1 + (int)simulation_random(&s, (u64)cuts);
			char *whole, *resumed;
			struct late_cuts c;
			u64 at;

			late_cut(&s, &c, cuts);
			at = c.cut[gone];
			whole = answers_since(map_since(&s, at), &s, at);
			resumed = answers_since(late_on_checkpoint(&s, &c, gone), &s, at);
			CHECK_ANSWERS(whole, resumed, seed, at);
			free(whole);
			free(resumed);
		}
		simulation_free(&s);
	}
}

/* Half of them are so late that they take a later time than those that follow. */
static double keep_seconds(u64 count)
{
	struct partial *p = partial_new(NULL);
	struct record_span_detach r = {.head = {.kind = RECORD_span_detach, .tid = 7, .pid = 7}};
	double begin = cpu_seconds();

	partial_late(p, 1000 + count, 1000000000);
	partial_streams(p, 1000000000, 1000000000);
	for (u64 i = 0; i < 2 * count; i++) {
		r.head.time_ns = 1000 + i;
		CHECK_EQ(partial_apply(p, &r.head), 0);
	}
	partial_cover(p, 1000000000, 2000000000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, 1);
	partial_free(p);
	return cpu_seconds() - begin;
}

TEST(many_that_came_late_take_no_time_squared)
{
	double few = keep_seconds(5000);

	CHECK(keep_seconds(50000) < 40 * few + 0.1);
}

TEST_MAIN()
