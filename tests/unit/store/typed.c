/* SPDX-License-Identifier: Apache-2.0 */
/* Frequent attributes have columns of their own, which no answer shows. */
#include "store/typed.h"

#include "store/internal.h"
#include "store/sql.h"
#include "tests/unit/store/spans.h"

#define MANY 200
#define LAST (MANY - 1)

/* Span i has one of each kind; what does not fit in a column is in the last spans. */
static struct received_span typed_make(uint64_t i, struct attribute attributes[6])
{
	static char words[MANY][20];
	struct received_span span = make(i + 1, 1, "a");

	snprintf(words[i], sizeof(words[i]), "word %u", (unsigned int)i);
	attributes[0] = (struct attribute){.key = "text", .type = VALUE_STRING, .string = words[i]};
	attributes[1] =
		(struct attribute){.key = "number", .type = VALUE_INTEGER, .integer = (int64_t)i};
	attributes[2] = (struct attribute){.key = "flag", .type = VALUE_BOOLEAN, .integer = 1};
	attributes[3] =
		(struct attribute){.key = "peer.service", .type = VALUE_STRING, .string = "Bank"};
	attributes[4] = attributes[0]; /* once more */
	attributes[5] = (struct attribute){
		.key = "odd", .type = VALUE_STRING, .string = i == LAST ? "say \"é\"" : ""};
	if (i == LAST) {
		attributes[0].string = "\"\\\n";
		attributes[1].integer = -5;
	}
	span.attributes = (struct received_list){attributes, 6, 0};
	return span;
}

static struct store *open_typed(void)
{
	static struct attribute attributes[MANY][6];
	struct store *s = open_empty();

	for (uint64_t i = 0; i < MANY; i++) {
		struct received_span span = typed_make(i, attributes[i]);

		append(s, &span, 1);
		if (i == MANY / 2)
			commit(s, 1); /* the next ones have columns */
	}
	commit(s, 2);
	return s;
}

static const struct attribute *nth(const struct received_list *list, const char *key, size_t n)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->data[i].key, key) == 0 && !n--)
			return &list->data[i];
	}
	CHECK_FAIL("there is no %s", key);
	return NULL;
}

static void span_check(struct store *s, uint64_t i)
{
	struct attribute sent[6];
	struct received_span span = typed_make(i, sent);
	struct received_batch batch = find(s, span.trace);
	const struct received_list *list = &batch.data[0].attributes;

	CHECK_EQ(batch.count, 1);
	CHECK_EQ(list->count, 6);
	for (size_t k = 0; k < 4; k++) {
		const struct attribute *a = nth(list, sent[k].key, 0);

		CHECK_EQ(a->type, sent[k].type);
		if (a->type == VALUE_STRING && k)
			CHECK_STR(a->string, sent[k].string);
		else if (a->type != VALUE_STRING)
			CHECK(a->integer == sent[k].integer);
	}
	/* both texts are there, in either order */
	CHECK(strcmp(nth(list, "text", 0)->string, sent[0].string) == 0 ||
	      strcmp(nth(list, "text", 1)->string, sent[0].string) == 0);
	CHECK_STR(nth(list, "odd", 0)->string, sent[5].string);
	vec_free(&batch);
}

static size_t search(struct store *s, struct store_query query)
{
	struct store_ids ids = {0};
	size_t count;

	query.kind = -1;
	query.limit = MANY;
	CHECK_EQ(store_search(s, &query, &ids, NULL), 0);
	count = ids.count;
	vec_free(&ids);
	return count;
}

static size_t tag_search(struct store *s, const char *key, const char *text)
{
	const struct attribute tag = {.key = key, .type = VALUE_STRING, .string = text};

	return search(s, (struct store_query){.tags = &tag, .tags_count = 1});
}

static void all_check(struct store *s)
{
	const struct attribute seven = {.key = "number", .type = VALUE_INTEGER, .integer = 7};
	const char *const marks[] = {"number"}, *const none[] = {"numbers"};

	for (uint64_t i = 0; i < MANY; i++)
		span_check(s, i);
	/* one before the key had a column, one behind, and one that does not fit */
	CHECK_EQ(tag_search(s, "text", "word 3"), 1);
	CHECK_EQ(tag_search(s, "text", "word 150"), 1);
	CHECK_EQ(tag_search(s, "text", "\"\\\n"), 1);
	CHECK_EQ(tag_search(s, "text", "word"), 0);
	CHECK_EQ(tag_search(s, "number", "3"), 1);
	CHECK_EQ(tag_search(s, "number", "150"), 1);
	CHECK_EQ(tag_search(s, "number", "0150"), 0);
	CHECK_EQ(tag_search(s, "number", "-5"), 1);
	CHECK_EQ(tag_search(s, "odd", "say \"é\""), 1);
	CHECK_EQ(search(s, (struct store_query){.tags = &seven, .tags_count = 1}), 1);
	CHECK_EQ(search(s, (struct store_query){.marks = marks, .marks_count = 1}), MANY);
	CHECK_EQ(search(s, (struct store_query){.marks = none, .marks_count = 1}), 0);
	CHECK_EQ(search(s, (struct store_query){.remote = "bank", .is_loose = true}), MANY);
}

