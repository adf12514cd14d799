/* SPDX-License-Identifier: Apache-2.0 */
/* Which traces a search finds, and what ends it. */
#include "store/store.h"

#include "store/internal.h"
#include "tests/unit/store/spans.h"

/* The low halves of the ids that a query finds, as digits: 7 and 8 are 78. */
static int search(struct store *s, struct store_query query)
{
	struct store_ids ids = {0};
	struct error e = {0};
	int digits = 0;

	query.limit = query.limit ? query.limit : 20;
	if (store_search(s, &query, &ids, &e))
		CHECK_FAIL("%s", e.text);
	for (size_t i = 0; i < ids.count; i++)
		digits = digits * 10 + (int)ids.data[i].low;
	vec_free(&ids);
	return digits;
}

static const struct attribute attributes[] = {
	{.key = "user", .type = VALUE_STRING, .string = "ann \"q\""},
	{.key = "code", .type = VALUE_INTEGER, .integer = 50},
	{.key = "last", .type = VALUE_BOOLEAN, .integer = 1}};
static const struct attribute host[] = {{.key = "host", .type = VALUE_STRING, .string = "n1"}};
static const struct received_resource bank = {.service = "bank", .attributes = {host, 1, 0}};

static struct store *open_searched(void)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), make(2, 1, "b"), make(3, 1, "a"),
					make(4, 1, "a")};

	spans[1].status = RECEIVED_ERROR;
	spans[2].kind = RECEIVED_CLIENT;
	spans[2].resource = &bank;
	spans[3].end_ns += 90000000; /* 100 ms */
	spans[3].attributes = (struct received_list){attributes, 3, 0};
	append(s, spans, 4);
	commit(s, 1);
	return s;
}

TEST(a_search_meets_all_conditions_newest_first)
{
	struct store *s = open_searched();

	CHECK_EQ(search(s, (struct store_query){.kind = -1}), 4321);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .limit = 2}), 43);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .service = "shop"}), 421);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .service = "shop", .operation = "a"}),
		 41);
	CHECK_EQ(search(s, (struct store_query){.kind = RECEIVED_CLIENT}), 3);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .is_error = true}), 2);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .duration_from_ns = 50000000}), 4);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .duration_to_ns = 50000000}), 321);
	CHECK_EQ(search(s, (struct store_query){.kind = -1,
						.begin_from_ns = 2000000000,
						.begin_to_ns = 3000000000}),
		 32);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .service = "x' OR true --"}), 0);
	drop(s);
}

TEST(a_loose_search_meets_conditions_in_several_spans)
{
	static const struct attribute peer[] = {
		{.key = "peer.service", .type = VALUE_STRING, .string = "Bank"}};
	static const struct received_event event = {.name = "miss"};
	static const char *const keys[] = {"peer.service", "miss"}, *const wrong[] = {"mis"};
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "Get"), make(1, 2, "b"), make(2, 1, "get")};
	struct store_query query = {.kind = -1, .service = "SHOP", .operation = "GET"};

	spans[0].attributes = (struct received_list){peer, 1, 0};
	spans[1].events = &event;
	spans[1].events_count = 1;
	spans[1].status = RECEIVED_ERROR;
	append(s, spans, 3);
	commit(s, 1);
	CHECK_EQ(search(s, query), 0);
	query.is_loose = true;
	CHECK_EQ(search(s, query), 21);
	query.marks = keys;
	query.marks_count = 2;
	query.is_error = true;
	query.remote = "bank";
	CHECK_EQ(search(s, query), 1);
	query.duration_from_ns = 10000001;
	CHECK_EQ(search(s, query), 0);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .marks = wrong, .marks_count = 1}), 0);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .remote = "ban"}), 0);
	drop(s);
}

static int tag_search(struct store *s, struct attribute tag)
{
	return search(s, (struct store_query){.kind = -1, .tags = &tag, .tags_count = 1});
}

static struct attribute text_tag(const char *key, const char *value)
{
	return (struct attribute){.key = key, .type = VALUE_STRING, .string = value};
}

TEST(tags_are_those_of_span_and_resource)
{
	struct store *s = open_searched();

	CHECK_EQ(tag_search(s, text_tag("user", "ann \"q\"")), 4);
	CHECK_EQ(tag_search(s, text_tag("user", "ann")), 0);
	CHECK_EQ(tag_search(s, text_tag("code", "50")), 4);
	CHECK_EQ(tag_search(s, text_tag("code", "5")), 0);
	CHECK_EQ(tag_search(s, text_tag("last", "true")), 4);
	CHECK_EQ(tag_search(s, text_tag("last", "false")), 0);
	CHECK_EQ(tag_search(s, text_tag("host", "n1")), 3);
	CHECK_EQ(tag_search(s, attributes[1]), 4);
	CHECK_EQ(search(s, (struct store_query){.kind = -1, .tags = attributes, .tags_count = 3}),
		 4);
	drop(s);
}

