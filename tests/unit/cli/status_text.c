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

static char *printed(const char *of)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	CHECK_EQ(status_text_print(file, of, strlen(of), NULL), 0);
	fclose(file);
	return text;
}

TEST(what_is_lost_and_why_spans_are_refused_has_lines)
{
	char *text = printed("{\"state\":\"full\",\"store\":{\"spans\":1,\"lost_files\":1,"
			     "\"lost_why\":\"f is left out\",\"log_lost_bytes\":2048,"
			     "\"log_cut_bytes\":3,\"free_bytes\":1048576,"
			     "\"min_free_bytes\":2097152}}");

	CHECK(strstr(text, "1 file is lost: f is left out\n"));
	CHECK(strstr(text, "2.00 K of the log are damaged"));
	CHECK(strstr(text, "3 B at the end of the log"));
	CHECK(strstr(text, "spans are refused: 1.00 M of the disk are free, and --min-free is 2.00 "
			   "M\n"));
	free(text);
}

TEST(what_the_budget_leaves_out_is_told_first_with_what_to_do)
{
	static const char now[] = "{\"state\":\"ok\",\"capture\":{\"chunks\":1,\"lowered\":true,"
				  "\"lowered_ns\":4000000000,\"budget_percent\":5}}";
	static const char missing[] = "missing    requests through services: the budget of 5 % is "
				      "too small for them (try --budget 20%)\n";
	char *text = printed(now), *top = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&top, &size);

	CHECK(strstr(text, missing) == strchr(text, '\n') + 1);
	CHECK(strstr(text, "in each 30 s only, for 4.00 s, to hold the budget of 5 %: "));
	free(text);
	CHECK_EQ(status_red_print(file, now, strlen(now), 1), 1);
	fclose(file);
	CHECK_STR(top, missing);
	free(top);
	text = printed("{\"state\":\"ok\",\"capture\":{\"chunks\":1,\"lowered\":false,"
		       "\"lowered_ns\":4000000000,\"budget_percent\":30}}");
	CHECK(!strstr(text, "missing"));
	CHECK(strstr(text, "counts for the others; --budget 100% leaves more room\n"));
	free(text);
}

TEST(bytes_in_turns_are_told)
{
	char *text = printed("{\"state\":\"ok\",\"capture\":{\"chunks\":1,\"lowered\":true,"
			     "\"in_turns\":true,\"lowered_ns\":4000000000,"
			     "\"budget_percent\":5}}");

	CHECK(strstr(text, "missing    requests through services, but for 1 s in each 30 s: "));
	free(text);
}

TEST(where_nothing_is_recorded_there_are_no_zeros_of_it)
{
	char *text = printed("{\"state\":\"ok\",\"processes\":[{\"name\":\"capture\","
			     "\"state\":\"off\",\"starts\":0}],\"capture\":{\"chunks\":0}}");

	CHECK(strstr(text, "capture    off\n"));
	CHECK(!strstr(text, "recorded"));
	free(text);
	text = printed("{\"state\":\"ok\",\"processes\":[{\"name\":\"capture\","
		       "\"state\":\"off\",\"starts\":1}],\"capture\":{\"chunks\":2}}");
	CHECK(strstr(text, "recorded   2 chunks"));
	free(text);
}

TEST_MAIN()
