/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of many threads come out by thread and time, however they came and were merged. */
#include "map/fact/thread_facts.h"

#include <stddef.h>
#include <stdlib.h>

#include "check.h"

struct fact {
	u64 time_ns;
	u32 tid, number;
};

static int fact_compare(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static const struct thread_order order = {sizeof(struct fact), offsetof(struct fact, tid),
					  offsetof(struct fact, time_ns), fact_compare};

static u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void add(struct thread_facts *t, struct fact fact)
{
	struct fact *to = thread_facts_add(t, sizeof(fact), fact.tid, fact.time_ns);

	CHECK(to != NULL);
	*to = fact;
}

/* Forwards, backwards, and from where each time of each thread begins. */
static void check_sorted(const struct thread_facts *t, struct fact *all, size_t count)
{
	struct thread_place at = {0};
	const struct fact *fact;

	qsort(all, count, sizeof(*all), fact_compare);
	CHECK_EQ(t->count, count);
	for (size_t i = 0; i < count; i++) {
		fact = thread_facts_next(t, sizeof(*fact), &at);
		CHECK(fact && fact_compare(fact, &all[i]) == 0);
	}
	CHECK(!thread_facts_next(t, sizeof(*fact), &at));
	for (size_t i = count; i-- > 0;) {
		fact = thread_facts_last(t, sizeof(*fact), &at);
		CHECK(fact && fact_compare(fact, &all[i]) == 0);
	}
	CHECK(!thread_facts_last(t, sizeof(*fact), &at));
	for (size_t i = 0; i < count; i++) {
		size_t first = i;

		while (first && all[first - 1].tid == all[i].tid &&
		       all[first - 1].time_ns == all[i].time_ns)
			first--;
		at = thread_facts_before(t, &order, all[i].tid, all[i].time_ns);
		fact = thread_facts_next(t, sizeof(*fact), &at);
		CHECK(fact && fact_compare(fact, &all[first]) == 0);
	}
}

/* `threads` of them, each fact up to `late` before the time that it should have. */
static void facts_come(u32 threads, u64 late, size_t pieces)
{
	enum { COUNT = 6000 };
	static struct fact all[COUNT];
	struct thread_facts t = {0};
	u64 state = 88172645463325252ull + threads + late;

	for (size_t piece = 0; piece < pieces; piece++) {
		struct thread_facts more = {0};

		for (u32 i = (u32)(piece * COUNT / pieces); i < (piece + 1) * COUNT / pieces; i++) {
			all[i] = (struct fact){.time_ns = COUNT + i - random_next(&state) % late,
					       .tid = (u32)(random_next(&state) % threads),
					       .number = (u32)random_next(&state) % 10};
			add(&more, all[i]);
		}
		CHECK_EQ(thread_facts_merge(&t, &more), 0);
		CHECK_EQ(more.count, 0);
		thread_facts_free(&more);
	}
	CHECK_EQ(thread_facts_sort(&t, &order), 0);
	check_sorted(&t, all, COUNT);
	thread_facts_free(&t);
}

TEST(they_stand_by_thread_and_time)
{
	facts_come(1, 1, 1);
	facts_come(7, 1, 1);
	facts_come(7, 1, 5);
	facts_come(3000, 1, 3); /* more than may be open */
}

TEST(what_came_late_finds_its_place)
{
	facts_come(1, 3, 1);
	facts_come(7, 10, 4);
	facts_come(7, 5000, 4);
	facts_come(3000, 5000, 2);
}

TEST(of_none_nothing_is_found)
{
	struct thread_facts t = {0};
	struct thread_place at;

	CHECK_EQ(thread_facts_sort(&t, &order), 0);
	at = thread_facts_before(&t, &order, 5, 100);
	CHECK(!thread_facts_next(&t, sizeof(struct fact), &at));
	CHECK(!thread_facts_last(&t, sizeof(struct fact), &at));
	thread_facts_free(&t);
}

TEST_MAIN()
