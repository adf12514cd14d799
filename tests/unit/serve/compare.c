/* SPDX-License-Identifier: Apache-2.0 */
/* What tells two sets of spans apart, and what each difference explains. */
#include "serve/compare.h"

#include "tests/unit/check.h"
#include "tests/unit/serve/gathered.h"

static const struct attribute slow[] = {
	STRING("tenant", "big"), INTEGER("bytes.from", 4711), STRING("fathom.kernel.why", "slow"),
	INTEGER("fathom.time.user_ns", 10), INTEGER("fathom.time.lock_ns", 90)};
static const struct attribute fast[] = {STRING("tenant", "small"),
					INTEGER("fathom.time.user_ns", 10)};
static const struct attribute paying[] = {INTEGER("fathom.time.user_ns", 5)};
static const struct attribute sampled[] = {STRING("fathom.kernel.why", "sample")};
static const struct attribute wait[] = {STRING("fathom.kind", "wait"), STRING("syscall", "fsync"),
					STRING("fd.name", "/x")};

static const struct difference *find(const struct comparison *c, enum difference_kind kind,
				     const char *value)
{
	for (size_t i = 0; i < c->list.count; i++) {
		if (c->list.data[i].kind == kind && strcmp(c->list.data[i].value, value) == 0)
			return &c->list.data[i];
	}
	return NULL;
}

/* Three slow requests with a wait each, five fast ones, of which one is looked at in detail. */
static size_t requests_make(struct received_span *spans)
{
	size_t n = 0;

	for (uint64_t i = 1; i <= 8; i++) {
		bool is_slow = i <= 3;

		spans[n] = span_make(i, 1, 0, "request", is_slow ? 100 : 10);
		spans[n++].attributes = is_slow ? LIST(slow) : i == 8 ? LIST(sampled) : LIST(fast);
		if (!is_slow)
			continue;
		spans[n] = span_make(i, 2, 1, "lock", 90);
		spans[n++].attributes = LIST(wait);
		spans[n] = span_make(i, 3, 1, "pay", 5);
		spans[n].begin_ns += 93;
		spans[n].end_ns += 93;
		spans[n++].attributes = LIST(paying);
	}
	return n;
}

TEST(each_kind_of_difference_is_found)
{
	const struct gather_query slow_ones = {
		.operation = "request", .kind = -1, .duration_from_ns = 50};
	struct received_span *spans = calloc(32, sizeof(*spans));
	struct gathered a = {0}, b = {0};
	struct pool pool = {0};
	struct comparison c = {.pool = &pool};
	const struct difference *d;

	a.batch = b.batch = (struct received_batch){spans, requests_make(spans), 32};
	CHECK_EQ(gathered_index(&a, &slow_ones), 0);
	CHECK_EQ(gathered_index(&b, &all_requests), 0);
	CHECK_EQ(a.subjects.count, 3);
	CHECK_EQ(b.subjects.count, 8);
	CHECK_EQ(comparison_add(&c, 0, &a, NULL), 0);
	CHECK_EQ(comparison_add(&c, 1, &b, &slow_ones), 0);
	comparison_finish(&c);
	CHECK_EQ(c.sides[0].spans, 3);
	CHECK_EQ(c.sides[1].spans, 5);
	CHECK_EQ(c.sides[1].measured, 4);
	CHECK_EQ(c.sides[1].detailed, 1);
	d = find(&c, DIFFERENCE_PART, "lock");
	CHECK(d && d->explains_ns == 90);
	CHECK_EQ(d->sides[0].bins[6], 3); /* 64 to 127 ns */
	CHECK_EQ(d->sides[1].bins[6], 0);
	CHECK_EQ(find(&c, DIFFERENCE_PART, "user")->explains_ns, 0);
	d = find(&c, DIFFERENCE_PLACE, "fsync on /x");
	CHECK(d && d->explains_ns == 90 && strcmp(d->key, "lock") == 0);
	CHECK(find(&c, DIFFERENCE_ATTRIBUTE, "big"));
	CHECK(!find(&c, DIFFERENCE_ATTRIBUTE, "4711"));
	d = find(&c, DIFFERENCE_CALL, "pay");
	CHECK(d && d->explains_ns == 5 && d->sides[0].count == 3);
	d = find(&c, DIFFERENCE_ATTRIBUTE, "big");
	CHECK(d && d->explains_ns == 90);
	CHECK_EQ(find(&c, DIFFERENCE_ATTRIBUTE, "small")->explains_ns, 0);
	CHECK(!find(&c, DIFFERENCE_ATTRIBUTE, "slow")); /* fathom's own say nothing */
	b.batch = (struct received_batch){0};
	gathered_free(&a);
	gathered_free(&b);
	comparison_free(&c);
	pool_free(&pool);
}

