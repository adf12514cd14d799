/* SPDX-License-Identifier: Apache-2.0 */
#include "store/search_tags.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_bytes.h"
#include "span/attributes.h"
#include "span/received.h"

#define TAG_FOUND                                                                                  \
	" OR contains(attributes, ?) OR resource IN (SELECT id FROM texts WHERE contains(text, "   \
	"?))"

/* `"key":value`, as attributes_write_exact() has it, in the pool; NULL: no memory. */
static const char *pair_text(const struct attribute *tag, struct pool *pool, size_t *bytes)
{
	struct bytes text = {0};
	struct json j;
	char *copy = NULL;

	json_init_bytes(&j, &text);
	attributes_write_exact(&j, NULL, tag, 1);
	if (json_end(&j) == 0 && !text.failed)
		copy = pool_alloc(pool, text.count, 1);
	if (copy) {
		*bytes = text.count - 3; /* without braces and line break */
		memcpy(copy, text.data + 1, *bytes);
	}
	bytes_free(&text);
	return copy;
}

/* A text that is a number or a truth value in JSON finds those, too. */
static bool is_bare_value(const char *text)
{
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return true;
	return *text && strlen(text) < 32 && text[strspn(text, "-+.0123456789e")] == '\0';
}

static int pattern_add(struct statement *s, const char *pair, size_t bytes, struct pool *pool,
		       char behind)
{
	char *pattern = pool_alloc(pool, bytes + 1, 1);

	if (!pattern)
		return -ENOMEM;
	memcpy(pattern, pair, bytes);
	pattern[bytes] = behind;
	statement_add(s, TAG_FOUND);
	statement_bind_text(s, pattern, bytes + 1);
	statement_bind_text(s, pattern, bytes + 1);
	return 0;
}

/* A number ends at what is behind it; a string ends at its quote. */
static int bare_add(struct statement *s, const char *pair, size_t bytes, struct pool *pool)
{
	int err = pattern_add(s, pair, bytes, pool, ',');

	return err ? err : pattern_add(s, pair, bytes, pool, '}');
}

/* A text of a key in `rest` or in a scope. `sql` has its place. */
static int field_text_add(struct statement *s, const char *sql, const char *key, const char *text,
			  struct pool *pool)
{
	const struct attribute field = {.key = key, .type = VALUE_STRING, .string = text};
	size_t bytes;
	const char *pair = pair_text(&field, pool, &bytes);

	if (!pair)
		return -ENOMEM;
	statement_add(s, sql);
	statement_bind_text(s, pair, bytes);
	return 0;
}

static void field_number_add(struct statement *s, const char *sql, int number)
{
	statement_add(s, sql);
	statement_bind_number(s, (uint64_t)number);
}

/*
 * Tags in which Jaeger and Zipkin show what OTLP has fields for. A text of "error" is that of the
 * status, as in Zipkin.
 */
static int field_condition(struct statement *s, const struct attribute *tag, struct pool *pool)
{
	static const struct {
		const char *tag, *field, *sql;
	} texts[] = {
		{"error", "status", " OR contains(rest, ?)"},
		{"otel.status_description", "status", " OR contains(rest, ?)"},
		{"w3c.tracestate", "trace_state", " OR contains(rest, ?)"},
		{"otel.scope.name", "name",
		 " OR scope IN (SELECT id FROM texts WHERE starts_with(text, concat('{', ?)))"},
		{"otel.scope.version", "version",
		 " OR scope IN (SELECT id FROM texts WHERE contains(text, ?))"},
	};
	bool is_text = tag->type == VALUE_STRING;
	const char *text = is_text ? tag->string : "";
	bool is_true = is_text ? strcmp(text, "true") == 0
			       : tag->type == VALUE_BOOLEAN && tag->integer;
	int err = 0, kind = received_kind_parse(text);

	if (strcmp(tag->key, "span.kind") == 0 && kind > RECEIVED_UNSPECIFIED)
		field_number_add(s, " OR kind = ?", kind);
	if ((strcmp(tag->key, "error") == 0 && is_true) ||
	    (strcmp(tag->key, "otel.status_code") == 0 && strcmp(text, "ERROR") == 0))
		field_number_add(s, " OR status = ?", RECEIVED_ERROR);
	if (strcmp(tag->key, "otel.status_code") == 0 && strcmp(text, "OK") == 0)
		field_number_add(s, " OR status = ?", RECEIVED_OK);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && *text && !err; i++) {
		if (strcmp(tag->key, texts[i].tag) == 0)
			err = field_text_add(s, texts[i].sql, texts[i].field, text, pool);
	}
	return err;
}

