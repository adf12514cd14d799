/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_init(struct json *j, FILE *file)
{
	*j = (struct json){.file = file};
}

/* Length of the valid UTF-8 sequence at `s`, 0 if it is none. */
static size_t utf8_length(const unsigned char *s, size_t len)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* too long for what they say, surrogates, beyond the last code point */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void text_write(FILE *file, const char *text, size_t len)
{
	static const char escapes[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
				       ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
	const unsigned char *s = (const unsigned char *)text;

	putc('"', file);
	while (len > 0) {
		size_t n = utf8_length(s, len);

		if (n == 0) {
			fputs("\\ufffd", file);
			n = 1;
		} else if (s[0] < sizeof(escapes) && escapes[s[0]]) {
			putc('\\', file);
			putc(escapes[s[0]], file);
		} else if (s[0] < 0x20 || s[0] == 0x7f) {
			fprintf(file, "\\u%04x", s[0]);
		} else {
			fwrite(s, 1, n, file);
		}
		s += n;
		len -= n;
	}
	putc('"', file);
}

static void value_begin(struct json *j, const char *key)
{
	if (j->begun[j->depth])
		putc(',', j->file);
	j->begun[j->depth] = true;
	if (j->lines[j->depth])
		putc('\n', j->file);
	if (key) {
		text_write(j->file, key, strlen(key));
		putc(':', j->file);
	}
}

static void level_begin(struct json *j, const char *key, char bracket, bool lines)
{
	value_begin(j, key);
	putc(bracket, j->file);
	if (j->depth + 1 == JSON_DEPTH)
		abort(); /* the depth is fixed by the caller's code, not by data */
	j->depth++;
	j->begun[j->depth] = false;
	j->lines[j->depth] = lines;
}

static void level_end(struct json *j, char bracket)
{
	if (j->lines[j->depth] && j->begun[j->depth])
		putc('\n', j->file);
	putc(bracket, j->file);
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

void json_string_n(struct json *j, const char *key, const char *value, size_t len)
{
	value_begin(j, key);
	text_write(j->file, value, len);
}

void json_string(struct json *j, const char *key, const char *value)
{
	json_string_n(j, key, value, strlen(value));
}

void json_s64(struct json *j, const char *key, int64_t value)
{
	value_begin(j, key);
	fprintf(j->file, "%" PRId64, value);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	value_begin(j, key);
	fprintf(j->file, "%" PRIu64, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	value_begin(j, key);
	fputs(value ? "true" : "false", j->file);
}

void json_double(struct json *j, const char *key, double value)
{
	char text[40];

	value_begin(j, key);
	if (!isfinite(value)) {
		fputs("null", j->file);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, j->file);
	/* a double stays one for readers that tell 1 from 1.0 */
	if (!strpbrk(text, ".e"))
		fputs(".0", j->file);
}

void json_end(struct json *j)
{
	putc('\n', j->file);
}
