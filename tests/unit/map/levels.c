/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The laws over recordings of which the level of detail changes: no time is claimed that was not
 * recorded at `calls`, the split stays exact, and merge(map(a), map(b)) is map(a then b).
 */
#include "answers.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cuts.h"
#include "seeds.h"

/* Each other recording has scopes at `calls`. */
static void simulate_any(struct simulation *s, u64 seed, int threads, int actions)
{
	if (seed % 2)
		simulate_scopes(s, seed, threads, actions);
	else
		simulate_levels(s, seed, threads, actions);
}

static struct partial *finished(const struct simulation *s, struct partial *p)
{
	partial_cover(p, s->from_ns, s->to_ns);
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

/* All but user code and the kernel is exact; these are never more than they were. */
static void check_life(const struct simulated_thread *t, const struct life *l)
{
	const struct split *total = &l->total, *truth = &t->truth;

	CHECK_EQ(split_total(total), (s64)(t->end_ns - t->begin_ns));
	CHECK(total->ns[SPLIT_user] <= truth->ns[SPLIT_user]);
	CHECK(total->ns[SPLIT_kernel] <= truth->ns[SPLIT_kernel]);
	CHECK_EQ(total->ns[SPLIT_user] + total->ns[SPLIT_kernel] + total->ns[SPLIT_cpu],
		 truth->ns[SPLIT_user] + truth->ns[SPLIT_kernel]);
	CHECK_EQ(total->ns[SPLIT_unknown], 0);
}

TEST(no_time_is_claimed_that_was_not_recorded)
{
	s64 user = 0, cpu = 0, kernel = 0;

	for (u64 seed = 1; seed <= seeds_of(500); seed++) {
		struct simulation s;
		struct partial *p;

		simulate_any(&s, seed, 6, 60);
		p = finished(&s, seed % 4 < 2 ? map_cut(&s, 5) : map_range(&s, 0, s.records.count));
		CHECK_EQ(p->lives.count, s.threads.count);
		for (size_t i = 0; i < p->lives.count; i++) {
			const struct life *l = p->lives.data[i];

			check_life(&s.threads.data[i], l);
			user += l->total.ns[SPLIT_user];
			kernel += l->total.ns[SPLIT_kernel];
			cpu += l->total.ns[SPLIT_cpu];
		}
		partial_free(p);
		simulation_free(&s);
	}
	CHECK(user > 0 && kernel > 0 && cpu > 0);
}

/* Time under spans is claimed likewise, and what they have together stays the same. */
TEST(no_span_has_what_was_not_recorded)
{
	for (u64 seed = 1; seed <= seeds_of(500); seed++) {
		struct split owned = {0}, truth = {0};
		struct simulation s;
		struct partial *p;

		simulate_any(&s, seed, 6, 60);
		p = finished(&s, map_cut(&s, 5));
		for (size_t i = 0; i < p->spans.count; i++)
			for (size_t k = 0; k < p->spans.data[i]->active.list.count; k++)
				split_add(&owned, &p->spans.data[i]->active.list.data[k].split);
		for (size_t i = 0; i < s.threads.count; i++)
			split_add(&truth, &s.threads.data[i].owned);
		CHECK(owned.ns[SPLIT_user] <= truth.ns[SPLIT_user]);
		CHECK(owned.ns[SPLIT_kernel] <= truth.ns[SPLIT_kernel]);
		CHECK_EQ(split_total(&owned), split_total(&truth));
		partial_free(p);
		simulation_free(&s);
	}
}

/* A call belongs to a time at which calls were recorded, at its end at least. */
TEST(calls_end_where_they_are_recorded)
{
	u64 count = 0;

	for (u64 seed = 1; seed <= seeds_of(120); seed++) {
		struct simulation s;
		struct partial *p;

		simulate_levels(&s, seed, 6, 60);
		p = finished(&s, map_cut(&s, 5));
		for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
			struct kspan k;

			kspans_get(&p->kspans, i, &k);
			if (k.kind != KSPAN_SYSCALL || k.open)
				continue;
			CHECK(!(filters_at(p, k.end_ns - 1) & FILTER_CALLS));
			CHECK_EQ(split_total(&k.split), (s64)(k.end_ns - k.begin_ns));
			count++;
		}
		partial_free(p);
		simulation_free(&s);
	}
	CHECK(count > 100);
}

