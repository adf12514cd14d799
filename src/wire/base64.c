/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/base64.h"

#include <stdint.h>

/* The value of a digit in either alphabet; -1: it is none. */
static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

bool base64_put(struct bytes *to, const char *text, size_t bytes)
{
	uint32_t bits = 0;
	size_t digits = bytes, count = 0;

	while (digits && bytes - digits < 2 && text[digits - 1] == '=')
		digits--;
	for (size_t at = 0; at < digits; at++) {
		int digit = digit_of(text[at]);

		if (text[at] == '\\' && at + 1 < bytes && text[at + 1] == '/')
			continue; /* "\/" stands for "/" */
		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		if (count % 4)
			bytes_put_u8(to, (uint8_t)(bits >> (6 - 2 * (count % 4))));
		count++;
	}
	return count % 4 != 1;
}
