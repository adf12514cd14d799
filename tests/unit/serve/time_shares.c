/* SPDX-License-Identifier: Apache-2.0 */
/* How the time of a span parts among itself and its children. */
#include "serve/time_shares.h"

#include "tests/unit/check.h"
#include "tests/unit/serve/gathered.h"

static const struct received_resource thumbnailer = {.service = "thumbnailer"};
static const struct attribute wait[] = {STRING("fathom.kind", "wait"),
					STRING("syscall", "recvfrom")};

/* Takes over the spans. */
static struct gathered gathered_make(struct received_span *spans, size_t count)
{
	struct gathered g = {.batch = {spans, count, count}};

	CHECK_EQ(gathered_index(&g, &all_requests), 0);
	return g;
}

static struct received_span *spans_make(size_t count)
{
	struct received_span *spans = calloc(count, sizeof(*spans));

	CHECK(spans);
	return spans;
}

TEST(a_client_has_of_its_wait_only_what_no_server_had)
{
	static const struct attribute client[] = {INTEGER("fathom.time.user_ns", 4),
						  INTEGER("fathom.time.network_ns", 96)};
	static const struct attribute server[] = {INTEGER("fathom.time.runnable_ns", 80)};
	struct received_span *spans = spans_make(3);
	struct gathered g;
	struct time_shares s;

	spans[0] = span_between(1, 0, "request", 1000, 1100);
	spans[0].attributes = LIST(client);
	spans[1] = span_between(2, 1, "decode", 1010, 1090);
	spans[1].attributes = LIST(server);
	spans[1].resource = &thumbnailer;
	spans[2] = span_between(3, 1, "network", 1002, 1098);
	spans[2].attributes = LIST(wait);
	g = gathered_make(spans, 3);
	CHECK_EQ(time_shares_calculate(&g, 0, &s), 0);
	CHECK_EQ(s.children.count, 1);
	CHECK_EQ(s.children.data[0].share_ns, 80);
	CHECK_EQ(s.own_ns, 20);
	CHECK_EQ(s.own.ns[SPLIT_user], 4);
	CHECK_EQ(s.own.ns[SPLIT_network], 16);
	CHECK_EQ(time_shares_wait_ns(&s, &spans[2]), 16);
	time_shares_free(&s);
	gathered_free(&g);
}

TEST(without_kernel_spans_it_is_the_same)
{
	static const struct attribute client[] = {INTEGER("fathom.time.user_ns", 4),
						  INTEGER("fathom.time.network_ns", 70),
						  INTEGER("fathom.time.ipc_ns", 26)};
	struct received_span *spans = spans_make(2);
	struct gathered g;
	struct time_shares s;

	spans[0] = span_between(1, 0, "request", 1000, 1100);
	spans[0].attributes = LIST(client);
	spans[1] = span_between(2, 1, "decode", 1010, 1090); /* it has no split */
	spans[1].resource = &thumbnailer;
	g = gathered_make(spans, 2);
	CHECK_EQ(time_shares_calculate(&g, 0, &s), 0);
	CHECK_EQ(s.own_ns, 20);
	CHECK_EQ(s.own.ns[SPLIT_network], 0);
	CHECK_EQ(s.own.ns[SPLIT_ipc], 16);
	time_shares_free(&s);
	CHECK_EQ(time_shares_calculate(&g, 1, &s), 0);
	CHECK_EQ(s.own_ns, 80);
	CHECK(!s.is_measured);
	CHECK_EQ(split_total(&s.own), 0);
	time_shares_free(&s);
	gathered_free(&g);
}

/* A parent that works meanwhile does not wait for what it started. */
TEST(a_child_in_another_thread_has_no_more_than_the_parent_waited)
{
	static const struct attribute parent[] = {
		INTEGER("thread.id", 1), INTEGER("fathom.time.user_ns", 70),
		INTEGER("fathom.time.lock_ns", 20), INTEGER("fathom.time.disk_ns", 10)};
	static const struct attribute child[] = {INTEGER("thread.id", 2),
						 INTEGER("fathom.time.user_ns", 60)};
	struct received_span *spans = spans_make(2);
	struct gathered g;
	struct time_shares s;

	spans[0] = span_between(1, 0, "request", 1000, 1100);
	spans[0].attributes = LIST(parent);
	spans[1] = span_between(2, 1, "resize", 1030, 1090);
	spans[1].attributes = LIST(child);
	g = gathered_make(spans, 2);
	CHECK_EQ(time_shares_calculate(&g, 0, &s), 0);
	CHECK_EQ(s.children.data[0].share_ns, 20);
	CHECK_EQ(s.own_ns, 80);
	CHECK_EQ(s.own.ns[SPLIT_user], 70);
	CHECK_EQ(s.own.ns[SPLIT_lock], 0);
	CHECK_EQ(s.own.ns[SPLIT_disk], 10);
	time_shares_free(&s);
	gathered_free(&g);
}