TEST(tags_may_stand_for_fields)
{
	static const struct received_scope lib = {.name = "lib", .version = "1"};
	const struct attribute yes = {.key = "error", .type = VALUE_BOOLEAN, .integer = 1};
	const struct attribute no = {.key = "error", .type = VALUE_BOOLEAN};
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), make(2, 1, "b"), make(3, 1, "c")};

	spans[0].status = RECEIVED_OK;
	spans[1].status = RECEIVED_ERROR;
	spans[1].status_text = "no \"money\"";
	spans[1].trace_state = "v=1";
	spans[2].kind = RECEIVED_UNSPECIFIED;
	spans[2].scope = &lib;
	append(s, spans, 3);
	commit(s, 1);
	CHECK_EQ(tag_search(s, text_tag("otel.status_code", "ERROR")), 2);
	CHECK_EQ(tag_search(s, text_tag("otel.status_code", "OK")), 1);
	CHECK_EQ(tag_search(s, text_tag("otel.status_code", "UNSET")), 0);
	CHECK_EQ(tag_search(s, text_tag("error", "true")), 2);
	CHECK_EQ(tag_search(s, text_tag("error", "false")), 0);
	CHECK_EQ(tag_search(s, yes), 2);
	CHECK_EQ(tag_search(s, no), 0);
	CHECK_EQ(tag_search(s, text_tag("otel.status_description", "no \"money\"")), 2);
	CHECK_EQ(tag_search(s, text_tag("otel.status_description", "no")), 0);
	CHECK_EQ(tag_search(s, text_tag("w3c.tracestate", "v=1")), 2);
	CHECK_EQ(tag_search(s, text_tag("otel.scope.name", "lib")), 3);
	CHECK_EQ(tag_search(s, text_tag("otel.scope.name", "l")), 0);
	CHECK_EQ(tag_search(s, text_tag("otel.scope.version", "1")), 3);
	CHECK_EQ(tag_search(s, text_tag("span.kind", "server")), 21);
	CHECK_EQ(tag_search(s, text_tag("span.kind", "unspecified")), 0);
	drop(s);
}

static void time_set(uint64_t query_ns)
{
	store_options = (struct store_options){.dir = dir_name, .query_ns = query_ns};
}

TEST(a_query_ends_when_its_time_is_over)
{
	struct statement slow = {0};
	struct asking asking;
	struct error e = {0};
	struct store *s;
	int err;

	time_set(100000000);
	s = open_searched();
	statement_add(&slow, "SELECT count(*) FROM range(10000000) a, range(10000000) b"
			     " WHERE a.range * b.range % 7 = 3");
	err = asking_begin(&asking, s, &e);
	err = err ? err : statement_run(&s->db, asking.connection, &slow, NULL, &e);
	CHECK_EQ(asking_end(&asking, err, &e), -ETIMEDOUT);
	CHECK(strstr(e.text, "longer than 0.1 s"));
	CHECK_EQ(found(s, 1), 1);
	statement_free(&slow);
	time_set(0);
	drop(s);
}

TEST(a_search_without_time_says_that_it_is_partial)
{
	const struct store_query query = {.kind = -1, .limit = 5};
	struct store_marks marks = {0};
	struct store *s;

	store_close(open_searched());
	time_set(1);
	s = reopen();
	for (int i = 0; i < 10000 && !marks.is_partial; i++) {
		marks.count = 0;
		CHECK_EQ(store_search_marks(s, &query, &marks, NULL), 0);
	}
	CHECK(marks.is_partial);
	CHECK_EQ(marks.count, 0);
	vec_free(&marks);
	time_set(0);
	drop(s);
}

/* More than a search looks at first. */
TEST(a_trace_behind_many_spans_of_another_is_found)
{
	struct store *s = open_empty();
	struct received_span *spans = calloc(6001, sizeof(*spans));
	const struct store_query query = {.kind = -1, .limit = 2};
	struct store_ids ids = {0};

	for (uint64_t i = 0; i < 6000; i++)
		spans[i] = make(2, i + 1, "a");
	spans[6000] = make(1, 1, "a");
	append(s, spans, 6001);
	commit(s, 1);
	CHECK_EQ(store_search(s, &query, &ids, NULL), 0);
	CHECK_EQ(ids.count, 2);
	CHECK_EQ(ids.data[0].low, 2);
	CHECK_EQ(ids.data[1].low, 1);
	vec_free(&ids);
	free(spans);
	drop(s);
}

TEST(quotes_and_question_marks_are_no_sql)
{
	struct store *s = open_empty();
	struct received_span span = make(1, 1, "it's ? 'so'");

	append(s, &span, 1);
	commit(s, 1);
	for (int i = 0; i < 2; i++) {
		const struct store_query query = {.service = "shop",
						  .operation = i ? "it's ?" : span.name,
						  .kind = -1,
						  .limit = 2};
		struct store_ids ids = {0};

		CHECK_EQ(store_search(s, &query, &ids, NULL), 0);
		CHECK_EQ(ids.count, i ? 0 : 1);
		vec_free(&ids);
	}
	drop(s);
}

TEST_MAIN()
