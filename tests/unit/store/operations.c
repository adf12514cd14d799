/* SPDX-License-Identifier: Apache-2.0 */
/* Names of services and operations, and how many are listed. */
#include "store/store.h"

#include "tests/unit/store/spans.h"

static const struct received_resource bank = {.service = "bank"};

TEST(operations_are_listed_once)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), make(2, 1, "b"), make(3, 1, "a"),
					make(4, 1, "a")};
	struct store_operations list = {0};

	spans[2].kind = RECEIVED_CLIENT;
	spans[2].resource = &bank;
	append(s, spans, 4);
	commit(s, 1);
	CHECK_EQ(store_list(s, NULL, &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 3);
	CHECK_STR(list.data[0].service, "bank");
	CHECK_EQ(list.data[0].kind, RECEIVED_CLIENT);
	CHECK_STR(list.data[2].name, "b");
	list.count = 0;
	store_close(s);
	s = reopen();
	CHECK_EQ(store_list(s, "shop", &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 2);
	vec_free(&list);
	drop(s);
}

TEST(many_names_of_one_service_do_not_hide_the_next_service)
{
	const size_t count = STORE_SERVICE_OPERATIONS_MAX + 10;
	struct store *s = open_empty();
	struct received_span late = make(8, 1, "a");
	struct store_operations list = {0};
	struct store_counts counts;

	for (size_t i = 0; i < count; i++) {
		char name[24];
		struct received_span span = make(7, i + 1, name);

		snprintf(name, sizeof(name), "GET /user/%zu", i);
		append(s, &span, 1);
	}
	late.resource = &bank;
	append(s, &late, 1);
	commit(s, 1);
	CHECK_EQ(store_list(s, "shop", &pool, &list, NULL), 0);
	CHECK_EQ(list.count, STORE_SERVICE_OPERATIONS_MAX + 1);
	CHECK_STR(list.data[list.count - 1].name, STORE_OTHER);
	CHECK_EQ(store_count(s, &counts, NULL), 0);
	CHECK_EQ(counts.unlisted_spans, 10);
	list.count = 0;
	CHECK_EQ(store_list(s, "bank", &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 1);
	vec_free(&list);
	drop(s);
}

/* Appends spans of names that nobody had. */
static void names_append(struct store *s, uint64_t trace, const char *what, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char name[40];
		struct received_span span = make(trace, i + 1, name);

		snprintf(name, sizeof(name), "%s %zu", what, i);
		append(s, &span, 1);
	}
}

static size_t listed(struct store *s, const char *service)
{
	struct store_operations list = {0};
	size_t count;

	CHECK_EQ(store_list(s, service, &pool, &list, NULL), 0);
	count = list.count;
	vec_free(&list);
	return count;
}

TEST(names_of_an_hour_are_limited_and_the_last_ones_are_for_new_services)
{
	struct received_span late = make(8, 1, "a"), longer = make(9, 1, NULL);
	struct store_counts counts;
	struct store *s;
	char text[STORE_LISTED_NAME_BYTES + 2];

	store_options.names_per_hour = 100;
	s = open_empty();
	names_append(s, 7, "GET", 50);
	store_abandon(s); /* they come again, and count once */
	names_append(s, 7, "GET", 200);
	late.resource = &bank;
	append(s, &late, 1);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	longer.name = text;
	append(s, &longer, 1);
	commit(s, 1);
	CHECK_EQ(listed(s, "shop"), 91); /* with "other" */
	CHECK_EQ(listed(s, "bank"), 1);
	CHECK_EQ(store_count(s, &counts, NULL), 0);
	CHECK_EQ(counts.unlisted_spans, 111);
	CHECK_EQ(counts.spans, 202);
	drop(s);
	store_options.names_per_hour = 0;
}

TEST(names_of_the_file_before_are_not_new)
{
	struct store *s;

	store_options.names_per_hour = 100;
	store_options.spans_max = 80;
	s = open_empty();
	names_append(s, 7, "GET", 80);
	commit(s, 1); /* the next file begins */
	names_append(s, 9, "PUT", 20);
	commit(s, 2);
	names_append(s, 8, "GET", 80);
	commit(s, 3);
	CHECK_EQ(listed(s, "shop"), 91); /* 80, ten of the others, and "other" */
	drop(s);
	store_options.names_per_hour = store_options.spans_max = 0;
}

TEST_MAIN()
