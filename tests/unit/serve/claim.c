/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/claim.h"

#include <string.h>

#include "tests/unit/check.h"

static const struct claim given = {.trace = {1, 2},
				   .span_id = 3,
				   .parent_id = 4,
				   .begin_ns = 5,
				   .end_ns = 6,
				   .pid = 7,
				   .tid = 8,
				   .kind = 2,
				   .flags = CLAIM_BY_CONNECTION,
				   .service = "shop",
				   .name = "GET /",
				   .thread = ""};

TEST(claims_are_read_as_they_were_written)
{
	struct bytes bytes = {0};
	struct bytes_reader r;
	struct claim claim;
	char name[400];
	struct claim second = given;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name + CLAIM_TEXT_BYTES - 1, "\xc3\xa4", 2); /* a letter of two bytes at the cut */
	second.name = name;
	second.thread = "worker";
	claim_put(&bytes, &given);
	claim_put(&bytes, &second);
	r = bytes_reader_over(bytes.data, bytes.count);
	CHECK(claim_get(&r, &claim));
	CHECK_EQ(claim.trace.high, 1);
	CHECK_EQ(claim.trace.low, 2);
	CHECK_EQ(claim.span_id, 3);
	CHECK_EQ(claim.parent_id, 4);
	CHECK_EQ(claim.begin_ns, 5);
	CHECK_EQ(claim.end_ns, 6);
	CHECK_EQ(claim.pid, 7);
	CHECK_EQ(claim.tid, 8);
	CHECK_EQ(claim.kind, 2);
	CHECK_EQ(claim.flags, CLAIM_BY_CONNECTION);
	CHECK_STR(claim.service, "shop");
	CHECK_STR(claim.name, "GET /");
	CHECK_STR(claim.thread, "");
	CHECK(claim_get(&r, &claim));
	CHECK_EQ(strlen(claim.name), CLAIM_TEXT_BYTES - 1);
	CHECK_STR(claim.thread, "worker");
	CHECK(!claim_get(&r, &claim));
	CHECK(!r.failed);
	bytes_free(&bytes);
}

TEST(a_message_that_is_cut_or_changed_is_read_as_far_as_it_makes_sense)
{
	struct bytes bytes = {0};
	struct claim claim;

	claim_put(&bytes, &given);
	for (size_t cut = 0; cut < bytes.count; cut++) {
		struct bytes_reader r = bytes_reader_over(bytes.data, cut);

		CHECK(!claim_get(&r, &claim));
	}
	for (size_t i = 0; i < bytes.count; i++) {
		struct bytes_reader r;

		bytes.data[i] ^= 0xff;
		r = bytes_reader_over(bytes.data, bytes.count);
		while (claim_get(&r, &claim))
			CHECK(strlen(claim.service) + strlen(claim.name) + strlen(claim.thread) <
			      bytes.count);
		bytes.data[i] ^= 0xff;
	}
	bytes_free(&bytes);
}

TEST_MAIN()
