/* SPDX-License-Identifier: Apache-2.0 */
/* Golden vectors of inject and extract, and what must be refused. */
#include <fathom/fathom.h>

#include "unit/check.h"

static const char traceparent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
static const char b3[] = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1-05e3ac9a4f6e3b90";

TEST(traceparent_there_and_back)
{
	char text[FATHOM_TRACEPARENT_BYTES];
	struct fathom_context c;

	CHECK_EQ(fathom_extract_traceparent(traceparent, &c), 0);
	CHECK_EQ(c.trace_id[0], 0x0a);
	CHECK_EQ(c.span_id[7], 0x31);
	CHECK_EQ(c.flags, FATHOM_SAMPLED);
	CHECK_EQ(fathom_inject_traceparent(&c, text), 0);
	CHECK_STR(text, traceparent);
	CHECK_EQ(fathom_extract_traceparent(
			 "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", &c),
		 0);
}

TEST(traceparents_that_are_none)
{
	static const char *const bad[] = {
		"",
		"00",
		"00-",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
		"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
	};
	struct fathom_context c, was;

	memset(&c, 0x5a, sizeof(c));
	was = c;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(fathom_extract_traceparent(bad[i], &c) < 0);
	CHECK(fathom_extract_traceparent(NULL, &c) < 0);
	CHECK_MEM(&c, &was, sizeof(c));
}

TEST(b3_there_and_back)
{
	char text[FATHOM_B3_BYTES];
	struct fathom_context c;

	CHECK_EQ(fathom_extract_b3(b3, &c), 0);
	CHECK_EQ(c.parent_id[0], 0x05);
	CHECK_EQ(fathom_inject_b3(&c, text), 0);
	CHECK_STR(text, b3);
	CHECK_EQ(fathom_extract_b3("8448eb211c80319c-b7ad6b7169203331", &c), 0);
	CHECK_EQ(c.trace_id[7], 0);
	CHECK_EQ(c.trace_id[8], 0x84);
	CHECK_EQ(c.flags, FATHOM_DEFERRED);
	CHECK_EQ(fathom_inject_b3(&c, text), 0);
	CHECK_STR(text, "00000000000000008448eb211c80319c-b7ad6b7169203331");
	CHECK_EQ(fathom_extract_b3("8448eb211c80319c-b7ad6b7169203331-d", &c), 0);
	CHECK(c.flags & FATHOM_DEBUG_TRACE);
}

TEST(b3_that_is_none)
{
	static const char *const bad[] = {
		"",
		"2",
		"-",
		"d0",
		"8448eb211c80319c",
		"8448eb211c80319c-",
		"8448eb211c80319-b7ad6b7169203331",
		"8448eb211c80319c0-b7ad6b7169203331",
		"8448eb211c80319c-b7ad6b7169203331-",
		"8448eb211c80319c-b7ad6b7169203331-2",
		"8448eb211c80319c-b7ad6b7169203331-1-",
		"0000000000000000-b7ad6b7169203331-1",
		"8448eb211c80319c-b7ad6b7169203331-1-05e3ac9a4f6e3b90-",
	};
	struct fathom_context c;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(fathom_extract_b3(bad[i], &c) < 0);
}

