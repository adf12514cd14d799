/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_text.h"

#include "tests/unit/check.h"

static const char document[] =
	"{\"version\":1,\"state\":\"ok\",\"dir\":\"/d\",\"user\":\"u\",\"running_ns\":1000000000,"
	"\"monitors\":{\"ok\":2,\"warn\":1,\"alert\":2,\"no_data\":0,\"muted\":1,\"waiting\":3,"
	"\"given_up\":4,\"new\":[1],\"red\":[{\"name\":\"a\",\"text\":\"p99 of x is 2 s, above 1 "
	"s\","
	"\"since_unix_ns\":1},{\"name\":\"b\",\"text\":\"t\",\"since_unix_ns\":1}]}}";

TEST(monitors_have_a_line_and_red_ones_one_each)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	CHECK_EQ(status_text_print(file, document, strlen(document), NULL), 0);
	fclose(file);
	CHECK(strstr(text,
		     "monitors   2 ok, 1 warn, 2 alert, 0 without data; 1 muted; not told: 3, "
		     "given up: 4\n"));
	CHECK(strstr(text, "ALERT      a: p99 of x is 2 s, above 1 s, for "));
	CHECK(strstr(text, "ALERT      b: t, for "));
	free(text);
}

TEST(top_has_the_first_red_ones)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	CHECK_EQ(status_red_print(file, document, strlen(document), 1), 1);
	CHECK_EQ(status_red_print(file, "{", 1, 1), 0);
	fclose(file);
	CHECK_EQ(strncmp(text, "ALERT      a: ", 14), 0);
	CHECK(!strstr(text, "ALERT      b"));
	free(text);
}

TEST_MAIN()
