/* SPDX-License-Identifier: Apache-2.0 */
#include "up/nest.h"

#include "tests/unit/check.h"

#define MS UINT64_C(1000000)

/* Ids count from 1 on; all are of trace 1 unless said otherwise. */
struct given {
	uint64_t parent, begin, end, trace;
};

struct case_of {
	struct nested spans[8];
	struct bytes_map known;
	struct nest nest;
};

static void find(struct case_of *c, const struct given *given, size_t count)
{
	*c = (struct case_of){0};
	for (size_t i = 0; i < count; i++) {
		c->spans[i] = (struct nested){.trace = {0, given[i].trace ? given[i].trace : 1},
					      .span_id = i + 1,
					      .parent_id = given[i].parent,
					      .begin_ns = given[i].begin * MS,
					      .end_ns = given[i].end * MS};
		CHECK_EQ(nest_know(&c->known, &c->spans[i]), 0);
		CHECK_EQ(vec_push(&c->nest.spans, &c->spans[i]), 0);
	}
	CHECK_EQ(nest_find(&c->nest, &c->known), 0);
}

static void end(struct case_of *c)
{
	nest_free(&c->nest);
	bytes_map_free(&c->known);
}

/* The time that a span is the innermost. */
static uint64_t own_ms(const struct case_of *c, size_t span)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->nest.stretches.count; i++) {
		if (c->nest.spans.data[c->nest.owners.data[i]] == &c->spans[span])
			sum += c->nest.stretches.data[i].to_ns - c->nest.stretches.data[i].from_ns;
	}
	return sum / MS;
}

TEST(children_have_the_thread_in_their_parents_time)
{
	static const struct given given[] = {
		{0, 0, 100, 0}, {1, 10, 40, 0}, {2, 20, 30, 0}, {1, 50, 60, 0}, {0, 100, 110, 2}};
	struct case_of c;

	find(&c, given, 5);
	for (size_t i = 0; i < 5; i++)
		CHECK(!c.spans[i].is_ambiguous);
	CHECK_EQ(own_ms(&c, 0), 60);
	CHECK_EQ(own_ms(&c, 1), 20);
	CHECK_EQ(own_ms(&c, 2), 10);
	CHECK_EQ(own_ms(&c, 3), 10);
	CHECK_EQ(own_ms(&c, 4), 10);
	CHECK(c.nest.spans.data[c.spans[2].up - 1] == &c.spans[1]);
	CHECK_EQ(c.spans[0].up, 0);
	end(&c);
}

TEST(spans_of_two_requests_at_once_are_ambiguous)
{
	static const struct given given[] = {
		{0, 0, 100, 1}, {0, 50, 150, 2}, {0, 160, 170, 3}, {2, 110, 120, 2}};
	struct case_of c;

	find(&c, given, 4);
	CHECK(c.spans[0].is_ambiguous);
	CHECK(c.spans[1].is_ambiguous);
	CHECK(!c.spans[2].is_ambiguous);
	CHECK(!c.spans[3].is_ambiguous); /* alone at that time, but for its own parent */
	CHECK_EQ(own_ms(&c, 2), 10);
	CHECK_EQ(own_ms(&c, 0), 0);
	end(&c);
}

TEST(a_span_within_another_that_is_no_ancestor_is_ambiguous)
{
	static const struct given given[] = {{0, 0, 100, 1}, {0, 10, 20, 2}};
	struct case_of c;

	find(&c, given, 2);
	CHECK(c.spans[0].is_ambiguous);
	CHECK(c.spans[1].is_ambiguous);
	end(&c);
}

TEST(siblings_that_overlap_leave_their_parent_its_time)
{
	static const struct given given[] = {{0, 0, 100, 0}, {1, 10, 60, 0}, {1, 30, 80, 0}};
	struct case_of c;

	find(&c, given, 3);
	CHECK(!c.spans[0].is_ambiguous);
	CHECK(c.spans[1].is_ambiguous);
	CHECK(c.spans[2].is_ambiguous);
	CHECK_EQ(own_ms(&c, 0), 100);
	end(&c);
}

TEST(a_child_that_outlives_its_parent_is_ambiguous)
{
	static const struct given given[] = {{0, 0, 50, 0}, {1, 10, 90, 0}};
	struct case_of c;

	find(&c, given, 2);
	CHECK(c.spans[0].is_ambiguous);
	CHECK(c.spans[1].is_ambiguous);
	end(&c);
}

/* Each ends a little behind its parent: so none of them ends while the next one is not open. */
TEST(any_number_of_children_may_outlive_their_parents_a_little)
{
	enum { COUNT = 1000 };
	struct nested *spans = calloc(COUNT, sizeof(*spans));
	struct case_of c = {0};

	CHECK(spans != NULL);
	for (size_t i = 0; spans && i < COUNT; i++) {
		spans[i] = (struct nested){.trace = {0, 1},
					   .span_id = i + 1,
					   .parent_id = i,
					   .begin_ns = MS + 1000 * i,
					   .end_ns = MS + 1000 * i + 1001};
		CHECK_EQ(nest_know(&c.known, &spans[i]), 0);
		CHECK_EQ(vec_push(&c.nest.spans, &spans[i]), 0);
	}
	CHECK_EQ(nest_find(&c.nest, &c.known), 0);
	for (size_t i = 0; spans && i < COUNT; i++)
		CHECK(!spans[i].is_ambiguous);
	CHECK_EQ(c.nest.stretches.count, COUNT);
	end(&c);
	free(spans);
}

TEST_MAIN()