TEST(b3_headers_there_and_back)
{
	struct fathom_b3_headers h;
	struct fathom_b3_received got = {.trace_id = h.trace_id,
					 .span_id = h.span_id,
					 .parent_id = h.parent_id,
					 .sampled = h.sampled};
	struct fathom_context c, back;

	CHECK_EQ(fathom_extract_b3(b3, &c), 0);
	CHECK_EQ(fathom_inject_b3_headers(&c, &h), 0);
	CHECK_STR(h.trace_id, "0af7651916cd43dd8448eb211c80319c");
	CHECK_STR(h.span_id, "b7ad6b7169203331");
	CHECK_STR(h.parent_id, "05e3ac9a4f6e3b90");
	CHECK_STR(h.sampled, "1");
	CHECK_STR(h.flags, "");
	CHECK_EQ(fathom_extract_b3_headers(&got, &back), 0);
	CHECK_MEM(&back, &c, sizeof(c));
	got.sampled = "maybe";
	CHECK(fathom_extract_b3_headers(&got, &back) < 0);
	got = (struct fathom_b3_received){.sampled = "false"};
	CHECK_EQ(fathom_extract_b3_headers(&got, &back), 0);
	CHECK(!(back.flags & FATHOM_SAMPLED));
	got = (struct fathom_b3_received){.trace_id = h.trace_id};
	CHECK(fathom_extract_b3_headers(&got, &back) < 0);
}

TEST(binary_there_and_back)
{
	static const uint8_t golden[FATHOM_BINARY_BYTES] = {
		0,    0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb,
		0x21, 0x1c, 0x80, 0x31, 0x9c, 0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33,
		0x31, 0x05, 0xe3, 0xac, 0x9a, 0x4f, 0x6e, 0x3b, 0x90, 0x01};
	uint8_t bytes[FATHOM_BINARY_BYTES + 1] = {0};
	struct fathom_context c, back;

	CHECK_EQ(fathom_extract_b3(b3, &c), 0);
	CHECK_EQ(fathom_inject_binary(&c, bytes), 0);
	CHECK_MEM(bytes, golden, sizeof(golden));
	CHECK_EQ(fathom_extract_binary(bytes, sizeof(golden), &back), 0);
	CHECK_MEM(&back, &c, sizeof(c));
	CHECK(fathom_extract_binary(bytes, sizeof(golden) - 1, &back) < 0);
	CHECK(fathom_extract_binary(bytes, sizeof(golden) + 1, &back) < 0);
	memset(bytes + 1, 0, 16);
	CHECK(fathom_extract_binary(bytes, sizeof(golden), &back) < 0);
}

/* An extracted context can be injected, and comes back unchanged. */
static bool goes_round(const struct fathom_context *c)
{
	uint8_t bytes[FATHOM_BINARY_BYTES];
	struct fathom_context back;
	char text[FATHOM_B3_BYTES];

	if (fathom_inject_binary(c, bytes) < 0) /* a decision alone */
		return (c->flags & FATHOM_RANDOM) != 0;
	return fathom_extract_binary(bytes, sizeof(bytes), &back) == 0 &&
	       memcmp(&back, c, sizeof(back)) == 0 && fathom_inject_b3(c, text) == 0 &&
	       fathom_extract_b3(text, &back) == 0 && memcmp(back.span_id, c->span_id, 8) == 0;
}

/* Well-formed texts with a few bytes changed or cut, on the heap so that valgrind sees overreads.
 */
TEST(damaged_texts)
{
	static const char *const seeds[] = {traceparent, b3, "8448eb211c80319c-b7ad6b7169203331-0"};
	static const char letters[] = "0123456789abcdefABCDEF-dgz\n\x80";
	uint32_t random = 12345, good = 0;

	for (int i = 0; i < 60000; i++) {
		char *text = strdup(seeds[i % 3]);
		size_t length = strlen(text);
		struct fathom_context c;

		for (int change = 0; change < i % 4; change++) {
			random = random * 1664525 + 1013904223;
			text[(random >> 8) % length] =
				letters[(random >> 20) % (sizeof(letters) - 1)];
		}
		if (i % 7 == 0) {
			random = random * 1664525 + 1013904223;
			text = realloc(text, (random >> 8) % length + 1);
			text[(random >> 8) % length] = '\0';
		}
		if (fathom_extract_traceparent(text, &c) == 0 || fathom_extract_b3(text, &c) == 0) {
			good++;
			CHECK(goes_round(&c));
		}
		free(text);
	}
	CHECK(good > 10000);
	CHECK(good < 50000);
}

TEST_MAIN()
