/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void json_init(struct json *j, const struct json_sink *sink)
{
	j->sink = *sink;
	j->err = 0;
	j->depth = 0;
	j->begun[0] = j->lines[0] = false;
	j->buffered = 0;
}

static void sink_write(struct json *j, const char *data, size_t bytes)
{
	if (!j->err && bytes)
		j->err = j->sink.write(j->sink.arg, data, bytes);
}

static void buffer_flush(struct json *j)
{
	sink_write(j, j->buffer, j->buffered);
	j->buffered = 0;
}

static void put(struct json *j, const char *data, size_t bytes)
{
	if (bytes > sizeof(j->buffer) - j->buffered)
		buffer_flush(j);
	if (bytes > sizeof(j->buffer)) {
		sink_write(j, data, bytes);
		return;
	}
	memcpy(j->buffer + j->buffered, data, bytes);
	j->buffered += bytes;
}

static void put_char(struct json *j, char c)
{
	if (j->buffered == sizeof(j->buffer))
		buffer_flush(j);
	j->buffer[j->buffered++] = c;
}

static void put_text(struct json *j, const char *text)
{
	put(j, text, strlen(text));
}

/* How a byte is escaped inside a string; 0: not at all, 'u': \\uXXXX. */
static char escape_of(unsigned char byte)
{
	switch (byte) {
	case '\b':
		return 'b';
	case '\t':
		return 't';
	case '\n':
		return 'n';
	case '\f':
		return 'f';
	case '\r':
		return 'r';
	case '"':
	case '\\':
		return (char)byte;
	default:
		return byte < 0x20 || byte == 0x7f ? 'u' : 0;
	}
}

static bool stays(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static void escape_write(struct json *j, char escape, unsigned char byte)
{
	static const char digits[] = "0123456789abcdef";

	put_char(j, '\\');
	put_char(j, escape);
	if (escape != 'u')
		return;
	put_text(j, "00");
	put_char(j, digits[byte >> 4]);
	put_char(j, digits[byte & 15]);
}

/* Most bytes need no escape: runs of them are written at once. */
static void text_write(struct json *j, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len, *run = s;

	put_char(j, '"');
	for (;;) {
		size_t n;
		char escape;

		while (s < end && stays(*s))
			s++;
		if (s == end)
			break;
		n = utf8_length(s, (size_t)(end - s));
		escape = n == 1 ? escape_of(*s) : 0;

		if (n > 0 && !escape) {
			s += n;
			continue;
		}
		put(j, (const char *)run, (size_t)(s - run));
		if (n == 0)
			put_text(j, "\\ufffd");
		else
			escape_write(j, escape, *s);
		run = ++s;
	}
	put(j, (const char *)run, (size_t)(s - run));
	put_char(j, '"');
}

static void digits_write(struct json *j, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	put(j, digits + at, sizeof(digits) - at);
}

static void value_begin(struct json *j, const char *key)
{
	if (j->begun[j->depth])
		put_char(j, ',');
	j->begun[j->depth] = true;
	if (j->lines[j->depth])
		put_char(j, '\n');
	if (key) {
		text_write(j, key, strlen(key));
		put_char(j, ':');
	}
}

void json_null(struct json *j, const char *key)
{
	value_begin(j, key);
	put_text(j, "null");
}

void json_marked(struct json *j, const char *mark, const char *value)
{
	value_begin(j, NULL);
	put_text(j, "\"\\u0000");
	put_text(j, mark);
	put_text(j, "\":");
	text_write(j, value, strlen(value));
}

static void level_begin(struct json *j, const char *key, char bracket, bool lines)
{
	value_begin(j, key);
	put_char(j, bracket);
	if (j->depth + 1 == JSON_DEPTH)
		abort(); /* the caller's code bounds the depth, not its data */
	j->depth++;
	j->begun[j->depth] = false;
	j->lines[j->depth] = lines;
}

static void level_end(struct json *j, char bracket)
{
	if (j->lines[j->depth] && j->begun[j->depth])
		put_char(j, '\n');
	put_char(j, bracket);
	j->depth--;
}

void json_object_begin(struct json *j, const char *key)
{
	level_begin(j, key, '{', false);
}

void json_object_end(struct json *j)
{
	level_end(j, '}');
}

void json_array_begin(struct json *j, const char *key)
{
	level_begin(j, key, '[', false);
}

void json_array_begin_lines(struct json *j, const char *key)
{
	level_begin(j, key, '[', true);
}

void json_array_end(struct json *j)
{
	level_end(j, ']');
}

void json_string(struct json *j, const char *key, const char *value)
{
	value_begin(j, key);
	text_write(j, value, strlen(value));
}

void json_s64(struct json *j, const char *key, int64_t value)
{
	value_begin(j, key);
	if (value < 0)
		put_char(j, '-');
	digits_write(j, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	value_begin(j, key);
	digits_write(j, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	value_begin(j, key);
	put_text(j, value ? "true" : "false");
}

void json_double(struct json *j, const char *key, double value)
{
	char text[40];

	value_begin(j, key);
	if (!isfinite(value)) {
		put_text(j, "null");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	put_text(j, text);
	/* some readers distinguish 1 from 1.0 */
	if (!strpbrk(text, ".e"))
		put_text(j, ".0");
}

int json_end(struct json *j)
{
	put_char(j, '\n');
	buffer_flush(j);
	j->begun[0] = false; /* another document may follow */
	return j->err;
}
