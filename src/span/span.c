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

const char *level_name(int level)
{
	static const char *const names[] = {"emergency", "alert",  "critical", "error",
					    "warning",	 "notice", "info",     "debug"};

	return names[level < 0 ? 0 : level > 7 ? 7 : level];
}