/* Requests of a client whose server waits for a CPU in some. */
TEST(the_time_of_a_server_is_not_that_of_its_client)
{
	static const struct attribute client[] = {INTEGER("fathom.time.network_ns", 100)};
	static const struct attribute quick[] = {INTEGER("fathom.time.network_ns", 20)};
	static const struct attribute busy[] = {INTEGER("fathom.time.user_ns", 10),
						INTEGER("fathom.time.runnable_ns", 80)};
	static const struct attribute free_cpu[] = {INTEGER("fathom.time.user_ns", 10)};
	static const struct received_resource server = {.service = "thumbnailer"};
	const struct gather_query slow_ones = {
		.operation = "request", .kind = -1, .duration_from_ns = 50};
	struct received_span *spans = calloc(16, sizeof(*spans));
	struct gathered a = {0}, b = {0};
	struct pool pool = {0};
	struct comparison c = {.pool = &pool};
	const struct difference *d;

	for (uint64_t i = 0; i < 4; i++) {
		uint64_t took_ns = i < 2 ? 100 : 20;

		spans[2 * i] = span_make(i + 1, 1, 0, "request", took_ns);
		spans[2 * i].attributes = i < 2 ? LIST(client) : LIST(quick);
		spans[2 * i + 1] = span_make(i + 1, 2, 1, "decode", took_ns - 10);
		spans[2 * i + 1].attributes = i < 2 ? LIST(busy) : LIST(free_cpu);
		spans[2 * i + 1].resource = &server;
	}
	a.batch = b.batch = (struct received_batch){spans, 8, 16};
	CHECK_EQ(gathered_index(&a, &slow_ones), 0);
	CHECK_EQ(gathered_index(&b, &all_requests), 0);
	CHECK_EQ(comparison_add(&c, 0, &a, NULL), 0);
	CHECK_EQ(comparison_add(&c, 1, &b, &slow_ones), 0);
	comparison_finish(&c);
	CHECK_EQ(find(&c, DIFFERENCE_PART, "network")->explains_ns, 0);
	CHECK_EQ(find(&c, DIFFERENCE_PART, "runnable")->explains_ns, 80);
	d = find(&c, DIFFERENCE_OWN, "decode");
	CHECK(d && d->explains_ns == 80); /* the first one has the most */
	CHECK_STR(d->key, "runnable");
	CHECK_STR(d->service, "thumbnailer");
	b.batch = (struct received_batch){0};
	gathered_free(&a);
	gathered_free(&b);
	comparison_free(&c);
	pool_free(&pool);
}

TEST(nothing_compares_with_nothing)
{
	struct gathered none = {0};
	struct pool pool = {0};
	struct comparison c = {.pool = &pool};

	CHECK_EQ(gathered_index(&none, &all_requests), 0);
	CHECK_EQ(comparison_add(&c, 0, &none, NULL), 0);
	comparison_finish(&c);
	CHECK_EQ(c.list.count, 0);
	gathered_free(&none);
	comparison_free(&c);
}

TEST_MAIN()
