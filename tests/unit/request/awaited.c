/* SPDX-License-Identifier: Apache-2.0 */
/* How long a request waited for its calls. */
#include "request/awaited.h"

#include "check.h"
#include "request/link.h"

#define REQUEST 0

/* A request from 1,000 to 9,000 with calls, of which each has a begin and an end. */
static struct awaited awaited_of(const u64 (*calls)[2], size_t count, const struct stint *stints,
				 size_t stints_count)
{
	struct exchange exchanges[8] = {
		{.server = {.process = 1, .first_ns = 1000, .last_ns = 9000}}};
	u32 parents[8] = {EDGE_ROOT};
	struct stints list = {0};
	struct stints_input in = {.exchanges = exchanges, .count = 1 + count, .parents = parents};
	struct awaited *all, first;

	for (size_t i = 0; i < count; i++) {
		exchanges[1 + i].caller = (struct exchange_end){
			.process = 1, .first_ns = calls[i][0], .last_ns = calls[i][1]};
		parents[1 + i] = REQUEST;
	}
	for (size_t i = 0; i < stints_count; i++)
		CHECK_EQ(vec_push(&list.list, stints[i]), 0);
	all = awaited_find(&in, &list);
	CHECK(all != NULL);
	first = all[REQUEST];
	free(all);
	vec_free(&list.list);
	return first;
}

TEST(calls_one_after_the_other_and_at_once)
{
	static const u64 apart[][2] = {{5000, 6000}, {2000, 3000}};
	static const u64 at_once[][2] = {{2000, 5000}, {3000, 4000}, {4500, 6000}};

	CHECK_EQ(awaited_of(apart, 2, NULL, 0).ns, 2000);
	CHECK_EQ(awaited_of(apart, 2, NULL, 0).off_thread_ns, 2000);
	CHECK_EQ(awaited_of(at_once, 3, NULL, 0).ns, 4000);
	CHECK_EQ(awaited_of(NULL, 0, NULL, 0).ns, 0);
}

/* A call that is not answered, or outlives the request, is awaited up to its end. */
TEST(calls_beyond_the_request)
{
	static const u64 calls[][2] = {{500, 2000}, {8000, 20000}, {8500, 0}};

	CHECK_EQ(awaited_of(calls, 3, NULL, 0).ns, 2000);
}

/* While a thread works for the request, or sleeps for it, its time is told by that. */
TEST(threads_beside_calls)
{
	static const u64 calls[][2] = {{2000, 5000}, {6000, 7000}};
	static const struct stint stints[] = {{REQUEST, 1, 1000, 2500},
					      {REQUEST, 1, 3000, 3500},
					      {REQUEST, 2, 3200, 4000},
					      {REQUEST, 1, 6000, 9000}};

	CHECK_EQ(awaited_of(calls, 2, stints, 4).ns, 4000);
	/* 2,500 to 3,000 and 4,000 to 5,000 */
	CHECK_EQ(awaited_of(calls, 2, stints, 4).off_thread_ns, 1500);
}

TEST_MAIN()
