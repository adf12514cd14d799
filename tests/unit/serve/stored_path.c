/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of stored spans. */
#include "serve/stored_path.h"

#include "tests/unit/check.h"
#include "tests/unit/serve/gathered.h"

static const struct received_resource other = {.service = "other"};

static struct gathered gathered_make(struct received_span *spans, size_t count)
{
	struct received_span *copy = calloc(count, sizeof(*copy));
	struct gathered g = {.batch = {copy, count, count}};

	CHECK(copy);
	memcpy(copy, spans, count * sizeof(*copy));
	CHECK_EQ(gathered_index(&g, &all_requests), 0);
	return g;
}

static struct received_span span_with(struct received_span span, struct received_list attributes)
{
	span.attributes = attributes;
	return span;
}

/* The steps must have no holes, and sum to the span. */
static void path_check(const struct gathered *g, uint32_t at, const struct stored_path *path)
{
	uint64_t until_ns = g->batch.data[at].begin_ns;

	for (size_t i = 0; i < path->list.count; i++) {
		CHECK_EQ(path->list.data[i].begin_ns, until_ns);
		CHECK(path->list.data[i].end_ns > until_ns);
		until_ns = path->list.data[i].end_ns;
	}
	CHECK_EQ(until_ns, g->batch.data[at].end_ns);
}

static void step_check(const struct stored_path *path, size_t i, struct path_step wanted)
{
	const struct path_step *step = &path->list.data[i];

	CHECK(i < path->list.count);
	CHECK_EQ(step->begin_ns, wanted.begin_ns);
	CHECK_EQ(step->end_ns, wanted.end_ns);
	CHECK_EQ(step->at, wanted.at);
	CHECK_EQ(step->state, wanted.state);
}

TEST(the_path_leads_through_the_child_that_ended_last)
{
	/* 1 runs beside 2, and ends after 2 began: nobody waited for it */
	struct received_span spans[] = {
		span_between(1, 0, "request", 1000, 1100), span_between(2, 1, "a", 1010, 1060),
		span_between(3, 1, "b", 1040, 1090), span_between(4, 3, "c", 1050, 1070)};
	struct gathered g = gathered_make(spans, 4);
	struct stored_path path = {0};

	CHECK_EQ(stored_path_find(&g, 0, &path), 0);
	path_check(&g, 0, &path);
	CHECK_EQ(path.list.count, 5);
	step_check(&path, 0, (struct path_step){1000, 1040, 0, 0, 0, PATH_UNKNOWN, -1});
	step_check(&path, 1, (struct path_step){1040, 1050, 2, 0, 0, PATH_UNKNOWN, -1});
	step_check(&path, 2, (struct path_step){1050, 1070, 3, 0, 0, PATH_UNKNOWN, -1});
	step_check(&path, 3, (struct path_step){1070, 1090, 2, 0, 0, PATH_UNKNOWN, -1});
	step_check(&path, 4, (struct path_step){1090, 1100, 0, 0, 0, PATH_UNKNOWN, -1});
	CHECK(!path.has_waits && !path.has_wakers && !path.is_cut);
	stored_path_free(&path);
	gathered_free(&g);
}

TEST(a_server_may_end_after_its_client_but_what_runs_beside_a_span_is_not_waited_for)
{
	struct received_span spans[] = {
		span_between(1, 0, "request", 1000, 1100), span_between(2, 1, "serve", 1020, 1105),
		span_between(3, 1, "log it", 1010, 1300), span_between(4, 2, "send", 1090, 1104)};
	struct gathered g;
	struct stored_path path = {0};

	spans[1].resource = &other;
	spans[1].kind = RECEIVED_SERVER;
	spans[3].resource = &other;
	g = gathered_make(spans, 4);
	CHECK_EQ(stored_path_find(&g, 0, &path), 0);
	path_check(&g, 0, &path);
	CHECK_EQ(path.list.count, 3);
	step_check(&path, 0, (struct path_step){1000, 1020, 0, 0, 0, PATH_UNKNOWN, -1});
	step_check(&path, 1, (struct path_step){1020, 1090, 1, 0, 0, PATH_UNKNOWN, -1});
	step_check(&path, 2, (struct path_step){1090, 1100, 3, 0, 0, PATH_UNKNOWN, -1});
	stored_path_free(&path);
	gathered_free(&g);
}

