/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are kept once stay where they are, also when they go to another list. */
#include "map/fact/texts.h"

#include <stdio.h>

#include "check.h"

TEST(what_comes_again_is_kept_once)
{
	struct texts t = {0};
	const char *one = texts_keep(&t, "/srv/index.html", 15), *part, *empty;

	part = texts_keep(&t, "/srv/index.html", 10);
	empty = texts_keep(&t, "", 0);
	CHECK_STR(one, "/srv/index.html");
	CHECK_STR(part, "/srv/index");
	CHECK_STR(empty, "");
	CHECK(texts_keep(&t, "/srv/index.html", 15) == one);
	CHECK(texts_keep(&t, "/srv/index", 10) == part);
	CHECK(texts_keep(&t, "", 0) == empty);
	texts_free(&t);
}

TEST(many_stay_where_they_are)
{
	enum { COUNT = 20000 };
	static const char *kept[COUNT];
	static char large[1 << 19];
	struct texts left = {0}, right = {0};
	const char *alone;
	char text[64];

	memset(large, 'x', sizeof(large));
	for (int i = 0; i < COUNT; i++) {
		int bytes = snprintf(text, sizeof(text), "%d of many", i);

		kept[i] = texts_keep(i % 3 ? &left : &right, text, (size_t)bytes);
		CHECK(kept[i] != NULL);
	}
	alone = texts_keep(&right, large, sizeof(large));
	CHECK_EQ(texts_merge(&left, &right), 0);
	texts_free(&right);
	CHECK_STR(texts_keep(&left, "one more", 8), "one more");
	for (int i = 0; i < COUNT; i++) {
		snprintf(text, sizeof(text), "%d of many", i);
		CHECK_STR(kept[i], text);
	}
	CHECK_EQ(strlen(alone), sizeof(large));
	texts_free(&left);
}

TEST(an_empty_list_takes_what_the_other_knows)
{
	struct texts left = {0}, right = {0};
	const char *one = texts_keep(&right, "/srv/one", 8);

	CHECK_EQ(texts_merge(&left, &right), 0);
	CHECK(texts_keep(&left, "/srv/one", 8) == one);
	CHECK(texts_keep(&right, "/srv/one", 8) != one);
	texts_free(&left);
	texts_free(&right);
}

TEST_MAIN()
