/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/span_stack.h"
#include "model/event_format.h"

void builder_reset(struct span_builder *b)
{
	for (size_t i = 0; i < b->attributes.count; i++)
		free(b->attributes.data[i]);
	for (size_t i = 0; i < b->texts.count; i++)
		free(b->texts.data[i]);
	free(b->events);
	stack_frames_free(&(struct stack_frames){(struct frame *)b->span.frames,
						 b->span.frames_count, false});
	b->events = NULL;
	b->attributes.count = b->texts.count = b->current.count = 0;
	b->span = (struct span){.host = b->host};
}

static void formats_free(struct map *formats)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(formats, &at, &entry))
		event_format_free(entry.value);
	map_free(formats);
}

void builder_free(struct span_builder *b)
{
	builder_reset(b);
	vec_free(&b->attributes);
	vec_free(&b->texts);
	vec_free(&b->current);
	formats_free(&b->formats);
	symbolizer_free(b->symbolizer);
}

const char *builder_text(struct span_builder *b, const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n >= 0 && vec_push(&b->texts, text) == 0)
		return text;
	if (n >= 0)
		free(text);
	b->failed = true;
	return "";
}

const char *builder_copy(struct span_builder *b, const char *of)
{
	char *text = strdup(of);

	if (text && vec_push(&b->texts, text) == 0)
		return text;
	free(text);
	b->failed = true;
	return "";
}

void builder_string(struct span_builder *b, const char *key, const char *value)
{
	if (vec_push(&b->current,
		     (struct attribute){.key = key, .string = value, .type = VALUE_STRING}))
		b->failed = true;
}

void builder_integer(struct span_builder *b, const char *key, s64 value)
{
	if (vec_push(&b->current,
		     (struct attribute){.key = key, .integer = value, .type = VALUE_INTEGER}))
		b->failed = true;
}

void builder_boolean(struct span_builder *b, const char *key, bool value)
{
	if (vec_push(&b->current,
		     (struct attribute){.key = key, .integer = value, .type = VALUE_BOOLEAN}))
		b->failed = true;
}

void builder_real(struct span_builder *b, const char *key, double value)
{
	if (vec_push(&b->current,
		     (struct attribute){.key = key, .real = value, .type = VALUE_REAL}))
		b->failed = true;
}

const struct attribute *builder_take(struct span_builder *b, size_t *count)
{
	struct attribute *array;

	*count = b->current.count;
	if (!b->current.count)
		return NULL;
	array = malloc(b->current.count * sizeof(*array));
	if (!array || vec_push(&b->attributes, array)) {
		free(array);
		b->failed = true;
		*count = 0;
		return NULL;
	}
	memcpy(array, b->current.data, b->current.count * sizeof(*array));
	b->current.count = 0;
	return array;
}

bool builder_has(const struct span_builder *b, const char *key)
{
	for (size_t i = 0; i < b->current.count; i++)
		if (strcmp(b->current.data[i].key, key) == 0)
			return true;
	return false;
}

/* In OpenTelemetry the last value of a key is valid. */
static void attribute_set(struct span_builder *b, const struct attribute *view)
{
	for (size_t i = 0; i < b->current.count; i++) {
		if (strcmp(b->current.data[i].key, view->key) == 0) {
			b->current.data[i] = *view;
			return;
		}
	}
	if (vec_push(&b->current, *view))
		b->failed = true;
}

void builder_given(struct span_builder *b, const struct span_attribute *a)
{
	const char *key = builder_text(b, "%.*s", (int)a->key_bytes, a->text);
	struct attribute view = {.key = key, .integer = (s64)a->value};

	switch (a->type) {
	case ATTRIBUTE_integer:
		view.type = VALUE_INTEGER;
		break;
	case ATTRIBUTE_real:
		view.type = VALUE_REAL;
		memcpy(&view.real, &a->value, sizeof(view.real));
		break;
	case ATTRIBUTE_boolean:
		view.type = VALUE_BOOLEAN;
		break;
	default:
		view.type = VALUE_STRING;
		view.string = builder_text(b, "%.*s", (int)(a->text_bytes - a->key_bytes),
					   a->text + a->key_bytes);
	}
	attribute_set(b, &view);
}