/* Attributes of a span whose waits are stored, on thread 7; and of one on thread 8. */
static const struct attribute detailed[] = {INTEGER("fathom.time.user_ns", 40),
					    INTEGER("fathom.time.lock_ns", 60),
					    INTEGER("thread.id", 7), STRING("fathom.kernel", "")};
static const struct attribute elsewhere[] = {INTEGER("fathom.time.disk_ns", 50),
					     INTEGER("thread.id", 8)};
static const struct attribute lock_wait[] = {
	STRING("fathom.kind", "wait"), INTEGER("thread.id", 7), INTEGER("waker.tid", 8),
	INTEGER("fathom.time.lock_ns", 55), INTEGER("fathom.time.runnable_ns", 5)};

TEST(a_wait_is_told_with_the_time_until_the_thread_had_a_cpu)
{
	struct received_span spans[] = {
		span_with(span_between(1, 0, "request", 1000, 1100), LIST(detailed)),
		span_with(span_between(2, 1, "lock", 1020, 1080), LIST(lock_wait))};
	struct gathered g = gathered_make(spans, 2);
	struct stored_path path = {0};

	CHECK_EQ(stored_path_find(&g, 0, &path), 0);
	path_check(&g, 0, &path);
	CHECK_EQ(path.list.count, 4);
	step_check(&path, 0, (struct path_step){1000, 1020, 0, 0, 0, PATH_RUNNING, 0});
	step_check(&path, 1, (struct path_step){1020, 1075, 0, 1, 0, PATH_WAITING, SPLIT_lock});
	CHECK_EQ(path.list.data[1].wait, 1);
	CHECK_EQ(path.list.data[1].part, SPLIT_lock);
	step_check(&path, 2, (struct path_step){1075, 1080, 0, 1, 0, PATH_RUNNABLE, 0});
	step_check(&path, 3, (struct path_step){1080, 1100, 0, 0, 0, PATH_RUNNING, 0});
	CHECK_EQ(path.list.data[3].part, SPLIT_user);
	CHECK(path.has_waits && !path.has_wakers);
	stored_path_free(&path);
	gathered_free(&g);
}

TEST(it_goes_on_in_the_thread_that_ended_a_wait)
{
	/* thread 8 held the lock in two spans, with a hole between them */
	struct received_span spans[] = {
		span_with(span_between(1, 0, "request", 1000, 1100), LIST(detailed)),
		span_with(span_between(2, 1, "lock", 1020, 1080), LIST(lock_wait)),
		span_with(span_between(3, 0, "write", 900, 1040), LIST(elsewhere)),
		span_with(span_between(4, 0, "write", 1050, 1070), LIST(elsewhere))};
	struct gathered g = gathered_make(spans, 4);
	struct stored_path path = {0};

	CHECK_EQ(stored_path_find(&g, 0, &path), 0);
	path_check(&g, 0, &path);
	CHECK_EQ(path.list.count, 7);
	step_check(&path, 1, (struct path_step){1020, 1040, 2, 0, 0, PATH_SPLIT, -1});
	step_check(&path, 2, (struct path_step){1040, 1050, 0, 1, 0, PATH_WAITING, 0});
	step_check(&path, 3, (struct path_step){1050, 1070, 3, 0, 0, PATH_SPLIT, -1});
	step_check(&path, 4, (struct path_step){1070, 1075, 0, 1, 0, PATH_WAITING, 0});
	CHECK(path.has_wakers);
	stored_path_free(&path);
	gathered_free(&g);
}

TEST(threads_that_wait_for_each_other_come_to_an_end)
{
	static const struct attribute back[] = {STRING("fathom.kind", "wait"),
						INTEGER("thread.id", 8), INTEGER("waker.tid", 7)};
	struct received_span spans[] = {
		span_with(span_between(1, 0, "request", 1000, 1100), LIST(detailed)),
		span_with(span_between(2, 1, "lock", 1000, 1100), LIST(lock_wait)),
		span_with(span_between(3, 1, "write", 900, 1200), LIST(elsewhere)),
		span_with(span_between(4, 3, "lock", 900, 1200), LIST(back))};
	struct gathered g = gathered_make(spans, 4);
	struct stored_path path = {0};

	CHECK_EQ(stored_path_find(&g, 0, &path), 0);
	path_check(&g, 0, &path);
	stored_path_free(&path);
	gathered_free(&g);
}

