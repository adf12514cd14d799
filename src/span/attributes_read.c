/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "span/attributes.h"

struct reading {
	const char *at, *end;
	struct pool *pool;
	int depth;
};

/* A value while the number of its neighbours is not known. */
struct node {
	struct attribute value;
	struct node *next;
};

static int value_read(struct reading *r, struct attribute *a);

static void space_skip(struct reading *r)
{
	while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
		r->at++;
}

/* Takes a character, if it is the next one behind spaces. */
static bool take(struct reading *r, char c)
{
	space_skip(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static int hex_read(struct reading *r, uint32_t *code)
{
	*code = 0;
	if (r->end - r->at < 4)
		return -EINVAL;
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit = *r->at ? strchr(digits, *r->at) : NULL;

		if (!digit)
			return -EINVAL;
		*code = *code << 4 | ((uint32_t)(digit - digits) & 15);
		r->at++;
	}
	return 0;
}

static char *code_put(char *to, uint32_t code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 63));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 63));
		*to++ = (char)(0x80 | (code & 63));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 63));
		*to++ = (char)(0x80 | (code >> 6 & 63));
		*to++ = (char)(0x80 | (code & 63));
	}
	return to;
}

/* Behind "\u": a code point, which may be a pair of surrogates. */
static int escaped_code_read(struct reading *r, uint32_t *code)
{
	uint32_t low;
	int err = hex_read(r, code);

	if (err || *code < 0xd800 || *code > 0xdfff)
		return err;
	if (*code > 0xdbff || r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u') {
		*code = 0xfffd;
		return 0;
	}
	r->at += 2;
	err = hex_read(r, &low);
	*code = low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00)
					       : 0xfffd;
	return err;
}

static int escape_read(struct reading *r, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *found;
	uint32_t code;
	int err;

	if (r->at == r->end)
		return -EINVAL;
	if (*r->at == 'u') {
		r->at++;
		err = escaped_code_read(r, &code);
		if (!err)
			*to = code_put(*to, code);
		return err;
	}
	found = *r->at ? strchr(from, *r->at) : NULL;
	if (!found)
		return -EINVAL;
	r->at++;
	*(*to)++ = into[found - from];
	return 0;
}

/* The opening quote was taken. `marked`: the text begins with NUL, which is left out. */
static int string_read(struct reading *r, const char **text, bool *marked)
{
	const char *close = r->at;
	char *raw, *at, *clean;

	while (close < r->end && *close != '"')
		close += *close == '\\' && close + 1 < r->end ? 2 : 1;
	if (close >= r->end)
		return -EINVAL;
	/* an escape is never shorter than what it stands for */
	raw = at = pool_alloc(r->pool, (size_t)(close - r->at) + 1, 1);
	if (!raw)
		return -ENOMEM;
	while (r->at < close) {
		if (*r->at != '\\') {
			*at++ = *r->at++;
			continue;
		}
		r->at++;
		if (escape_read(r, &at))
			return -EINVAL;
	}
	r->at = close + 1;
	*marked = at > raw && !*raw;
	raw += *marked;
	*text = raw;				    /* the pool's zero ends it */
	if (utf8_is_clean(raw, (size_t)(at - raw))) /* as attributes_write_exact() wrote it */
		return 0;
	clean = pool_alloc(r->pool, 3 * (size_t)(at - raw) + 1, 1);
	if (!clean)
		return -ENOMEM;
	utf8_clean(clean, raw, (size_t)(at - raw));
	*text = clean;
	return 0;
}

static int number_read(struct reading *r, struct attribute *a)
{
	char text[64], *end;
	size_t n = 0;

	while (r->at + n < r->end && r->at[n] && strchr("+-.0123456789eE", r->at[n]))
		n++;
	if (!n || n >= sizeof(text))
		return -EINVAL;
	memcpy(text, r->at, n);
	text[n] = '\0';
	r->at += n;
	errno = 0;
	a->type = VALUE_INTEGER;
	a->integer = strtoll(text, &end, 10);
	if (!*end && !errno)
		return 0;
	a->integer = 0;
	a->type = VALUE_REAL;
	a->real = strtod(text, &end);
	return *end ? -EINVAL : 0;
}

