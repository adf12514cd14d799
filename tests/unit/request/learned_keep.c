/* SPDX-License-Identifier: Apache-2.0 */
/* What was learned, in a file and over a long time. */
#include "request/learned_keep.h"

#include <errno.h>

#include "check.h"

static struct learned_key requests_of(u64 service)
{
	return (struct learned_key){.service = service, .kind = LEARNED_REQUESTS};
}

static struct learned_key calls_of(u64 service, u64 peer, u16 times)
{
	return (struct learned_key){
		.service = service, .peer = peer, .value = times, .kind = LEARNED_CALLS};
}

/* Two services: 7 was asked often, 8 seldom. */
static void learned_make(struct learned *l)
{
	struct learned_key often = requests_of(7), calls = calls_of(7, 9, 2),
			   seldom = requests_of(8);

	CHECK_EQ(learned_add(l, &often, 1001), 0);
	CHECK_EQ(learned_add(l, &calls, 900), 0);
	calls.backward = 1;
	CHECK_EQ(learned_add(l, &calls, 1), 0);
	CHECK_EQ(learned_add(l, &seldom, 3), 0);
}

TEST(the_bytes_say_the_same_sums)
{
	struct learned l = {0}, read = {0};
	struct bytes bytes = {0}, again = {0};

	learned_make(&l);
	learned_write(&l, &bytes);
	CHECK(!bytes.failed);
	CHECK_EQ(learned_read(&read, bytes.data, bytes.count), 0);
	learned_write(&read, &again);
	CHECK_EQ(read.rows.count, 4);
	CHECK_EQ(again.count, bytes.count);
	CHECK_EQ(memcmp(again.data, bytes.data, bytes.count), 0);
	/* they are added to what is there */
	CHECK_EQ(learned_read(&read, bytes.data, bytes.count), 0);
	{
		struct learned_key key = requests_of(7);

		CHECK_EQ(learned_count(&read, &key), 2002);
	}
	bytes_free(&bytes);
	bytes_free(&again);
	learned_free(&l);
	learned_free(&read);
}

TEST(damaged_bytes_are_refused)
{
	struct learned l = {0};
	struct bytes bytes = {0};

	learned_make(&l);
	learned_write(&l, &bytes);
	for (size_t cut = 0; cut < bytes.count; cut++) {
		struct learned read = {0};

		CHECK_EQ(learned_read(&read, bytes.data, cut), -EBADMSG);
		learned_free(&read);
	}
	{
		struct learned read = {0};

		bytes.data[8]++; /* the version */
		CHECK_EQ(learned_read(&read, bytes.data, bytes.count), -EPROTO);
		bytes.data[8]--;
		bytes.data[8 + 4 + 1 + 24] = 200; /* the kind of the first row */
		CHECK_EQ(learned_read(&read, bytes.data, bytes.count), -EBADMSG);
		learned_free(&read);
	}
	bytes_free(&bytes);
	learned_free(&l);
}

TEST(a_busy_service_fades_and_others_stay)
{
	struct learned l = {0};
	struct learned_key often = requests_of(7), calls = calls_of(7, 9, 2), once = calls,
			   seldom = requests_of(8);

	once.backward = 1;
	learned_make(&l);
	CHECK_EQ(learned_fade(&l, 1001, 100), 0);
	CHECK_EQ(learned_count(&l, &often), 1001);
	CHECK_EQ(learned_fade(&l, 1000, 100), 0);
	CHECK_EQ(learned_count(&l, &often), 500);
	CHECK_EQ(learned_count(&l, &calls), 450);
	CHECK_EQ(learned_count(&l, &once), 0);
	CHECK_EQ(learned_count(&l, &seldom), 3);
	CHECK_EQ(l.rows.count, 3);
	learned_free(&l);
}

TEST(rows_are_bounded)
{
	struct learned l = {0};

	for (u32 i = 0; i < 1000; i++) {
		struct learned_key key = calls_of(7, i + 1, 1);

		CHECK_EQ(learned_add(&l, &key, i < 900 ? 1 : 16), 0);
	}
	CHECK_EQ(learned_fade(&l, 1000, 500), 0);
	CHECK_EQ(l.rows.count, 100);
	for (u32 i = 900; i < 1000; i++) {
		struct learned_key key = calls_of(7, i + 1, 1);

		CHECK_EQ(learned_count(&l, &key), 8);
	}
	learned_free(&l);
}

TEST_MAIN()