/* The share of the time in which calls were recorded is that of the changes. */
TEST(the_share_of_calls_is_exact)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++) {
		struct simulation s;
		struct partial *p;
		u64 calls_ns = 0, from_ns;
		bool calls;

		simulate_levels(&s, seed, 3, 20);
		p = finished(&s, map_cut(&s, 3));
		from_ns = s.from_ns;
		calls = s.calls_first;
		for (size_t i = 0; i < s.levels.count; i++) {
			calls_ns += calls ? s.levels.data[i] - from_ns : 0;
			from_ns = s.levels.data[i];
			calls = !calls;
		}
		calls_ns += calls && s.to_ns > from_ns ? s.to_ns - from_ns : 0;
		CHECK_EQ(partial_calls_share(p, s.from_ns, s.to_ns).calls_ns, calls_ns);
		CHECK_EQ(partial_calls_share(p, s.from_ns, s.to_ns).recorded_ns,
			 s.to_ns - s.from_ns);
		partial_free(p);
		simulation_free(&s);
	}
}

/* Where calls of some threads are recorded, sleeps do not count in the place of calls. */
TEST(waits_are_no_calls_where_scopes_have_calls)
{
	u64 waits = 0, calls = 0;

	for (u64 seed = 1; seed <= seeds_of(60); seed++) {
		struct simulation s;
		struct partial *p;

		simulate_scopes(&s, seed, 3, 20);
		p = finished(&s, map_cut(&s, 3));
		CHECK(!partial_calls_are_waits(p));
		CHECK(partial_filters(p, s.from_ns, s.to_ns) & FILTER_SCOPES);
		for (size_t i = 0; i < p->lives.count; i++)
			waits += p->lives.data[i]->total.ns[SPLIT_cpu] != 0;
		for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
			struct kspan k;

			kspans_get(&p->kspans, i, &k);
			calls += k.kind == KSPAN_SYSCALL;
		}
		partial_free(p);
		simulation_free(&s);
	}
	CHECK(waits > 0 && calls > 0);
}

static void check_law(u64 seed, int gaps, int losses, cut_fn *map_in_pieces)
{
	struct simulation s;

	simulate_any(&s, seed, 5, 40);
	for (int i = 0; i < gaps; i++) {
		u64 begin = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);

		simulation_gap(&s, begin, begin + simulation_random(&s, 9000) + 1);
	}
	simulation_lose(&s, losses);
	simulation_mute(&s, seed % 5 == 2 ? 1 + (int)seed % 4 : 0);
	check_cuts(&s, seed, map_in_pieces);
	simulation_free(&s);
}

TEST(merge_covers_changes_of_the_level)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++)
		check_law(seed, 0, 0, seed % 3 ? map_cut : map_cut_streams);
}

TEST(merge_covers_gaps_between_changes)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++)
		check_law(seed, 1 + (int)seed % 3, 0, seed % 3 ? map_cut : map_cut_streams);
}

TEST(merge_covers_losses_between_changes)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++)
		check_law(seed, (int)seed % 2, 6, seed % 3 ? map_cut : map_cut_streams);
}

TEST(merge_of_a_range_covers_changes)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++) {
		struct simulation s;

		simulate_any(&s, seed, 5, 40);
		simulation_lose(&s, seed % 4 == 3 ? 6 : 0);
		s.limit_from_ns = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);
		if (seed % 2)
			s.limit_to_ns = s.limit_from_ns + 1 +
					simulation_random(&s, s.to_ns - s.limit_from_ns);
		check_cuts(&s, seed, seed % 3 ? map_cut : map_cut_streams);
		simulation_free(&s);
	}
}

TEST(a_checkpoint_stands_for_what_was_before)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++) {
		struct simulation s;
		char *whole, *resumed;
		u64 at;

		simulate_any(&s, seed, 5, 40);
		simulation_lose(&s, seed % 4 == 3 ? 6 : 0);
		at = s.from_ns + 1 + simulation_random(&s, s.to_ns - s.from_ns);
		whole = answers_since(map_since(&s, at), &s, at);
		resumed = answers_since(map_on_checkpoint(&s, at, 1 + (int)seed % 4), &s, at);
		CHECK_ANSWERS(whole, resumed, seed, at);
		free(whole);
		free(resumed);
		simulation_free(&s);
	}
}

TEST_MAIN()
