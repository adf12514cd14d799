/* SPDX-License-Identifier: Apache-2.0 */
#include "model/event_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARATION_BYTES 256
#define PAYLOAD_MAX 65536

/* ---- the text ---- */

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* The name in a C declaration: "args" of "unsigned long args[6]". */
static bool name_take(struct event_field *field, char *declaration)
{
	char *bracket = strchr(declaration, '['), *end, *begin;

	/* "__data_loc char[] name" has its name after the brackets */
	if (bracket && !strchr(bracket, ' '))
		*bracket = '\0';
	end = declaration + strlen(declaration);
	while (end > declaration && end[-1] == ' ')
		end--;
	begin = end;
	while (begin > declaration && is_name_char(begin[-1]))
		begin--;
	if (begin == end || begin == declaration || (size_t)(end - begin) >= sizeof(field->name))
		return false;
	memcpy(field->name, begin, (size_t)(end - begin));
	field->name[end - begin] = '\0';
	*begin = '\0'; /* the rest is the type */
	return true;
}

static bool has_word(const char *type, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = type; (at = strstr(at, word)); at += len) {
		if ((at == type || !is_name_char(at[-1])) && !is_name_char(at[len]))
			return true;
	}
	return false;
}

/* The bytes of an element of an array, by the name of its type. */
static u8 item_size_of(const char *type)
{
	static const struct {
		const char *word;
		u8 size;
	} sizes[] = {{"char", 1},    {"u8", 1},	      {"__u8", 1},  {"s8", 1},
		     {"uint8_t", 1}, {"bool", 1},     {"short", 2}, {"u16", 2},
		     {"__u16", 2},   {"uint16_t", 2}, {"long", 8},  {"u64", 8},
		     {"__u64", 8},   {"uint64_t", 8}, {"s64", 8},   {"size_t", 8}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		if (has_word(type, sizes[i].word))
			return sizes[i].size;
	}
	return 4;
}

static bool is_integer_size(u32 size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* `array`: the declaration had brackets. */
static bool kind_take(struct event_field *field, const char *type, bool array)
{
	if (strncmp(type, "__data_loc", 10) == 0)
		field->dynamic = 1;
	else if (strncmp(type, "__rel_loc", 9) == 0)
		field->dynamic = 2;
	if (field->dynamic && field->size != 4)
		return false;
	if (array || field->dynamic) {
		field->item_size = strchr(type, '*') ? 8 : item_size_of(type);
		field->kind = has_word(type, "char") && !has_word(type, "unsigned")
				      ? EVENT_FIELD_TEXT
				      : EVENT_FIELD_ARRAY;
		return true;
	}
	if (is_integer_size(field->size)) {
		field->item_size = (u8)field->size;
		field->kind = strchr(type, '*') ? EVENT_FIELD_POINTER : EVENT_FIELD_INTEGER;
		return true;
	}
	field->item_size = 1; /* a struct: shown as bytes */
	field->kind = EVENT_FIELD_ARRAY;
	return true;
}

/* "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;" */
static bool line_take(struct event_field *field, const char *line)
{
	char declaration[DECLARATION_BYTES];
	unsigned int offset, size, is_signed = 0;
	bool array;

	if (sscanf(line, " field:%255[^;]; offset:%9u; size:%9u; signed:%1u;", declaration, &offset,
		   &size, &is_signed) < 3)
		return false;
	if (offset >= PAYLOAD_MAX || size > PAYLOAD_MAX || size == 0)
		return false;
	*field = (struct event_field){.offset = offset, .size = size, .is_signed = is_signed};
	array = strchr(declaration, '[');
	if (!name_take(field, declaration) || strncmp(field->name, "common_", 7) == 0)
		return false;
	return kind_take(field, declaration, array);
}

int event_format_parse(const char *text, size_t bytes, struct event_format **out)
{
	size_t name = strnlen(text, bytes);
	struct event_format *format;
	const char *at = text + name, *end = text + bytes;

	if (name == 0 || name == bytes)
		return -EINVAL;
	format = calloc(1, sizeof(*format));
	if (!format || !(format->name = strdup(text))) {
		free(format);
		return -ENOMEM;
	}
	while (++at < end && format->count < EVENT_FORMAT_FIELDS) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);
		char line[2 * DECLARATION_BYTES];

		if (len < sizeof(line)) {
			memcpy(line, at, len);
			line[len] = '\0';
			format->count += line_take(&format->fields[format->count], line);
		}
		at += len;
	}
	*out = format;
	return 0;
}

void event_format_free(struct event_format *format)
{
	if (!format)
		return;
	free(format->name);
	free(format);
}

/* ---- the payload ---- */

struct value {
	const unsigned char *at;
	size_t bytes;
};

static bool value_find(const struct event_field *field, const void *payload, size_t bytes,
		       struct value *value)
{
	u32 offset = field->offset, size = field->size, location;

	if (offset > bytes || size > bytes - offset)
		return false;
	if (field->dynamic) {
		memcpy(&location, (const char *)payload + offset, sizeof(location));
		offset = (location & 0xffff) + (field->dynamic == 2 ? offset + 4 : 0);
		size = location >> 16;
		if (offset > bytes || size > bytes - offset)
			return false;
	}
	*value = (struct value){(const unsigned char *)payload + offset, size};
	return true;
}

static u64 integer_load(const unsigned char *at, u8 size, bool is_signed)
{
	unsigned int unused = 64 - 8u * size;
	u64 n = 0;

	memcpy(&n, at, size);
	return is_signed ? (u64)((s64)(n << unused) >> unused) : n;
}

bool event_field_integer(const struct event_field *field, const void *payload, size_t bytes,
			 s64 *value)
{
	struct value v;
	u64 n;

	if (field->kind != EVENT_FIELD_INTEGER || !value_find(field, payload, bytes, &v))
		return false;
	n = integer_load(v.at, field->item_size, field->is_signed);
	if (!field->is_signed && n > INT64_MAX)
		return false;
	*value = (s64)n;
	return true;
}

static void integer_print(const struct event_field *field, const unsigned char *at, char *buffer,
			  size_t size)
{
	u64 n = integer_load(at, field->item_size, field->is_signed);

	if (field->kind == EVENT_FIELD_POINTER)
		snprintf(buffer, size, "0x%" PRIx64, (uint64_t)n);
	else if (field->is_signed)
		snprintf(buffer, size, "%" PRId64, (int64_t)n);
	else
		snprintf(buffer, size, "%" PRIu64, (uint64_t)n);
}

static void array_print(const struct event_field *field, const struct value *v, char *buffer,
			size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i + field->item_size <= v->bytes && used < size; i += field->item_size) {
		char item[32];
		int n;

		integer_print(field, v->at + i, item, sizeof(item));
		n = snprintf(buffer + used, size - used, "%s%s", i ? "," : "{", item);
		used += (size_t)n;
	}
	if (used < size)
		snprintf(buffer + used, size - used, "%s", used ? "}" : "{}");
}

bool event_field_print(const struct event_field *field, const void *payload, size_t bytes,
		       char *buffer, size_t size)
{
	struct value v;

	if (!value_find(field, payload, bytes, &v))
		return false;
	if (field->kind == EVENT_FIELD_TEXT) {
		size_t len = strnlen((const char *)v.at, v.bytes);

		snprintf(buffer, size, "%.*s", (int)len, (const char *)v.at);
	} else if (field->kind == EVENT_FIELD_ARRAY) {
		array_print(field, &v, buffer, size);
	} else {
		integer_print(field, v.at, buffer, size);
	}
	return true;
}
