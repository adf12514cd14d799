/* SPDX-License-Identifier: Apache-2.0 */
/* Losses joined by the index, and looked at one by one, say the same. */
#include "map/loss_index.h"
#include "check.h"
#include "model/life.h"

static u64 seed;

static u64 any_below(u64 limit)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % limit;
}

struct losses {
	VEC(struct record_lost) list;
	struct loss_index index;
};

static void losses_free(struct losses *l)
{
	vec_free(&l->list);
	loss_index_free(&l->index);
}

static void add(struct losses *l, u16 cpu, u64 begin_ns, u64 end_ns)
{
	struct record_lost lost = {.head = {.kind = RECORD_lost, .cpu = cpu, .time_ns = end_ns},
				   .begin_ns = begin_ns};

	CHECK_EQ(vec_push(&l->list, lost), 0);
	CHECK_EQ(loss_index_add(&l->index, &lost), 0);
}

/* Each ends behind the one before, or they are in any order. Some are of no known CPU. */
static void fill(struct losses *l, size_t count, bool ordered)
{
	u64 end = 1000;

	for (size_t i = 0; i < count; i++) {
		u16 cpu = (u16)any_below(5);
		u64 length = 1 + any_below(any_below(8) ? 30 : 500);

		end = ordered ? end + any_below(40) : 1000 + any_below(count * 20);
		add(l, cpu == 4 ? LIFE_CPU_UNKNOWN : cpu, end - length, end);
	}
}

static struct loss_stretch by_one(const struct losses *l, const struct loss_range *range, int cpu)
{
	struct loss_stretch s = {0};

	for (size_t i = range->from; i < range->to; i++) {
		const struct record_lost *lost = &l->list.data[i];
		u64 end = lost->head.time_ns;

		if (cpu >= 0 && lost->head.cpu != cpu)
			continue;
		s.earlier |= end <= range->after_ns;
		if (end <= range->after_ns || lost->begin_ns >= range->until_ns)
			continue;
		if (end > range->until_ns)
			end = range->until_ns;
		if (!s.end_ns || lost->begin_ns < s.begin_ns)
			s.begin_ns = lost->begin_ns;
		if (end > s.end_ns)
			s.end_ns = end;
	}
	return s;
}

static struct loss_range any_range(const struct losses *l)
{
	u64 to = any_below(l->list.count + 1);
	u64 last = 1100 + 20 * l->list.count;
	struct loss_range range = {.to = to, .from = any_below(to + 1), .until_ns = UINT64_MAX};

	if (any_below(3) && range.from) /* as lives ask: for what comes behind what they know */
		range.after_ns = l->list.data[range.from - 1].head.time_ns - any_below(2);
	else
		range.after_ns = any_below(last);
	if (any_below(2))
		range.until_ns = range.after_ns + 1 + any_below(last);
	return range;
}

static void check_equal(const struct losses *l, int cpu)
{
	const struct loss_list *list = cpu < 0 ? &l->index.any : loss_index_of(&l->index, (u16)cpu);
	struct loss_range range = any_range(l);
	struct loss_stretch want = by_one(l, &range, cpu), got = {0};

	if (list)
		loss_list_join(list, &range, &got);
	CHECK_EQ(got.begin_ns, want.begin_ns);
	CHECK_EQ(got.end_ns, want.end_ns);
	CHECK_EQ(got.earlier, want.earlier);
}

TEST(a_range_says_what_its_losses_say)
{
	for (seed = 1; seed <= 300; seed++) {
		u64 this_seed = seed;
		struct losses l = {0};

		fill(&l, 1 + any_below(70), this_seed % 2);
		for (int i = 0; i < 200; i++) {
			check_equal(&l, -1);
			check_equal(&l, (int)any_below(5));
			check_equal(&l, LIFE_CPU_UNKNOWN);
		}
		losses_free(&l);
		seed = this_seed;
	}
}

TEST(a_cpu_without_losses_has_no_list)
{
	struct losses l = {0};

	CHECK(!loss_index_of(&l.index, 0));
	add(&l, 0xffff, 1, 2);
	CHECK(!loss_index_of(&l.index, 0));
	CHECK(loss_index_of(&l.index, 0xffff) != NULL);
	losses_free(&l);
}

/* With 65,536 of them: were one looked at after the other, it would be tens of thousands. */
TEST(few_steps_are_made_over_many_losses)
{
	struct losses l = {0};
	size_t most = 0;

	seed = 1;
	fill(&l, 1 << 16, true);
	for (int i = 0; i < 20000; i++) {
		struct loss_range range = any_range(&l);
		struct loss_stretch s = {0};
		size_t steps = loss_list_join(&l.index.any, &range, &s);

		most = steps > most ? steps : most;
	}
	CHECK(most > 10);
	CHECK(most < 600);
	losses_free(&l);
}

TEST_MAIN()
