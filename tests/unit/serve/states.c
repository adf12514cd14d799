/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel spans that are too short to be seen are joined, and their sums stay exact. */
#include "serve/states.h"

#include "tests/unit/check.h"
#include "tests/unit/serve/gathered.h"

#define THREADS 3
#define SPANS 4000 /* of each thread */
#define RANGE_NS 10000000

static const struct received_resource other = {.service = "other"};
static struct pool pool;

static const struct attribute lock[] = {STRING("fathom.kind", "wait"), INTEGER("thread.id", 7),
					INTEGER("fathom.time.lock_ns", 8),
					INTEGER("fathom.time.runnable_ns", 2)};
static const struct attribute plain[] = {STRING("fathom.kind", "wait"), INTEGER("thread.id", 7)};
static const struct attribute call[] = {STRING("fathom.kind", "syscall"), INTEGER("thread.id", 7)};
static const struct attribute nobody[] = {STRING("fathom.kind", "wait")};

static struct received_span wait_make(uint64_t id, uint64_t begin_ns, uint64_t took_ns,
				      const char *name)
{
	struct received_span span = span_between(id, 1, name, begin_ns, begin_ns + took_ns);

	span.attributes = LIST(plain);
	return span;
}

static int64_t number_of(const struct received_span *span, const char *key)
{
	const struct attribute *a = gather_attribute(span, key);

	return a ? a->integer : 0;
}

TEST(those_of_a_piece_are_one)
{
	struct states s = {.pool = &pool, .width_ns = 100, .most = 10};
	struct received_span one = wait_make(2, 1010, 10, "lock"), two;
	struct received_batch batch = {0};

	one.attributes = LIST(lock);
	two = wait_make(3, 1040, 30, "network");
	CHECK_EQ(states_add(&s, &one), 0);
	CHECK_EQ(states_add(&s, &two), 0);
	two = wait_make(4, 1100, 5, "lock"); /* in the next piece */
	CHECK_EQ(states_add(&s, &two), 0);
	CHECK_EQ(states_put(&s, &batch), 0);
	CHECK_EQ(batch.count, 2);
	CHECK_STR(batch.data[0].name, "network");
	CHECK_EQ(batch.data[0].span_id, 3);
	CHECK_EQ(batch.data[0].begin_ns, 1010);
	CHECK_EQ(batch.data[0].end_ns, 1070);
	CHECK_EQ(number_of(&batch.data[0], STATES_JOINED), 2);
	CHECK_EQ(number_of(&batch.data[0], STATES_JOINED_NS), 40);
	CHECK_EQ(number_of(&batch.data[0], "fathom.time.lock_ns"), 8);
	CHECK_EQ(number_of(&batch.data[0], "fathom.time.runnable_ns"), 2);
	CHECK_EQ(number_of(&batch.data[0], "fathom.time.network_ns"), 30);
	CHECK_EQ(number_of(&batch.data[1], STATES_JOINED), 1);
	CHECK_EQ(gather_thread(&batch.data[1]), 7);
	vec_free(&batch);
	states_free(&s);
}

TEST(threads_kinds_and_programs_stay_apart)
{
	struct states s = {.pool = &pool, .width_ns = 100, .most = 10};
	struct received_span spans[4];
	struct received_batch batch = {0};

	for (size_t i = 0; i < 4; i++)
		spans[i] = wait_make(2 + i, 1000, 10, "futex");
	spans[1].attributes = LIST(call);
	spans[2].resource = &other;
	spans[3].attributes = LIST(nobody); /* nobody sees it */
	for (size_t i = 0; i < 4; i++)
		CHECK_EQ(states_add(&s, &spans[i]), 0);
	CHECK_EQ(states_put(&s, &batch), 0);
	CHECK_EQ(batch.count, 3);
	CHECK_STR(batch.data[1].name, "futex");
	vec_free(&batch);
	states_free(&s);
}

/* The same numbers each time. */
static uint64_t number_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

struct sums {
	uint64_t count, total_ns;
	struct split time;
};

static void span_sum(struct sums *sums, const struct received_span *span)
{
	struct split time;
	int part = gather_part(span->name);

	sums->count += gather_attribute(span, STATES_JOINED)
			       ? (uint64_t)number_of(span, STATES_JOINED)
			       : 1;
	sums->total_ns += gather_attribute(span, STATES_JOINED_NS)
				  ? (uint64_t)number_of(span, STATES_JOINED_NS)
				  : received_duration_ns(span);
	if (!gather_split(span, &time) && part >= 0)
		time.ns[part] = (int64_t)received_duration_ns(span);
	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT; i++)
		sums->time.ns[i] += time.ns[i];
}

