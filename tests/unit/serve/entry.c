/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/entry.h"

#include <errno.h>

#include "tests/unit/check.h"

static const char body[] = "a body of a request, a body of a request";

TEST(a_body_comes_back)
{
	struct bytes entry = {0}, back = {0};
	enum entry_kind kind = 0;

	CHECK_EQ(entry_encode(&entry, ENTRY_OTLP_PROTOBUF, body, sizeof(body)), 0);
	CHECK_EQ(entry_decode(entry.data, entry.count, &kind, &back), 0);
	CHECK_EQ(kind, ENTRY_OTLP_PROTOBUF);
	CHECK_EQ(back.count, sizeof(body));
	CHECK_MEM(back.data, body, sizeof(body));
	CHECK_EQ(entry_encode(&entry, ENTRY_ZIPKIN_JSON, body, 5), 0);
	CHECK_EQ(entry_decode(entry.data, entry.count, &kind, &back), 0);
	CHECK(kind == ENTRY_ZIPKIN_JSON && back.count == 5);
	CHECK_EQ(entry_encode(&entry, ENTRY_OTLP_PROTOBUF, NULL, 0), 0);
	CHECK_EQ(entry_decode(entry.data, entry.count, &kind, &back), 0);
	CHECK_EQ(back.count, 0);
	bytes_free(&entry);
	bytes_free(&back);
}

TEST(what_is_no_entry_is_refused)
{
	struct bytes entry = {0}, back = {0};
	enum entry_kind kind;

	CHECK_EQ(entry_encode(&entry, ENTRY_OTLP_PROTOBUF, body, sizeof(body)), 0);
	for (size_t cut = 0; cut < entry.count; cut++) {
		char *copy = malloc(cut + 1);

		memcpy(copy, entry.data, cut);
		copy = realloc(copy, cut ? cut : 1);
		CHECK_EQ(entry_decode(copy, cut, &kind, &back), -EBADMSG);
		free(copy);
	}
	entry.data[0] = 3; /* another kind */
	CHECK_EQ(entry_decode(entry.data, entry.count, &kind, &back), -EPROTONOSUPPORT);
	entry.data[0] = 1;
	memset(entry.data + 4, 0xff, 4); /* 4 GB */
	CHECK_EQ(entry_decode(entry.data, entry.count, &kind, &back), -EBADMSG);
	bytes_free(&entry);
	bytes_free(&back);
}

TEST_MAIN()