TEST(a_deep_trace_is_told_as_far_as_it_goes)
{
	enum { DEPTH = 5000 };
	struct received_span *spans = calloc(DEPTH, sizeof(*spans));
	struct stored_path path = {0};
	struct gathered g;

	CHECK(spans);
	for (uint64_t i = 0; i < DEPTH; i++)
		spans[i] = span_between(i + 1, i, i ? "level" : "request", 1000 + i, 100000 - i);
	g = gathered_make(spans, DEPTH);
	free(spans);
	CHECK_EQ(stored_path_find(&g, 0, &path), 0);
	path_check(&g, 0, &path);
	stored_path_free(&path);
	gathered_free(&g);
}

/* The path is told from its end on; before the step at which that is too much, nothing is told. */
TEST(what_leads_to_a_thread_again_and_again_is_cut)
{
	enum { WAITS = 3000, STEP = 10 };
	static const struct attribute late[] = {STRING("fathom.kind", "wait"),
						INTEGER("thread.id", 8)};
	struct received_span *spans = calloc(2 + 2 * WAITS, sizeof(*spans));
	struct stored_path path = {0};
	uint64_t until_ns;
	struct gathered g;

	CHECK(spans);
	spans[0] = span_with(span_between(1, 0, "request", 1000, 1000 + WAITS * STEP),
			     LIST(detailed));
	spans[1] = span_with(span_between(2, 0, "write", 1000, 1000 + WAITS * STEP),
			     LIST(elsewhere));
	for (uint64_t i = 0; i < WAITS; i++) {
		uint64_t at_ns = 1000 + i * STEP;

		spans[2 + 2 * i] = span_with(span_between(3 + 2 * i, 1, "lock", at_ns, at_ns + 9),
					     LIST(lock_wait));
		spans[3 + 2 * i] = span_with(
			span_between(4 + 2 * i, 2, "disk", at_ns + 1, at_ns + 3), LIST(late));
	}
	g = gathered_make(spans, 2 + 2 * WAITS);
	free(spans);
	CHECK_EQ(stored_path_find(&g, 0, &path), 0);
	CHECK(path.is_cut && path.list.count > 100 && path.list.count < STORED_PATH_STEPS_MAX);
	CHECK(path.list.data[0].begin_ns > 1000);
	until_ns = path.list.data[0].begin_ns;
	for (size_t i = 0; i < path.list.count; i++) {
		CHECK_EQ(path.list.data[i].begin_ns, until_ns);
		until_ns = path.list.data[i].end_ns;
	}
	CHECK_EQ(until_ns, 1000 + WAITS * STEP);
	stored_path_free(&path);
	gathered_free(&g);
}

/* ---- any trace ---- */

enum { SPANS = 40, KEYS = 4 };

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % limit;
}

static void world_make(struct received_span *spans, struct attribute attributes[SPANS][KEYS])
{
	static const char *const parts[] = {"lock", "runnable", "network"};

	for (uint64_t i = 0; i < SPANS; i++) {
		uint64_t begin_ns = i ? random_below(1000) : 100;
		bool is_wait = i && random_below(3) == 0;

		spans[i] = span_between(i + 1, i ? 1 + random_below(SPANS) : 0,
					is_wait ? parts[random_below(3)] : "request", begin_ns,
					begin_ns + (i ? random_below(600) : 800));
		spans[i].kind = random_below(2) ? RECEIVED_SERVER : RECEIVED_CLIENT;
		attributes[i][0] = (struct attribute)INTEGER("thread.id",
							     (int64_t)(1 + random_below(4)));
		attributes[i][1] = (struct attribute)INTEGER("fathom.time.runnable_ns",
							     (int64_t)random_below(100));
		attributes[i][2] = (struct attribute)INTEGER("waker.tid", (int64_t)random_below(5));
		attributes[i][3] = is_wait ? (struct attribute)STRING("fathom.kind", "wait")
					   : (struct attribute)STRING("fathom.kernel", "");
		spans[i].attributes = LIST(attributes[i]);
	}
}

TEST(the_steps_of_any_trace_are_its_time)
{
	struct attribute attributes[SPANS][KEYS];
	struct received_span spans[SPANS];

	random_state = 1;
	for (int world = 0; world < 3000; world++) {
		struct stored_path path = {0};
		struct gathered g;

		world_make(spans, attributes);
		g = gathered_make(spans, SPANS);
		CHECK_EQ(stored_path_find(&g, 0, &path), 0);
		path_check(&g, 0, &path);
		stored_path_free(&path);
		gathered_free(&g);
	}
}

TEST_MAIN()