/* It began in the thread that accepts, and a worker had it from then on. */
TEST(a_span_that_was_handed_over_has_none_of_the_time_of_its_child)
{
	static const struct attribute parent[] = {
		INTEGER("thread.id", 1), INTEGER("fathom.version", 3),
		INTEGER("fathom.time.cpu_ns", 20), INTEGER("fathom.time.runnable_ns", 80)};
	static const struct attribute child[] = {INTEGER("thread.id", 2),
						 INTEGER("fathom.time.cpu_ns", 15),
						 INTEGER("fathom.time.runnable_ns", 75)};
	struct received_span *spans = spans_make(2);
	struct gathered g;
	struct time_shares s;

	spans[0] = span_between(1, 0, "request", 1000, 1100);
	spans[0].attributes = LIST(parent);
	spans[1] = span_between(2, 1, "decode", 1005, 1095);
	spans[1].attributes = LIST(child);
	g = gathered_make(spans, 2);
	CHECK_EQ(time_shares_calculate(&g, 0, &s), 0);
	CHECK_EQ(s.children.data[0].share_ns, 90);
	CHECK_EQ(s.own.ns[SPLIT_cpu], 5);
	CHECK_EQ(s.own.ns[SPLIT_runnable], 5);
	time_shares_free(&s);
	gathered_free(&g);
}

TEST(of_parallel_children_the_last_one_has_the_time)
{
	struct received_span *spans = spans_make(4);
	struct gathered g;
	struct time_shares s;

	spans[0] = span_between(1, 0, "request", 1000, 1100);
	spans[1] = span_between(2, 1, "early", 900, 1030); /* it began before its parent */
	spans[2] = span_between(3, 1, "slow", 1020, 1090);
	spans[3] = span_between(4, 1, "hidden", 1030, 1080);
	g = gathered_make(spans, 4);
	CHECK_EQ(time_shares_calculate(&g, 0, &s), 0);
	CHECK_EQ(s.children.data[0].at, 2);
	CHECK_EQ(s.children.data[0].share_ns, 70);
	CHECK_EQ(s.children.data[1].at, 3);
	CHECK_EQ(s.children.data[1].share_ns, 0);
	CHECK_EQ(s.children.data[2].at, 1);
	CHECK_EQ(s.children.data[2].share_ns, 20);
	CHECK_EQ(s.own_ns, 10);
	time_shares_free(&s);
	gathered_free(&g);
}

/* ---- all of it always sums up ---- */

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % limit;
}

#define SPANS 24
#define KEYS 6

static void attributes_make(struct received_span *span, struct attribute *list)
{
	static const char *const keys[KEYS] = {"fathom.time.user_ns",	 "fathom.time.network_ns",
					       "fathom.time.lock_ns",	 "fathom.time.disk_ns",
					       "fathom.time.unknown_ns", "thread.id"};
	size_t count = random_below(KEYS + 1);

	for (size_t i = 0; i < count; i++)
		list[i] = (struct attribute){
			.key = keys[i],
			.type = VALUE_INTEGER,
			.integer = random_below(40) ? (int64_t)random_below(200) : INT64_MAX};
	span->attributes = (struct received_list){list, count, 0};
}

static struct received_span *world_make(struct attribute attributes[SPANS][KEYS])
{
	static const struct attribute in_kernel[] = {STRING("fathom.kind", "wait")};
	struct received_span *spans = spans_make(SPANS);

	for (uint64_t i = 0; i < SPANS; i++) {
		uint64_t begin_ns = 1000 + random_below(200);
		bool is_kernel = i > 4 && random_below(3) == 0;

		spans[i] = span_between(i + 1, i ? 1 + random_below(i) : 0,
					is_kernel	  ? "network"
					: random_below(8) ? "request"
							  : "other",
					begin_ns, begin_ns + random_below(300));
		spans[i].resource = random_below(2) ? &shop : &thumbnailer;
		attributes_make(&spans[i], attributes[i]);
		if (is_kernel)
			spans[i].attributes = LIST(in_kernel);
	}
	return spans;
}

/* The time of a span by its children and parts, which must be what its parent gave it. */
static uint64_t tree_sum(const struct gathered *g, uint32_t at, uint64_t width_ns)
{
	struct time_shares s;
	struct scale scale = {.to_ns = width_ns};
	uint64_t sum_ns, shares_ns = 0;

	CHECK_EQ(time_shares_calculate(g, at, &s), 0);
	CHECK_EQ((uint64_t)split_total(&s.own), s.is_measured ? s.own_ns : 0);
	scale.from_ns = s.duration_ns;
	sum_ns = scale_next(&scale, s.own_ns);
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++)
		CHECK(s.own.ns[part] >= 0);
	for (size_t i = 0; i < s.children.count; i++) {
		const struct child_share *child = &s.children.data[i];
		uint64_t below_ns = scale_next(&scale, child->share_ns);

		CHECK(child->share_ns <= child->end_ns - child->begin_ns);
		CHECK(child->share_ns <= received_duration_ns(&g->batch.data[child->at]));
		CHECK_EQ(tree_sum(g, child->at, below_ns), below_ns);
		sum_ns += below_ns;
		shares_ns += child->share_ns;
	}
	CHECK_EQ(s.own_ns + shares_ns, s.duration_ns);
	time_shares_free(&s);
	return sum_ns;
}

