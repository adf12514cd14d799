/* SPDX-License-Identifier: Apache-2.0 */
/* Calls between services in a sample of traces. */
#include "serve/edges.h"

#include "tests/unit/check.h"
#include "tests/unit/serve/gathered.h"

static const struct received_resource bank = {.service = "bank"};
static const struct attribute unsure[] = {
	{.key = "edge.probability", .type = VALUE_REAL, .real = 0.5}};
static const struct attribute sure[] = {{.key = "edge.probability", .type = VALUE_REAL, .real = 1}};
static const struct attribute wrong[] = {
	{.key = "edge.probability", .type = VALUE_INTEGER, .integer = 7}};
static const struct attribute remote[] = {STRING("peer.service", "cache")};

TEST(calls_are_added_up_and_say_how_sure_they_are)
{
	struct received_span *spans = calloc(9, sizeof(*spans));
	struct gathered g = {.batch = {spans, 9, 9}};
	const struct edge_sample *edge;
	edge_samples samples = {0};

	spans[0] = span_make(1, 1, 0, "request", 100);
	for (uint64_t i = 0; i < 2; i++) {
		spans[1 + 2 * i] = span_make(1, 2 + i, 1, "pay", 10 + 10 * i);
		spans[1 + 2 * i].kind = RECEIVED_CLIENT;
		spans[1 + 2 * i].attributes = i ? LIST(sure) : LIST(unsure);
		spans[2 + 2 * i] = span_make(1, 4 + i, 2 + i, "POST /pay", 8);
		spans[2 + 2 * i].kind = RECEIVED_SERVER;
		spans[2 + 2 * i].resource = &bank;
	}
	spans[5] = span_make(1, 6, 1, "get", 1);
	spans[5].kind = RECEIVED_CLIENT;
	spans[5].attributes = LIST(remote);
	spans[6] = span_make(1, 7, 1, "nowhere", 1);
	spans[6].kind = RECEIVED_CLIENT;
	spans[7] = span_make(1, 8, 1, "pay", 1);
	spans[7].kind = RECEIVED_CLIENT;
	spans[7].attributes = LIST(wrong);
	spans[8] = span_make(1, 9, 8, "POST /pay", 1);
	spans[8].kind = RECEIVED_SERVER;
	spans[8].resource = &bank;
	CHECK_EQ(gathered_index(&g, &all_requests), 0);
	CHECK_EQ(edges_sample(&g, &samples), 0);
	CHECK_EQ(samples.count, 2);
	edge = edges_find(&samples, "shop", "bank");
	CHECK(edge && !edge->is_remote && edge->told == 2 && edge->probability == 1.5);
	CHECK_EQ(edge->calls, 3);
	CHECK_EQ(edge->total_ns, 31);
	CHECK_EQ(edge->max_ns, 20);
	edge = edges_find(&samples, "shop", "cache");
	CHECK(edge && edge->is_remote && !edge->told);
	CHECK(!edges_find(&samples, "bank", "shop"));
	vec_free(&samples);
	gathered_free(&g);
}

TEST_MAIN()
