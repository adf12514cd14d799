/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/grpc_message.h"

#include <zlib.h>

#include "tests/unit/check.h"

static atomic_size_t pending;
static const struct receive_limits limits = {.body_bytes = 100, .pending_bytes = 1 << 20};
static struct inbox inbox;
static struct delivery d;
static struct grpc_message m;

static void begin(bool may_be_gzip)
{
	const struct destination to = {.limits = &limits, .pending_bytes = &pending};

	if (!inbox.to.limits)
		inbox_init(&inbox, &to);
	delivery_drop(&d);
	d = (struct delivery){0};
	m = (struct grpc_message){.may_be_gzip = may_be_gzip};
	delivery_begin(&d, &inbox, protocol_otlp.intakes, false);
}

/* Takes a call in pieces of that size. */
static void take(const void *call, size_t bytes, size_t piece)
{
	const char *at = call;

	for (size_t left = bytes; left; left -= piece < left ? piece : left, at += piece)
		grpc_message_add(&m, &d, at, piece < left ? piece : left);
	grpc_message_finish(&m, &d);
}

TEST(a_message_comes_in_pieces_of_any_size)
{
	for (size_t piece = 1; piece < 12; piece++) {
		begin(false);
		take("\0\0\0\0\5hello", 10, piece);
		CHECK_EQ(d.status, 0);
		CHECK_EQ(d.body.bytes.count, 5);
		CHECK_MEM(d.body.bytes.data, "hello", 5);
	}
}

TEST(an_empty_message_is_whole)
{
	begin(false);
	take("\0\0\0\0\0", 5, 2);
	CHECK_EQ(d.status, 0);
	CHECK_EQ(d.body.bytes.count, 0);
}

TEST(what_is_cut_or_follows_is_refused)
{
	for (size_t cut = 0; cut < 10; cut++) {
		begin(false);
		take("\0\0\0\0\5hello", cut, 3);
		CHECK_EQ(d.code, CODE_INVALID_ARGUMENT);
	}
	for (size_t piece = 1; piece < 16; piece++) {
		begin(false);
		take("\0\0\0\0\5hello\0\0\0\0\0", 15, piece);
		CHECK_EQ(d.code, CODE_INVALID_ARGUMENT);
		CHECK_EQ(pending, 0);
	}
}

TEST(flags_are_checked)
{
	begin(true);
	take("\2\0\0\0\1x", 6, 6);
	CHECK_EQ(d.code, CODE_INVALID_ARGUMENT);
	begin(false);
	take("\1\0\0\0\1x", 6, 6);
	CHECK_EQ(d.code, CODE_INVALID_ARGUMENT);
}

TEST(a_length_beyond_the_limit_is_refused_before_the_message_comes)
{
	begin(false);
	grpc_message_add(&m, &d, "\0\0\0\0\145", 5);
	CHECK_EQ(d.code, CODE_RESOURCE_EXHAUSTED);
	begin(false);
	grpc_message_add(&m, &d, "\0\xff\xff\xff\xff", 5);
	CHECK_EQ(d.code, CODE_RESOURCE_EXHAUSTED);
}

static size_t packed(unsigned char *to, size_t room, size_t bytes)
{
	static const unsigned char zeros[1000];
	z_stream z = {0};
	size_t count;

	CHECK_EQ(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)zeros;
	z.avail_in = (uInt)bytes;
	z.next_out = to + GRPC_HEAD_BYTES;
	z.avail_out = (uInt)(room - GRPC_HEAD_BYTES);
	CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
	count = room - GRPC_HEAD_BYTES - z.avail_out;
	deflateEnd(&z);
	grpc_head_encode(to, count);
	to[0] = 1;
	return count + GRPC_HEAD_BYTES;
}

TEST(a_compressed_message_is_bounded_by_what_it_becomes)
{
	unsigned char call[200];
	size_t bytes = packed(call, sizeof(call), 100);

	for (size_t piece = 1; piece <= bytes; piece++) {
		begin(true);
		take(call, bytes, piece);
		CHECK_EQ(d.status, 0);
		CHECK_EQ(d.body.bytes.count, 100);
		CHECK(pending > 100);
	}
	bytes = packed(call, sizeof(call), 101);
	begin(true);
	take(call, bytes, bytes);
	CHECK_EQ(d.code, CODE_RESOURCE_EXHAUSTED);
	CHECK_EQ(pending, 0);
}

TEST(texts_are_percent_encoded_and_bounded)
{
	char out[GRPC_TEXT_BYTES], text[2000];

	grpc_text_encode(out, "50% of \"x\"\n");
	CHECK_STR(out, "50%25 of \"x\"%0A");
	memset(text, '\xff', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	grpc_text_encode(out, text);
	CHECK(strlen(out) < GRPC_TEXT_BYTES);
	CHECK_EQ(strlen(out) % 3, 0);
}

TEST_MAIN()