static int word_read(struct reading *r, struct attribute *a)
{
	static const struct {
		const char *word;
		enum value_type type;
		int64_t integer;
	} words[] = {
		{"true", VALUE_BOOLEAN, 1}, {"false", VALUE_BOOLEAN, 0}, {"null", VALUE_NONE, 0}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i].word);

		if ((size_t)(r->end - r->at) < n || memcmp(r->at, words[i].word, n) != 0)
			continue;
		r->at += n;
		a->type = words[i].type;
		a->integer = words[i].integer;
		return 0;
	}
	return number_read(r, a);
}

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

static int bytes_read(struct reading *r, const char *text, struct attribute *a)
{
	char *bytes = pool_alloc(r->pool, strlen(text) + 1, 1);
	uint32_t word = 0;
	int bits = 0;

	if (!bytes)
		return -ENOMEM;
	a->type = VALUE_BYTES;
	a->string = bytes;
	a->count = 0;
	for (; *text && *text != '='; text++) {
		int digit = base64_digit(*text);

		if (digit < 0)
			return -EINVAL;
		word = word << 6 | (uint32_t)digit;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		bytes[a->count++] = (char)(word >> bits);
	}
	return 0;
}

/* What an object with a marked key stands for. */
static int marked_read(struct reading *r, const struct attribute *inner, struct attribute *a)
{
	if (inner->type != VALUE_STRING)
		return -EINVAL;
	a->items = NULL;
	a->count = 0;
	if (strcmp(inner->key, "bytes") == 0)
		return bytes_read(r, inner->string, a);
	if (strcmp(inner->key, "real") != 0)
		return -EINVAL;
	a->type = VALUE_REAL;
	a->real = strtod(inner->string, NULL);
	return 0;
}

/* Copies the list of nodes to an array of the value. */
static int items_set(struct reading *r, struct node *first, size_t count, struct attribute *a)
{
	struct attribute *items = pool_alloc(r->pool, count, sizeof(*items));

	if (!items)
		return -ENOMEM;
	a->items = items;
	a->count = count;
	for (; first; first = first->next)
		*items++ = first->value;
	return 0;
}

static int key_read(struct reading *r, struct attribute *a, bool *marked)
{
	int err = take(r, '"') ? string_read(r, &a->key, marked) : -EINVAL;

	return !err && !take(r, ':') ? -EINVAL : err;
}

/* The opening bracket was taken. */
static int items_read(struct reading *r, char close, struct attribute *a)
{
	struct node *first = NULL, **last = &first;
	bool marked = false;
	size_t count = 0;
	int err = 0;

	for (; !err && !take(r, close); count++) {
		struct node *node = pool_alloc(r->pool, 1, sizeof(*node));

		if (count && !take(r, ','))
			return -EINVAL;
		if (!node)
			return -ENOMEM;
		if (close == '}')
			err = key_read(r, &node->value, &marked);
		err = err ? err : value_read(r, &node->value);
		*last = node;
		last = &node->next;
	}
	if (!err && marked && count == 1)
		return marked_read(r, &first->value, a);
	return err ? err : items_set(r, first, count, a);
}

static int value_read(struct reading *r, struct attribute *a)
{
	bool marked;
	int err;

	if (r->depth == ATTRIBUTES_DEPTH)
		return -EINVAL;
	if (take(r, '"')) {
		a->type = VALUE_STRING;
		return string_read(r, &a->string, &marked);
	}
	r->depth++;
	if (take(r, '[')) {
		a->type = VALUE_ARRAY;
		err = items_read(r, ']', a);
	} else if (take(r, '{')) {
		a->type = VALUE_MAP;
		err = items_read(r, '}', a);
	} else {
		err = word_read(r, a);
	}
	r->depth--;
	return err;
}

int attributes_read(const char *text, size_t bytes, struct pool *pool,
		    const struct attribute **attributes, size_t *count)
{
	struct reading r = {text, text + bytes, pool, 0};
	struct attribute all = {0};
	int err = value_read(&r, &all);

	space_skip(&r);
	if (err || all.type != VALUE_MAP || r.at != r.end)
		return err ? err : -EINVAL;
	*attributes = all.items;
	*count = all.count;
	return 0;
}