TEST(attributes_come_back_from_columns_and_from_text)
{
	struct store *s = open_typed();

	CHECK_EQ(files_newest(s)->typed.texts, 2);
	CHECK_EQ(files_newest(s)->typed.numbers, 1);
	all_check(s);
	store_close(s);
	s = reopen();
	CHECK_EQ(files_newest(s)->typed.texts, 2);
	all_check(s);
	drop(s);
}

TEST(keys_that_were_abandoned_are_stored_later)
{
	struct attribute attributes[6];
	struct store *s = open_empty();

	for (uint64_t i = 0; i < MANY; i++) {
		struct received_span span = typed_make(i, attributes);

		append(s, &span, 1);
	}
	store_abandon(s);
	for (uint64_t i = 0; i < MANY; i++) {
		struct received_span span = typed_make(i, attributes);

		append(s, &span, 1);
	}
	commit(s, 1);
	CHECK_EQ(files_newest(s)->typed.texts, 2);
	store_close(s);
	s = reopen();
	all_check(s);
	drop(s);
}

/* Each of 50 keys has a text in a span, and an integer in the next one. */
static int place_of(struct typed *typed, struct typed_learning *learning, int i)
{
	char key[20];
	struct attribute a = {.key = key,
			      .type = i % 2 ? VALUE_STRING : VALUE_INTEGER,
			      .string = i % 2 ? "x" : NULL,
			      .integer = 1};

	snprintf(key, sizeof(key), "key.%d", i / 2);
	return typed_place(typed, learning, &a, (size_t)i);
}

TEST(a_key_of_each_type_has_a_place_of_its_own)
{
	static struct typed typed;
	struct typed_learning learning = {0};

	for (int round = 0; round < TYPED_SEEN; round++) {
		CHECK_EQ(typed.wanted, 0);
		for (int i = 0; i < 100; i++)
			CHECK_EQ(place_of(&typed, &learning, i), TYPED_NONE);
	}
	CHECK_EQ(typed.wanted, TYPED_PLACES);
	for (unsigned int i = 0; i < TYPED_PLACES; i++)
		typed_give(&typed, i);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(place_of(&typed, &learning, i) >= 0,
			 i / 2 < (i % 2 ? TYPED_TEXTS : TYPED_NUMBERS));
	for (unsigned int i = 0; i < TYPED_PLACES; i++)
		CHECK_EQ(typed_next(&typed, i), TYPED_NONE);
	CHECK_EQ(typed.texts, TYPED_TEXTS);
	CHECK_EQ(typed.numbers, TYPED_NUMBERS);
	CHECK_EQ(typed_find(&typed, "key.3", true), 3);
	CHECK_EQ(typed_find(&typed, "key.3", false), TYPED_TEXTS + 3);
	CHECK_EQ(typed_find(&typed, "key.20", true), TYPED_NONE);
	typed_learning_free(&learning);
}

struct told_row {
	char text[400];
	size_t rows;
};

static int columns_take(void *arg, const char *const *names, const char *const *types, size_t count)
{
	return 0;
}

static int row_take(void *arg, const struct sql_value *values, size_t count)
{
	struct told_row *told = arg;

	snprintf(told->text, sizeof(told->text), "%.*s", (int)values[0].bytes, values[0].text);
	told->rows++;
	return 0;
}

static void warn(void *arg, const char *text)
{
	CHECK_FAIL("%s", text);
}

TEST(sql_shows_all_attributes_in_one_text)
{
	struct store *s = open_typed();
	struct told_row told = {.rows = 0};
	const struct sql_taker taker = {columns_take, row_take, warn, &told, NULL};
	struct error e = {0};

	store_close(s);
	if (store_sql(dir_name, "SELECT attributes FROM spans WHERE begin_ns = 151000000000",
		      &taker, &e))
		CHECK_FAIL("%s", e.text);
	CHECK_EQ(told.rows, 1);
	CHECK_STR(told.text,
		  "{\"flag\":true,\"text\":\"word 150\",\"odd\":\"\",\"text\":\"word 150\","
		  "\"peer.service\":\"Bank\",\"number\":150}");
	s = reopen();
	drop(s);
}

TEST_MAIN()