static void column_add(struct statement *s, int place, const char *what)
{
	statement_add(s, " OR ");
	statement_add(s, typed_column(place));
	statement_add(s, what);
}

/* The integer that a text is, as a column may have it; false: it is none. */
static bool integer_parse(const char *text, uint64_t *number)
{
	char again[24];

	*number = strtoull(text, NULL, 10);
	snprintf(again, sizeof(again), "%" PRIu64, *number);
	return *number < INT64_MAX && strcmp(text, again) == 0;
}

/* A tag that has a column in the file. */
static void column_condition(struct statement *s, const struct typed *typed,
			     const struct attribute *tag)
{
	int text = typed_find(typed, tag->key, true), number = typed_find(typed, tag->key, false);
	uint64_t value = (uint64_t)tag->integer;

	if (tag->type == VALUE_STRING && text >= 0 && *tag->string) {
		column_add(s, text, " = ?");
		statement_bind_text(s, tag->string, strlen(tag->string));
	}
	if (number < 0 || !(tag->type == VALUE_INTEGER ||
			    (tag->type == VALUE_STRING && integer_parse(tag->string, &value))))
		return;
	column_add(s, number, " = ?");
	statement_bind_number(s, value + 1);
}

int tag_condition(struct statement *s, const struct typed *typed, const struct attribute *tag,
		  struct pool *pool)
{
	size_t bytes;
	const char *pair = pair_text(tag, pool, &bytes);
	int err;

	if (!pair)
		return -ENOMEM;
	statement_add(s, "false");
	column_condition(s, typed, tag);
	err = field_condition(s, tag, pool);
	if (err)
		return err;
	if (tag->type != VALUE_STRING) {
		err = bare_add(s, pair, bytes, pool);
	} else {
		statement_add(s, TAG_FOUND);
		statement_bind_text(s, pair, bytes);
		statement_bind_text(s, pair, bytes);
		if (is_bare_value(tag->string)) {
			size_t value = strlen(tag->string), key = bytes - value - 2;
			char *bare = pool_alloc(pool, key + value, 1);

			if (!bare)
				return -ENOMEM;
			memcpy(bare, pair, key);
			memcpy(bare + key, tag->string, value);
			err = bare_add(s, bare, key + value, pool);
		}
	}
	return err;
}

int mark_condition(struct statement *s, const struct typed *typed, const char *mark,
		   struct pool *pool)
{
	int text = typed_find(typed, mark, true), number = typed_find(typed, mark, false);
	const struct attribute key = {.key = mark, .type = VALUE_STRING, .string = ""};
	const struct attribute name = {.key = "name", .type = VALUE_STRING, .string = mark};
	size_t key_bytes, name_bytes;
	const char *key_text = pair_text(&key, pool, &key_bytes);
	const char *name_text = pair_text(&name, pool, &name_bytes);

	if (!key_text || !name_text)
		return -ENOMEM;
	statement_add(s, "contains(attributes, ?) OR contains(rest, ?)");
	statement_bind_text(s, key_text, key_bytes - 2); /* without its value */
	statement_bind_text(s, name_text, name_bytes);
	if (text >= 0)
		column_add(s, text, " <> ''");
	if (number >= 0)
		column_add(s, number, " <> 0");
	return 0;
}

int remote_condition(struct statement *s, const struct typed *typed, const char *remote,
		     struct pool *pool)
{
	int place = typed_find(typed, "peer.service", true);
	const struct attribute tag = {
		.key = "peer.service", .type = VALUE_STRING, .string = remote};
	size_t bytes;
	const char *text = pair_text(&tag, pool, &bytes);

	if (!text)
		return -ENOMEM;
	statement_add(s, "contains(lower(attributes), lower(?))");
	statement_bind_text(s, text, bytes);
	if (place < 0)
		return 0;
	statement_add(s, " OR lower(");
	statement_add(s, typed_column(place));
	statement_add(s, ") = lower(?)");
	statement_bind_text(s, remote, strlen(remote));
	return 0;
}