/* Waits of some threads, which follow each other. */
static void waits_make(struct received_batch *batch, struct attribute attributes[THREADS][2])
{
	static const char *const names[] = {"lock", "network", "disk", "timer"};
	uint64_t state = 31, at_ns[THREADS] = {0};

	for (size_t i = 0; i < THREADS * SPANS; i++) {
		uint64_t *at = &at_ns[i % THREADS], took_ns = number_next(&state) % 1000;
		struct received_span span = wait_make(2 + i, *at, took_ns,
						      names[number_next(&state) % 4]);

		span.attributes = (struct received_list){attributes[i % THREADS], 2, 0};
		CHECK_EQ(vec_push(batch, span), 0);
		*at += took_ns + number_next(&state) % 500;
	}
}

static void attributes_make(struct attribute attributes[THREADS][2])
{
	for (int i = 0; i < THREADS; i++) {
		attributes[i][0] = plain[0];
		attributes[i][1] = (struct attribute)INTEGER("thread.id", 1 + i);
	}
}

static void batch_shuffle(struct received_batch *batch)
{
	uint64_t state = 7;

	for (size_t i = batch->count - 1; i; i--) {
		size_t other_place = number_next(&state) % (i + 1);
		struct received_span span = batch->data[i];

		batch->data[i] = batch->data[other_place];
		batch->data[other_place] = span;
	}
}

/* Joins them to at most so many. */
static void batch_fit(struct received_batch *batch, size_t most)
{
	struct states s = {.pool = &pool, .most = most};

	CHECK_EQ(states_fit(&s, batch, RANGE_NS / 2000, RANGE_NS), 0);
	CHECK_EQ(states_put(&s, batch), 0);
	states_free(&s);
}

/* Those of a thread do not overlap: what is drawn follows each other. */
static void order_check(const struct received_batch *batch)
{
	for (int64_t tid = 1; tid <= THREADS; tid++) {
		uint64_t end_ns = 0;

		for (size_t i = 0; i < batch->count; i++) {
			if (gather_thread(&batch->data[i]) != tid)
				continue;
			CHECK(batch->data[i].begin_ns >= end_ns);
			end_ns = batch->data[i].end_ns;
		}
	}
}

TEST(sums_are_those_of_all_of_them)
{
	struct attribute attributes[THREADS][2];
	struct sums before = {0}, after = {0};
	struct received_batch batch = {0};

	attributes_make(attributes);
	waits_make(&batch, attributes);
	for (size_t i = 0; i < batch.count; i++)
		span_sum(&before, &batch.data[i]);
	batch_fit(&batch, 60);
	CHECK(batch.count <= 60);
	CHECK(batch.count > 10);
	for (size_t i = 0; i < batch.count; i++)
		span_sum(&after, &batch.data[i]);
	CHECK_EQ(after.count, THREADS * SPANS);
	CHECK_EQ(after.total_ns, before.total_ns);
	CHECK(memcmp(&after.time, &before.time, sizeof(after.time)) == 0);
	order_check(&batch);
	vec_free(&batch);
}

TEST(the_order_in_which_they_come_does_not_matter)
{
	struct attribute attributes[THREADS][2];
	struct received_batch one = {0}, two = {0};

	attributes_make(attributes);
	waits_make(&one, attributes);
	waits_make(&two, attributes);
	batch_shuffle(&two);
	batch_fit(&one, 60);
	batch_fit(&two, 60);
	CHECK_EQ(one.count, two.count);
	for (size_t i = 0; i < one.count; i++) {
		CHECK_EQ(one.data[i].begin_ns, two.data[i].begin_ns);
		CHECK_EQ(one.data[i].end_ns, two.data[i].end_ns);
		CHECK_EQ(one.data[i].span_id, two.data[i].span_id);
		CHECK_EQ(number_of(&one.data[i], STATES_JOINED_NS),
			 number_of(&two.data[i], STATES_JOINED_NS));
	}
	vec_free(&one);
	vec_free(&two);
}

TEST(few_stay_as_they_are)
{
	struct attribute attributes[THREADS][2];
	struct received_batch batch = {0};

	attributes_make(attributes);
	waits_make(&batch, attributes);
	batch_fit(&batch, THREADS * SPANS);
	CHECK_EQ(batch.count, THREADS * SPANS);
	CHECK(!gather_attribute(&batch.data[0], STATES_JOINED));
	vec_free(&batch);
}

TEST_MAIN()