TEST(the_times_of_any_tree_sum_to_its_root)
{
	struct attribute attributes[SPANS][KEYS];

	random_state = 1;
	for (int world = 0; world < 2000; world++) {
		struct gathered g = gathered_make(world_make(attributes), SPANS);
		uint64_t duration_ns = received_duration_ns(&g.batch.data[0]);

		CHECK_EQ(tree_sum(&g, 0, duration_ns), duration_ns);
		gathered_free(&g);
	}
}

/* The time of children that a span has in its waits, one by one. */
static uint64_t slowly(const struct time_shares *s, const struct received_span *wait, bool apart)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < s->children.count; i++) {
		const struct child_share *child = &s->children.data[i];
		uint64_t from_ns = child->begin_ns > wait->begin_ns ? child->begin_ns
								    : wait->begin_ns;
		uint64_t to_ns = child->end_ns < wait->end_ns ? child->end_ns : wait->end_ns;

		if (to_ns > from_ns && (!apart || child->is_apart))
			ns += to_ns - from_ns;
	}
	return ns;
}

TEST(the_time_of_children_in_any_wait_is_that_of_each_added_up)
{
	struct attribute attributes[SPANS][KEYS];

	random_state = 2;
	for (int world = 0; world < 2000; world++) {
		struct gathered g = gathered_make(world_make(attributes), SPANS);
		uint64_t waited_ns = 0, by_wait_ns = 0;
		struct time_shares s;

		CHECK_EQ(time_shares_calculate(&g, 0, &s), 0);
		for (uint32_t at = g.first[0]; at != GATHER_NONE; at = g.next[at]) {
			const struct received_span *span = &g.batch.data[at];

			if (!gather_kernel_kind(span))
				continue;
			CHECK_EQ(time_shares_wait_ns(&s, span),
				 received_duration_ns(span) - slowly(&s, span, true));
			by_wait_ns += slowly(&s, span, false);
		}
		for (size_t i = 0; i < s.children.count; i++)
			waited_ns += s.children.data[i].waited_ns;
		CHECK_EQ(waited_ns, by_wait_ns);
		time_shares_free(&s);
		gathered_free(&g);
	}
}

/* Each wait and each child once: with each wait over all children this would take minutes. */
TEST(waits_around_many_children_take_no_square_of_time)
{
	static const struct attribute parent[] = {INTEGER("fathom.time.network_ns", 1000000)};
	const uint64_t half = 100000;
	struct received_span *spans = spans_make(2 * half + 1);
	struct gathered g;
	struct time_shares s;

	spans[0] = span_between(1, 0, "request", 1000, 1000 + 10 * half);
	spans[0].attributes = LIST(parent);
	for (uint64_t i = 0; i < half; i++) {
		struct received_span *child = &spans[1 + i], *waited = &spans[1 + half + i];

		*child = span_between(2 + i, 1, "get", 1000 + 10 * i, 1005 + 10 * i);
		child->resource = &thumbnailer;
		*waited = span_between(2 + half + i, 1, "network", 1000, 1000 + 10 * half);
		waited->attributes = LIST(wait);
	}
	g = gathered_make(spans, 2 * half + 1);
	CHECK_EQ(time_shares_calculate(&g, 0, &s), 0);
	CHECK_EQ(s.own_ns, 5 * half);
	CHECK_EQ(s.children.data[half / 2].waited_ns, 5 * half);
	CHECK_EQ(time_shares_wait_ns(&s, &spans[1 + half]), 5 * half);
	time_shares_free(&s);
	gathered_free(&g);
}

TEST(a_process_whose_resource_changed_is_still_one)
{
	static const struct attribute first[] = {INTEGER("process.pid", 5),
						 STRING("host.name", "h")};
	static const struct attribute second[] = {INTEGER("process.pid", 5),
						  STRING("host.name", "h"),
						  STRING("service.version", "2")};
	static const struct attribute thread[] = {INTEGER("thread.id", 7)};
	const struct received_resource before = {.service = "shop", .attributes = LIST(first)};
	const struct received_resource after = {.service = "shop", .attributes = LIST(second)};
	struct received_span *spans = spans_make(2);
	struct time_shares s;
	struct gathered g;

	spans[0] = span_between(1, 0, "request", 1000, 1100);
	spans[0].attributes = LIST(thread);
	spans[0].resource = &before;
	spans[1] = span_between(2, 1, "decode", 1010, 1090);
	spans[1].attributes = LIST(thread);
	spans[1].resource = &after;
	g = gathered_make(spans, 2);
	CHECK_EQ(time_shares_calculate(&g, 0, &s), 0);
	CHECK_EQ(s.children.count, 1);
	CHECK(!s.children.data[0].is_apart);
	time_shares_free(&s);
	gathered_free(&g);
}

TEST_MAIN()
