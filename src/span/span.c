/* SPDX-License-Identifier: Apache-2.0 */
#include "span/span.h"

#include <string.h>

const struct attribute *span_attribute_find(const struct span *span, const char *key)
{
	for (size_t i = 0; i < span->attributes_count; i++) {
		const char *has = span->attributes[i].key;

		if (*has == *key && strcmp(has, key) == 0) /* most keys differ in the first byte */
			return &span->attributes[i];
	}
	return NULL;
}

static const char digits[] = "0123456789abcdef";

void trace_id_format(char text[TRACE_ID_BYTES], const uint8_t id[16])
{
	static const uint8_t none[16];

	text[0] = '\0';
	if (memcmp(id, none, sizeof(none)) == 0)
		return;
	for (int i = 0; i < 16; i++) {
		text[2 * i] = digits[id[i] >> 4];
		text[2 * i + 1] = digits[id[i] & 15];
	}
	text[32] = '\0';
}

void span_id_format(char text[SPAN_ID_BYTES], uint64_t id)
{
	for (int i = 16; i-- > 0; id >>= 4)
		text[i] = digits[id & 15];
	text[16] = '\0';
}

const char *level_name(int level)
{
	static const char *const names[] = {"emergency", "alert",  "critical", "error",
					    "warning",	 "notice", "info",     "debug"};

	return names[level < 0 ? 0 : level > 7 ? 7 : level];
}
