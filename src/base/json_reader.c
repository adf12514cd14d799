/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define NUMBER_BYTES_MAX 512

void json_reader_init(struct json_reader *r, const void *data, size_t bytes, unsigned int depth_max)
{
	static const char nothing[1];
	const char *begin = bytes ? data : nothing;

	*r = (struct json_reader){
		.begin = begin, .at = begin, .end = begin + bytes, .depth_max = depth_max};
}

void json_fail(struct json_reader *r, const char *wrong)
{
	if (!r->wrong)
		r->wrong = wrong;
}

/* Passes over space. The next character; NUL at the end and after a failure. */
static char next(struct json_reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
		r->at++;
	return r->at < r->end && !r->wrong ? *r->at : '\0';
}

static bool take(struct json_reader *r, char c, const char *wrong)
{
	if (next(r) != c) {
		json_fail(r, wrong);
		return false;
	}
	r->at++;
	return true;
}

enum json_type json_peek(struct json_reader *r)
{
	char c = next(r);

	switch (c) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
	case 'f':
		return JSON_BOOLEAN;
	case 'n':
		return JSON_NULL;
	}
	return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_FAILED;
}

static void enter(struct json_reader *r, char c, const char *wrong)
{
	if (!take(r, c, wrong))
		return;
	if (++r->depth > r->depth_max)
		json_fail(r, "it is nested too deep");
	r->first = true;
}

/* False at the end of the object or array, which is passed. */
static bool more(struct json_reader *r, char close, const char *wrong)
{
	if (next(r) == close && !r->wrong) {
		r->at++;
		r->depth--;
		r->first = false;
		return false;
	}
	if (!r->first)
		take(r, ',', wrong);
	r->first = false;
	return !r->wrong;
}

void json_object_enter(struct json_reader *r)
{
	enter(r, '{', "an object belongs here");
}

void json_array_enter(struct json_reader *r)
{
	enter(r, '[', "an array belongs here");
}

bool json_item_next(struct json_reader *r)
{
	return more(r, ']', "',' or ']' belongs here");
}

bool json_key_next(struct json_reader *r, struct json_text *key)
{
	if (!more(r, '}', "',' or '}' belongs here"))
		return false;
	json_string_read(r, key);
	take(r, ':', "':' belongs here");
	return !r->wrong;
}

/* The number of the four hex digits at `at`; -1: they are none. */
static int hex4(const char *at, const char *end)
{
	int code = 0;

	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = at[i];
		int digit = c >= '0' && c <= '9'		 ? c - '0'
			    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
								 : -1;

		if (digit < 0)
			return -1;
		code = code << 4 | digit;
	}
	return code;
}

static void escape_check(struct json_reader *r)
{
	char c = r->end - r->at < 2 ? '\0' : r->at[1];

	if (c == 'u' && hex4(r->at + 2, r->end) >= 0)
		r->at += 6;
	else if (c && strchr("\"\\/bfnrt", c))
		r->at += 2;
	else
		json_fail(r, "a string has an escape that JSON has not");
}

/* Whether one of 8 bytes is below 0x20, or is '"' or '\\', or is not ASCII. */
static bool has_special(const char *at)
{
	const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
	uint64_t word, quote, slash;

	memcpy(&word, at, 8);
	quote = word ^ (ones * '"');
	slash = word ^ (ones * '\\');
	return ((word | (word - ones * 0x20) | (quote - ones) | (slash - ones)) & tops) != 0;
}

static void special_check(struct json_reader *r, struct json_text *text)
{
	unsigned char c = (unsigned char)*r->at;
	size_t n;

	if (c == '\\') {
		text->is_escaped = true;
		escape_check(r);
	} else if (c < 0x20) {
		json_fail(r, "a string has a control character");
	} else {
		n = utf8_length(r->at, (size_t)(r->end - r->at));
		if (!n)
			json_fail(r, "a string is no valid UTF-8");
		r->at += n;
	}
}

void json_string_read(struct json_reader *r, struct json_text *text)
{
	*text = (struct json_text){.data = ""};
	if (!take(r, '"', "a string belongs here"))
		return;
	text->data = r->at;
	while (!r->wrong) {
		while (r->end - r->at >= 8 && !has_special(r->at))
			r->at += 8;
		if (r->at == r->end)
			json_fail(r, "a string has no end");
		else if (*r->at == '"')
			break;
		else
			special_check(r, text);
	}
	text->bytes = (size_t)(r->at - text->data);
	if (r->wrong)
		*text = (struct json_text){.data = ""};
	else
		r->at++;
	r->first = false;
}

static size_t digits(struct json_reader *r)
{
	const char *begin = r->at;

	while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
		r->at++;
	return (size_t)(r->at - begin);
}

static bool take_now(struct json_reader *r, const char *any)
{
	if (r->at == r->end || !*r->at || !strchr(any, *r->at))
		return false;
	r->at++;
	return true;
}

/* At the first character of a number. False: it breaks the grammar. */
static bool number_pass(struct json_reader *r)
{
	bool is_zero;
	size_t count;

	take_now(r, "-");
	is_zero = r->at < r->end && *r->at == '0';
	count = digits(r);
	if (!count || (is_zero && count > 1))
		return false;
	if (take_now(r, ".") && !digits(r))
		return false;
	if (take_now(r, "eE")) {
		take_now(r, "+-");
		return digits(r) > 0;
	}
	return true;
}

void json_number_read(struct json_reader *r, struct json_text *text)
{
	*text = (struct json_text){.data = ""};
	if (json_peek(r) != JSON_NUMBER) {
		json_fail(r, "a number belongs here");
		return;
	}
	text->data = r->at;
	if (!number_pass(r))
		json_fail(r, "a number is malformed");
	text->bytes = (size_t)(r->at - text->data);
	r->first = false;
}

