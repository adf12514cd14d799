/* SPDX-License-Identifier: Apache-2.0 */
#include "store/trace_filter.h"

#include <errno.h>

#include "tests/unit/check.h"

static struct trace_id id(uint64_t i)
{
	return (struct trace_id){i * 0x9e3779b97f4a7c15u, i};
}

TEST(a_folded_filter_has_all_traces_and_few_others)
{
	struct trace_filter f = {0}, back = {0};
	struct bytes words = {0};
	const uint64_t count = 50000;
	uint64_t wrong = 0;

	CHECK_EQ(trace_filter_begin(&f), 0);
	for (uint64_t i = 0; i < count; i++)
		trace_filter_add(&f, id(i));
	trace_filter_fold(&f);
	CHECK_EQ(f.bits, 20); /* 20 bits a trace */
	trace_filter_put(&words, &f);
	CHECK_EQ(words.count, (1u << 20) / 8);
	CHECK_EQ(trace_filter_get(&back, words.data, words.count), 0);
	for (uint64_t i = 0; i < count; i++) {
		CHECK(trace_filter_may_have(&back, id(i)));
		wrong += trace_filter_may_have(&back, id(count + i));
	}
	CHECK(wrong < count / 400);
	CHECK_EQ(trace_filter_get(&back, words.data, words.count - 1), -EINVAL);
	bytes_free(&words);
	trace_filter_free(&f);
	trace_filter_free(&back);
}

TEST(an_absent_filter_hides_nothing)
{
	struct trace_filter f = {0};

	CHECK(trace_filter_may_have(&f, id(1)));
}

TEST_MAIN()
