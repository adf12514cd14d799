/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

size_t utf8_length(const void *text, size_t bytes)
{
	const unsigned char *s = text;
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4 || n > bytes)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* overlong sequences, surrogates, values beyond the last code point */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static size_t good_run(const char *text, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		size_t n = text[at] ? utf8_length(text + at, bytes - at) : 0;

		if (!n)
			break;
		at += n;
	}
	return at;
}

bool utf8_is_clean(const char *text, size_t bytes)
{
	return good_run(text, bytes) == bytes;
}

size_t utf8_clean(char *to, const char *text, size_t bytes)
{
	char *at = to;

	while (bytes) {
		size_t good = good_run(text, bytes);

		memcpy(at, text, good);
		at += good;
		if (good < bytes) {
			memcpy(at, "\xef\xbf\xbd", 3);
			at += 3;
			good++;
		}
		text += good;
		bytes -= good;
	}
	*at = '\0';
	return (size_t)(at - to);
}
