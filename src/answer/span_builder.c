/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/span_stack.h"
#include "model/event_format.h"

void making_reset(struct making *m)
{
	for (size_t i = 0; i < m->attributes.count; i++)
		free(m->attributes.data[i]);
	for (size_t i = 0; i < m->texts.count; i++)
		free(m->texts.data[i]);
	free(m->events);
	frames_free((struct frame *)m->span.frames, m->span.frames_count);
	m->events = NULL;
	m->attributes.count = m->texts.count = m->current.count = 0;
	m->span = (struct span){.host = m->host};
}

static void formats_free(struct map *formats)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(formats, &at, &entry))
		event_format_free(entry.value);
	map_free(formats);
}

void making_free(struct making *m)
{
	making_reset(m);
	vec_free(&m->attributes);
	vec_free(&m->texts);
	vec_free(&m->current);
	formats_free(&m->formats);
	symbolizer_free(m->symbolizer);
}

const char *making_text(struct making *m, const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n >= 0 && vec_push(&m->texts, text) == 0)
		return text;
	if (n >= 0)
		free(text);
	m->failed = true;
	return "";
}

const char *making_copy(struct making *m, const char *of)
{
	char *text = strdup(of);

	if (text && vec_push(&m->texts, text) == 0)
		return text;
	free(text);
	m->failed = true;
	return "";
}

void making_string(struct making *m, const char *key, const char *value)
{
	if (vec_push(&m->current,
		     (struct attribute){.key = key, .string = value, .type = VALUE_STRING}))
		m->failed = true;
}

void making_integer(struct making *m, const char *key, s64 value)
{
	if (vec_push(&m->current,
		     (struct attribute){.key = key, .integer = value, .type = VALUE_INTEGER}))
		m->failed = true;
}

void making_boolean(struct making *m, const char *key, bool value)
{
	if (vec_push(&m->current,
		     (struct attribute){.key = key, .integer = value, .type = VALUE_BOOLEAN}))
		m->failed = true;
}

const struct attribute *making_take(struct making *m, size_t *count)
{
	struct attribute *array;

	*count = m->current.count;
	if (!m->current.count)
		return NULL;
	array = malloc(m->current.count * sizeof(*array));
	if (!array || vec_push(&m->attributes, array)) {
		free(array);
		m->failed = true;
		*count = 0;
		return NULL;
	}
	memcpy(array, m->current.data, m->current.count * sizeof(*array));
	m->current.count = 0;
	return array;
}

bool making_has(const struct making *m, const char *key)
{
	for (size_t i = 0; i < m->current.count; i++)
		if (strcmp(m->current.data[i].key, key) == 0)
			return true;
	return false;
}

/* In OpenTelemetry the last value of a key is valid. */
static void attribute_set(struct making *m, const struct attribute *view)
{
	for (size_t i = 0; i < m->current.count; i++) {
		if (strcmp(m->current.data[i].key, view->key) == 0) {
			m->current.data[i] = *view;
			return;
		}
	}
	if (vec_push(&m->current, *view))
		m->failed = true;
}

void making_given(struct making *m, const struct span_attribute *a)
{
	const char *key = making_text(m, "%.*s", (int)a->key_bytes, a->text);
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
		view.string = making_text(m, "%.*s", (int)(a->text_bytes - a->key_bytes),
					  a->text + a->key_bytes);
	}
	attribute_set(m, &view);
}
