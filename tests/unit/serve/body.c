/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/body.h"

#include <errno.h>

#include "tests/unit/check.h"

static unsigned char packed[4096];
static size_t packed_bytes;
static char text[100000];

static void pack(size_t bytes)
{
	z_stream z = {0};

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)("spans "[i % 6] + (i % 1000 == 0));
	CHECK_EQ(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)text;
	z.avail_in = (uInt)bytes;
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
	packed_bytes = sizeof(packed) - z.avail_out;
	deflateEnd(&z);
}

/* Takes the packed text in pieces of that size. */
static int take(struct body *b, size_t limit, size_t piece, size_t bytes)
{
	int err = 0;

	body_begin(b, limit, true);
	for (size_t at = 0; at < bytes && !err; at += piece)
		err = body_add(b, packed + at, bytes - at < piece ? bytes - at : piece);
	return err ? err : body_finish(b);
}

TEST(gzip_is_inflated_in_pieces_of_any_size)
{
	struct body b;

	pack(sizeof(text));
	for (size_t piece = 1; piece < packed_bytes; piece = piece * 3 + 1) {
		CHECK_EQ(take(&b, sizeof(text), piece, packed_bytes), 0);
		CHECK_EQ(b.bytes.count, sizeof(text));
		CHECK_MEM(b.bytes.data, text, sizeof(text));
		body_free(&b);
	}
}

TEST(the_limit_is_that_of_what_is_inflated)
{
	struct body b;

	pack(sizeof(text));
	CHECK_EQ(take(&b, sizeof(text) - 1, 100, packed_bytes), -EFBIG);
	CHECK(b.bytes.count < sizeof(text));
	body_free(&b);
}

TEST(a_gzip_that_is_cut_or_continued_is_refused)
{
	struct body b;

	pack(1000);
	for (size_t cut = 0; cut < packed_bytes; cut++) {
		CHECK_EQ(take(&b, 1000, 7, cut), -EBADMSG);
		body_free(&b);
	}
	packed[packed_bytes] = 'x';
	CHECK_EQ(take(&b, 1000, packed_bytes + 1, packed_bytes + 1), -EBADMSG);
	body_free(&b);
	CHECK_EQ(take(&b, 1000, packed_bytes, packed_bytes + 1), -EBADMSG);
	body_free(&b);
}

TEST(damage_is_seen)
{
	struct body b;

	pack(1000);
	for (size_t at = 10; at < packed_bytes; at++) {
		packed[at] ^= 0x10;
		CHECK(take(&b, 1000, 11, packed_bytes) != 0);
		body_free(&b);
		packed[at] ^= 0x10;
	}
}

TEST(a_plain_body_has_the_same_limit)
{
	struct body b;

	body_begin(&b, 10, false);
	CHECK_EQ(body_add(&b, "0123456", 7), 0);
	CHECK_EQ(body_add(&b, "789", 3), 0);
	CHECK_EQ(body_add(&b, "x", 1), -EFBIG);
	CHECK_EQ(body_finish(&b), 0);
	CHECK_MEM(b.bytes.data, "0123456789", 10);
	body_free(&b);
}

TEST_MAIN()
