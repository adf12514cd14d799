/* SPDX-License-Identifier: Apache-2.0 */
/* What recording cost adds up by name, and whom it hit by process and by span. */
#include "map/kernel/costs.h"

#include "check.h"
#include "map/partial.h"

static const struct context some_span = {{1}, {0, 0, 0, 0, 0, 0, 0, 2}};

static void apply_cost(struct partial *p, u64 time_ns, const char *name, u64 runs, u64 cost_ns)
{
	struct record_cost r = {.head = {.kind = RECORD_cost, .time_ns = time_ns},
				.begin_ns = time_ns - 1000,
				.runs = runs,
				.cost_ns = cost_ns,
				.made = RECORD_syscall,
				.flags = COST_PROGRAM | COST_WRITES};

	r.name_len = (u16)strlen(name);
	strcpy(r.name, name);
	CHECK_EQ(partial_apply(p, &r.head), 0);
}

TEST(costs_add_up_by_name_where_they_end_in_the_range)
{
	struct partial_options options = {.from_ns = 1500, .to_ns = 3500};
	struct partial *a = partial_new(&options), *b = partial_new(&options);

	apply_cost(a, 1400, "sys_exit", 100, 100); /* before it */
	apply_cost(a, 2000, "sys_exit", 10, 1000);
	apply_cost(a, 2000, "sys_enter", 10, 300);
	apply_cost(b, 3000, "sys_exit", 5, 600);
	apply_cost(b, 4000, "sys_exit", 100, 100); /* behind it */
	partial_cover(a, 1000, 2500);
	partial_cover(b, 2500, 5000);
	CHECK_EQ(partial_merge(a, b), 0);
	CHECK_EQ(partial_finish(a), 0);
	CHECK_EQ(a->costs.list.count, 2);
	CHECK_STR(a->costs.list.data[0].of.name, "sys_enter");
	CHECK_EQ(a->costs.list.data[0].cost_ns, 300);
	CHECK_STR(a->costs.list.data[1].of.name, "sys_exit");
	CHECK_EQ(a->costs.list.data[1].runs, 15);
	CHECK_EQ(a->costs.list.data[1].cost_ns, 1600);
	CHECK_EQ(a->costs.list.data[1].of.made, RECORD_syscall);
	partial_free(a);
}

/* A chunk may hold anything. */
TEST(a_name_without_an_end_is_cut)
{
	struct record_cost r = {.head = {.kind = RECORD_cost, .time_ns = 2000}, .cost_ns = 1};
	struct partial *p = partial_new(NULL);

	memset(r.name, 'x', sizeof(r.name));
	r.name_len = 65535;
	CHECK_EQ(partial_apply(p, &r.head), 0);
	CHECK_EQ(strlen(p->costs.list.data[0].of.name), COST_NAME_BYTES - 1);
	partial_free(p);
}

static void apply_call(struct partial *p, u32 pid, u64 time_ns, const struct context *ctx)
{
	struct record_syscall r = {
		.head = {.kind = RECORD_syscall, .tid = pid, .pid = pid, .time_ns = time_ns},
		.nr = 39,
		.duration_ns = 10};

	if (ctx)
		r.ctx = *ctx;
	CHECK_EQ(partial_apply(p, &r.head), 0);
}

static u64 hits_of(const struct partial *p, u8 kind, u32 number)
{
	return (u64)(uintptr_t)map_get(&p->hits.counts, hit_key(kind, number));
}

TEST(records_hit_processes_and_spans)
{
	struct partial_options options = {.hits = true};
	struct record_waking waking = {
		.head = {.kind = RECORD_waking, .tid = 7, .pid = 7, .time_ns = 1500},
		.waker_tid = 9};
	struct record_switch leaves = {
		.head = {.kind = RECORD_switch, .tid = 8, .pid = 7, .time_ns = 1600},
		.mode = MODE_PREV_OUT};
	struct partial *a = partial_new(&options), *b = partial_new(&options);

	for (u64 i = 0; i < 1000; i++) /* more processes than are counted apart */
		apply_call(a, 7 + (u32)(i % 500), 2000 + i, i % 500 ? NULL : &some_span);
	CHECK_EQ(partial_apply(a, &waking.head), 0);
	waking.context = WAKE_softirq; /* that hits nobody */
	CHECK_EQ(partial_apply(a, &waking.head), 0);
	CHECK_EQ(partial_apply(a, &leaves.head), 0); /* out of scope: nobody, either */
	apply_call(b, 7, 4000, &some_span);
	CHECK_EQ(partial_merge(a, b), 0);
	CHECK_EQ(partial_finish(a), 0);
	CHECK_EQ(hits_of(a, RECORD_syscall, 7), 3);
	for (u32 pid = 8; pid < 507; pid++)
		CHECK_EQ(hits_of(a, RECORD_syscall, pid), 2);
	CHECK_EQ(hits_of(a, RECORD_waking, 9), 1);
	CHECK_EQ(hits_of(a, RECORD_waking, 0), 1);
	CHECK_EQ(hits_of(a, RECORD_switch, 0), 1);
	CHECK(query_span_hits(a, &some_span));
	CHECK_EQ(query_span_hits(a, &some_span)->counts[HIT_syscall], 3);
	partial_free(a);
}

TEST(nobody_is_counted_unless_asked_for)
{
	struct partial *p = partial_new(NULL);

	apply_call(p, 7, 2000, &some_span);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->hits.counts.count, 0);
	CHECK(!query_span_hits(p, &some_span));
	partial_free(p);
}

TEST_MAIN()