void json_scalar_read(struct json_reader *r, struct json_text *text)
{
	if (json_peek(r) == JSON_STRING)
		json_string_read(r, text);
	else
		json_number_read(r, text);
}

static bool word_take(struct json_reader *r, const char *word)
{
	size_t n = strlen(word);

	if (!next(r) || (size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	r->first = false;
	return true;
}

bool json_boolean_read(struct json_reader *r)
{
	if (word_take(r, "true"))
		return true;
	if (!word_take(r, "false"))
		json_fail(r, "true or false belongs here");
	return false;
}

bool json_null_read(struct json_reader *r)
{
	return word_take(r, "null");
}

void json_skip(struct json_reader *r)
{
	struct json_text text;

	switch (json_peek(r)) {
	case JSON_OBJECT:
		json_object_enter(r);
		while (json_key_next(r, &text))
			json_skip(r);
		break;
	case JSON_ARRAY:
		json_array_enter(r);
		while (json_item_next(r))
			json_skip(r);
		break;
	case JSON_STRING:
		json_string_read(r, &text);
		break;
	case JSON_NUMBER:
		json_number_read(r, &text);
		break;
	case JSON_BOOLEAN:
		json_boolean_read(r);
		break;
	default:
		if (!json_null_read(r))
			json_fail(r, "a value belongs here");
	}
}

int json_finish(struct json_reader *r)
{
	next(r);
	if (r->at < r->end)
		json_fail(r, "something follows the end");
	return r->wrong ? -EPROTO : 0;
}

bool json_text_is(struct json_text text, const char *name)
{
	return strlen(name) == text.bytes && memcmp(name, text.data, text.bytes) == 0;
}

static char *code_put(char *to, unsigned int code)
{
	if (code >= 0x10000) {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 63));
	} else if (code >= 0x800) {
		*to++ = (char)(0xe0 | code >> 12);
	} else if (code >= 0x80) {
		*to++ = (char)(0xc0 | code >> 6);
	} else {
		*to++ = (char)code;
		return to;
	}
	if (code >= 0x800)
		*to++ = (char)(0x80 | (code >> 6 & 63));
	*to++ = (char)(0x80 | (code & 63));
	return to;
}

/* At a backslash of a string that was checked. */
static const char *escape_decode(const char *at, const char *end, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	int code, low = -1;

	if (at[1] != 'u') {
		*(*to)++ = into[strchr(from, at[1]) - from];
		return at + 2;
	}
	code = hex4(at + 2, end);
	at += 6;
	if (code >= 0xd800 && code <= 0xdbff && end - at >= 6 && at[0] == '\\' && at[1] == 'u')
		low = hex4(at + 2, end);
	if (low >= 0xdc00 && low <= 0xdfff) {
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		at += 6;
	} else if (!code || (code >= 0xd800 && code <= 0xdfff)) {
		code = 0xfffd;
	}
	*to = code_put(*to, (unsigned int)code);
	return at;
}

size_t json_text_decode(struct json_text text, char *to)
{
	const char *at = text.data, *end = text.data + text.bytes;
	char *begin = to;

	if (!text.is_escaped) {
		memcpy(to, text.data, text.bytes);
		return text.bytes;
	}
	while (at < end) {
		if (*at == '\\')
			at = escape_decode(at, end, &to);
		else
			*to++ = *at++;
	}
	return (size_t)(to - begin);
}

/* The value of a text of digits alone. */
static bool digits_read(const char *at, size_t bytes, uint64_t *value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (at[i] < '0' || at[i] > '9' || __builtin_mul_overflow(sum, 10u, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(at[i] - '0'), &sum))
			return false;
	}
	*value = sum;
	return bytes > 0;
}

bool json_text_u64(struct json_text text, uint64_t *value)
{
	double real;

	if (digits_read(text.data, text.bytes, value))
		return true;
	if (!json_text_double(text, &real) || !(real >= 0) || real >= 0x1p64 ||
	    real != (double)(uint64_t)real)
		return false;
	/* digits alone that are no number of 64 bits */
	if (!memchr(text.data, '.', text.bytes) && !memchr(text.data, 'e', text.bytes) &&
	    !memchr(text.data, 'E', text.bytes) && real != 0)
		return false;
	*value = (uint64_t)real;
	return true;
}

bool json_text_s64(struct json_text text, int64_t *value)
{
	bool is_minus = text.bytes && *text.data == '-';
	struct json_text rest = text;
	uint64_t number;

	rest.data += is_minus;
	rest.bytes -= is_minus;
	if (!json_text_u64(rest, &number) || number > (uint64_t)INT64_MAX + is_minus)
		return false;
	*value = is_minus ? (int64_t)(0 - number) : (int64_t)number;
	return true;
}

bool json_text_double(struct json_text text, double *value)
{
	static const struct {
		const char *name;
		double value;
	} names[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
	struct json_reader r;
	char copy[NUMBER_BYTES_MAX + 1];

	for (size_t i = 0; i < 3; i++) {
		if (json_text_is(text, names[i].name)) {
			*value = names[i].value;
			return true;
		}
	}
	json_reader_init(&r, text.data, text.bytes, 0);
	if (text.bytes > NUMBER_BYTES_MAX || !number_pass(&r) || r.at != r.end)
		return false;
	memcpy(copy, text.data, text.bytes);
	copy[text.bytes] = '\0';
	*value = strtod(copy, NULL);
	return true;
}

uint64_t json_u64_read(struct json_reader *r, uint64_t most)
{
	struct json_text text;
	uint64_t value = 0;

	json_scalar_read(r, &text);
	if (!json_text_u64(text, &value) || value > most)
		json_fail(r, "a number is out of range, or not whole");
	return value;
}
