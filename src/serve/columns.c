/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/columns.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "serve/answer.h"
#include "span/attributes.h"

#define DOUBLE_MAX (INT64_C(1) << 53) /* whole numbers up to it are what readers get */
#define KEY_BYTES 256		      /* longer keys are looked for one by one */

/* ---- texts ---- */

static int text_push(struct column_texts *texts, const char *text, size_t bytes)
{
	int err = vec_push(&texts->list, text);

	return err ? err
		   : bytes_map_put(&texts->numbers, text, bytes,
				   (void *)(uintptr_t)texts->list.count);
}

int column_text(struct column_texts *texts, const char *text, uint32_t *number)
{
	size_t bytes = strlen(text);
	int err = texts->list.count ? 0 : text_push(texts, "", 0);
	uintptr_t known = err ? 0 : (uintptr_t)bytes_map_get(&texts->numbers, text, bytes);

	if (!err && !known) {
		err = text_push(texts, text, bytes);
		known = texts->list.count;
	}
	if (!err)
		*number = (uint32_t)known - 1;
	return err;
}

void column_texts_write(struct json *j, const char *key, const struct column_texts *texts)
{
	json_array_begin(j, key);
	for (size_t i = 0; i < texts->list.count; i++)
		json_string(j, NULL, texts->list.data[i]);
	json_array_end(j);
}

void column_texts_free(struct column_texts *texts)
{
	vec_free(&texts->list);
	bytes_map_free(&texts->numbers);
}

/* ---- columns ---- */

static enum column_kind kind_of(const struct attribute *a)
{
	switch (a->type) {
	case VALUE_STRING:
		return COLUMN_TEXT;
	case VALUE_INTEGER:
		return a->integer <= DOUBLE_MAX && a->integer >= -DOUBLE_MAX ? COLUMN_VALUE
									     : COLUMN_JSON;
	case VALUE_REAL:
		return isfinite(a->real) ? COLUMN_VALUE : COLUMN_JSON;
	case VALUE_BOOLEAN:
		return COLUMN_VALUE;
	default:
		return COLUMN_JSON;
	}
}

static bool is_of(const struct column *column, const char *key, enum column_kind kind)
{
	return column->kind == kind && (column->key == key || strcmp(column->key, key) == 0);
}

static int column_make(struct columns *c, const char *key, enum column_kind kind, uint32_t *number)
{
	const struct column column = {.key = key, .kind = kind};

	*number = (uint32_t)c->list.count;
	return vec_push(&c->list, column);
}

/* Finds the column of a key and a kind, or makes it. */
static int column_find(struct columns *c, const char *key, enum column_kind kind, uint32_t *number)
{
	char name[KEY_BYTES];
	int bytes = snprintf(name, sizeof(name), "%d%s", kind, key);
	uintptr_t known;
	int err;

	if (bytes >= KEY_BYTES) {
		for (uint32_t i = 0; i < c->list.count; i++) {
			if (is_of(&c->list.data[i], key, kind)) {
				*number = i;
				return 0;
			}
		}
		return column_make(c, key, kind, number);
	}
	known = (uintptr_t)bytes_map_get(&c->numbers, name, (size_t)bytes);
	if (known) {
		*number = (uint32_t)known - 1;
		return 0;
	}
	err = column_make(c, key, kind, number);
	return err ? err
		   : bytes_map_put(&c->numbers, name, (size_t)bytes,
				   (void *)(uintptr_t)c->list.count);
}

/* The text of a value in JSON, in the pool; NULL: out of memory. */
static const char *json_text(struct pool *pool, const struct attribute *a)
{
	struct attribute bare = *a;
	struct bytes bytes = {0};
	char *text = NULL;
	struct json j;

	bare.key = NULL;
	json_init_bytes(&j, &bytes);
	attribute_write_json(&j, &bare);
	if (json_end(&j) == 0 && !bytes.failed && bytes.count) {
		text = pool_alloc(pool, bytes.count, 1);
		if (text) {
			memcpy(text, bytes.data, bytes.count);
			text[bytes.count - 1] = '\0'; /* in place of the line break */
		}
	}
	bytes_free(&bytes);
	return text;
}

/* Spans of one sender have the same attributes in the same order most often. */
static int column_of(struct columns *c, const struct attribute *a, size_t place, uint32_t *number)
{
	enum column_kind kind = kind_of(a);
	int err = 0;

	if (place < c->usual.count && is_of(&c->list.data[c->usual.data[place]], a->key, kind)) {
		*number = c->usual.data[place];
		return 0;
	}
	err = column_find(c, a->key, kind, number);
	if (!err && place < c->usual.count)
		c->usual.data[place] = *number;
	else if (!err)
		err = vec_push(&c->usual, *number);
	return err;
}

static int value_add(struct columns *c, uint32_t span, const struct attribute *a, uint32_t number)
{
	struct column *column = &c->list.data[number];
	struct column_value value = {.span = span};
	const char *text = a->string;
	int err = 0;

	if (column->kind == COLUMN_VALUE)
		value.literal = a;
	else if (column->kind == COLUMN_JSON)
		text = json_text(c->pool, a);
	if (column->kind != COLUMN_VALUE)
		err = text ? column_text(&c->texts, text, &value.text) : -ENOMEM;
	return err ? err : vec_push(&column->values, value);
}

int columns_add(struct columns *c, uint32_t span, const struct received_list *attributes)
{
	uint32_t number = 0;
	int err = 0;

	for (size_t i = 0; i < attributes->count && !err; i++) {
		err = column_of(c, &attributes->data[i], i, &number);
		err = err ? err : value_add(c, span, &attributes->data[i], number);
	}
	return err;
}

/* Whether each of the spans has one value. */
static bool is_whole(const struct column *column, size_t count)
{
	bool whole = column->values.count == count;

	for (size_t i = 0; i < column->values.count && whole; i++)
		whole = column->values.data[i].span == i;
	return whole;
}

static void value_write(struct json *j, const struct column_value *value)
{
	struct attribute bare;

	if (!value->literal) {
		json_u64(j, NULL, value->text);
		return;
	}
	bare = *value->literal;
	bare.key = NULL;
	attribute_write_json(j, &bare);
}

void columns_write(struct json *j, const char *key, const struct columns *c, size_t count)
{
	static const char *const kinds[] = {
		[COLUMN_TEXT] = "text", [COLUMN_VALUE] = "value", [COLUMN_JSON] = "json"};

	json_array_begin_lines(j, key);
	for (size_t i = 0; i < c->list.count; i++) {
		const struct column *column = &c->list.data[i];

		json_object_begin(j, NULL);
		json_string(j, "key", column->key);
		json_string(j, "kind", kinds[column->kind]);
		if (!is_whole(column, count)) {
			json_array_begin(j, "spans");
			for (size_t k = 0; k < column->values.count; k++)
				json_u64(j, NULL, column->values.data[k].span);
			json_array_end(j);
		}
		json_array_begin(j, "values");
		for (size_t k = 0; k < column->values.count; k++)
			value_write(j, &column->values.data[k]);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

void columns_free(struct columns *c)
{
	for (size_t i = 0; i < c->list.count; i++)
		vec_free(&c->list.data[i].values);
	vec_free(&c->list);
	vec_free(&c->usual);
	bytes_map_free(&c->numbers);
	column_texts_free(&c->texts);
}
