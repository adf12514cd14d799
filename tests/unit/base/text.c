/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "tests/unit/check.h"

TEST(distances)
{
	CHECK_EQ(text_distance("", ""), 0);
	CHECK_EQ(text_distance("", "abc"), 3);
	CHECK_EQ(text_distance("rotate", "rotate"), 0);
	CHECK_EQ(text_distance("rotate", "rotat"), 1);
	CHECK_EQ(text_distance("rotate", "rotatee"), 1);
	CHECK_EQ(text_distance("rotate", "rutate"), 1);
	CHECK_EQ(text_distance("kitten", "sitting"), 3);
}

TEST(long_texts_are_far)
{
	char text[66];

	memset(text, 'a', 65);
	text[65] = '\0';
	CHECK_EQ(text_distance(text, text), TEXT_DISTANCE_FAR);
	CHECK_EQ(text_distance("a", text), TEXT_DISTANCE_FAR);
	CHECK_EQ(text_distance(text + 1, text + 2), 1);
}

TEST_MAIN()
