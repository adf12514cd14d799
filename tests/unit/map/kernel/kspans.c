/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that were packed come out as they were, in their order. */
#include "map/kernel/kspans.h"

#include "check.h"

static u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Any bytes in it, most of them zero; a word can have each length. */
static struct kspan any_span(u64 *state, u64 begin_ns)
{
	union {
		struct kspan k;
		u64 word[sizeof(struct kspan) / 8];
	} any;

	for (size_t i = 0; i < sizeof(any.word) / 8; i++)
		any.word[i] = random_next(state) % 3
				      ? 0
				      : random_next(state) >> random_next(state) % 64;
	any.k.begin_ns = begin_ns;
	return any.k;
}

TEST(what_was_packed_comes_out)
{
	enum { COUNT = 20000 };
	struct kspan *put = calloc(COUNT, sizeof(*put)), got;
	struct kspans spans = {0};
	u64 state = 88172645463325252ull;

	CHECK(put != NULL);
	for (size_t i = 0; i < COUNT; i++) {
		put[i] = any_span(&state, i);
		if (i < 2) /* nothing but what is left out, and nothing of that */
			memset(&put[i], i ? 0xff : 0, sizeof(*put));
		put[i].begin_ns = i;
		CHECK_EQ(kspans_add(&spans, &put[i]), 0);
	}
	CHECK_EQ(kspans_count(&spans), COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		kspans_get(&spans, i, &got);
		CHECK_MEM(&got, &put[i], sizeof(got));
	}
	kspans_free(&spans);
	CHECK_EQ(kspans_count(&spans), 0);
	free(put);
}

/* Of more threads than a page has patterns for; each does nearly the same every time. */
static struct record_syscall any_call(u64 *state, u32 tid)
{
	struct record_syscall c = {.nr = (u16)(random_next(state) % 3),
				   .flags = random_next(state) % 9 ? 0 : SYSCALL_COMPAT,
				   .result = (s64)(random_next(state) % 5) - 1,
				   .arg0 = random_next(state) % 4,
				   .arg1 = 0x7ffe00001000ull + tid,
				   .arg5 = random_next(state) % 50 ? 0 : random_next(state),
				   .file = {.key = tid, .kind = FILE_KIND_tcp}};

	for (size_t i = 0; i < sizeof(c.ctx) && tid % 7 == 0; i++)
		((u8 *)&c.ctx)[i] = (u8)(random_next(state) % 2);
	return c;
}

TEST(a_call_is_packed_like_its_span)
{
	enum { COUNT = 50000 };
	struct record_syscall *calls = calloc(COUNT, sizeof(*calls));
	struct kspans spans = {0};
	u64 state = 88172645463325252ull;

	CHECK(calls != NULL);
	for (u64 i = 0; i < 2 * COUNT; i++) {
		u32 tid = (u32)(i / 2 % 1000);
		struct kspan_call call = {.begin_ns = i / 2,
					  .end_ns = i / 2 * 3,
					  .tid = tid,
					  .pid = tid / 5,
					  .flags = (u8)(i / 2 % 3),
					  .record = &calls[i / 2]};
		struct kspan k, got;

		if (i % 2 == 0) {
			calls[i / 2] = any_call(&state, tid);
			CHECK_EQ(kspans_add_call(&spans, &call), 0);
			continue;
		}
		k = kspan_of_call(&call);
		kspans_get(&spans, i / 2, &got);
		CHECK_MEM(&got, &k, sizeof(k));
		CHECK_EQ(kspans_count(&spans), i / 2 + 1);
	}
	kspans_free(&spans);
	free(calls);
}

/* Some began a few spans before they came, some many more, some at once with others. */
TEST(what_comes_late_finds_its_place)
{
	enum { COUNT = 5000 };
	static bool seen[COUNT];
	struct kspans spans = {0};
	struct kspan k, before = {0};
	u64 state = 88172645463325252ull;

	for (u64 i = 0; i < COUNT; i++) {
		u64 back = random_next(&state) % (i % 97 ? 16 : 2 * COUNT);

		k = (struct kspan){.begin_ns = 2 * i > back ? 2 * i - back : 0, .tid = (u32)i};
		k.end_ns = k.begin_ns + 1;
		CHECK_EQ(kspans_add(&spans, &k), 0);
	}
	kspans_sort(&spans);
	CHECK_EQ(kspans_count(&spans), COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		kspans_get(&spans, i, &k);
		CHECK(!seen[k.tid]);
		seen[k.tid] = true;
		CHECK(i == 0 || k.begin_ns > before.begin_ns ||
		      (k.begin_ns == before.begin_ns && k.tid > before.tid));
		before = k;
	}
	kspans_free(&spans);
}

TEST(they_stand_by_begin_and_what_encloses_first)
{
	static const struct kspan in_order[] = {
		{.begin_ns = 5, .end_ns = 6, .tid = 9},
		{.begin_ns = 7, .end_ns = 20, .tid = 4},
		{.begin_ns = 7, .end_ns = 9, .tid = 3, .kind = KSPAN_WAIT},
		{.begin_ns = 7, .end_ns = 9, .tid = 4},
		{.begin_ns = 7, .end_ns = 9, .tid = 4, .kind = KSPAN_WAIT},
		{.begin_ns = 7, .end_ns = 9, .tid = 4, .kind = KSPAN_WAIT, .nr = 1},
		{.begin_ns = 7, .end_ns = 9, .tid = 4, .kind = KSPAN_WAIT, .nr = 1, .result = 1},
		{.begin_ns = 8, .end_ns = 8},
	};
	enum { COUNT = sizeof(in_order) / sizeof(in_order[0]) };

	for (u64 round = 1; round < 200; round++) {
		struct kspans left = {0}, right = {0};
		u64 state = round * 0x9e3779b97f4a7c15ull;
		bool taken[COUNT] = {0};
		struct kspan got;

		for (size_t i = 0; i < COUNT; i++) {
			size_t at = random_next(&state) % COUNT;

			while (taken[at])
				at = (at + 1) % COUNT;
			taken[at] = true;
			CHECK_EQ(
				kspans_add(random_next(&state) % 2 ? &left : &right, &in_order[at]),
				0);
		}
		CHECK_EQ(kspans_merge(&left, &right), 0);
		CHECK_EQ(kspans_count(&right), 0);
		kspans_sort(&left);
		CHECK_EQ(kspans_count(&left), COUNT);
		for (size_t i = 0; i < COUNT; i++) {
			kspans_get(&left, i, &got);
			CHECK_MEM(&got, &in_order[i], sizeof(got));
		}
		kspans_free(&left);
		kspans_free(&right);
	}
}

TEST_MAIN()
