/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that applications sent, and the ends of exchanges that they tell of. */
#include "up/sent.h"

#include "tests/unit/check.h"

#define MS 1000000u

static struct sent_ring ring = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add(u64 id, u32 tid, u8 kind, u64 begin_ms, u64 end_ms)
{
	const struct sent_span span = {.trace = {1, 2},
				       .span_id = id,
				       .begin_ns = begin_ms * MS,
				       .end_ns = end_ms * MS,
				       .pid = 7,
				       .tid = tid,
				       .kind = kind,
				       .service = "shop"};

	sent_add(&ring, &span);
}

static u64 found(struct sent *sent, u32 tid, u64 begin_ms, u64 end_ms, bool server)
{
	const struct sent_query query = {7, tid, begin_ms * MS, end_ms * MS, server};
	const struct sent_span *span = sent_find(sent, &query);

	if (span)
		sent_mark(sent, span);
	return span ? span->span_id : 0;
}

TEST(the_nearest_span_of_its_kind_tells_of_an_end)
{
	struct sent sent = {0};

	add(1, 70, RECEIVED_SERVER, 100, 200);
	add(2, 71, RECEIVED_SERVER, 110, 150);
	add(3, 70, RECEIVED_CLIENT, 120, 190);
	add(4, 70, RECEIVED_INTERNAL, 100, 200);
	add(5, 71, RECEIVED_SERVER, 101, 199);
	add(6, 71, RECEIVED_SERVER, 300, 310);
	CHECK_EQ(sent_take(&ring, 0, &sent), 0);
	CHECK_EQ(sent.list.count, 6);
	CHECK_STR(map_get(&sent.services, 7), "shop");
	CHECK_EQ(found(&sent, 71, 100, 201, true), 5); /* that thread's */
	CHECK_EQ(found(&sent, 0, 99, 201, true), 1);
	CHECK_EQ(found(&sent, 0, 99, 201, true), 2); /* each tells of one */
	CHECK_EQ(found(&sent, 0, 99, 201, true), 0);
	CHECK_EQ(found(&sent, 70, 130, 180, false), 3);
	CHECK_EQ(found(&sent, 0, 400, 410, true), 0);
	CHECK_EQ(found(&sent, 0, 299, 302, true), 0); /* most of it comes later */
	CHECK_EQ(found(&sent, 0, 299, 305, true), 6);
	sent_free(&sent);
}

TEST(a_span_is_known_once_and_the_oldest_go)
{
	struct sent sent = {0};

	add(1, 72, RECEIVED_SERVER, 100, 201);
	CHECK_EQ(sent_take(&ring, 201 * MS, &sent), 0);
	CHECK_EQ(sent.list.count, 2); /* it, and the one that ended later */
	CHECK_EQ(sent_by_ids(&sent, (struct trace_id){1, 2}, 1)->tid, 72);
	CHECK(!sent_by_ids(&sent, (struct trace_id){1, 2}, 5));
	sent_free(&sent);
	for (u64 i = 0; i < SENT_MAX; i++)
		add(1000 + i, 0, RECEIVED_SERVER, 500, 501);
	sent = (struct sent){0};
	CHECK_EQ(sent_take(&ring, 0, &sent), 0);
	CHECK_EQ(sent.list.count, SENT_MAX);
	CHECK(!sent_by_ids(&sent, (struct trace_id){1, 2}, 1));
	sent_free(&sent);
	sent_ring_free(&ring);
}

TEST_MAIN()
