/* SPDX-License-Identifier: Apache-2.0 */
#include "store/told.h"

#include <string.h>

#define PREFIX "fathom."
#define TIME "time."
#define UNIT "_ns"
#define STANDS_FOR_MAX 10000u

static void part_take(struct told *told, const char *name, int64_t ns)
{
	size_t bytes = strlen(name);

	if (bytes <= strlen(UNIT) || strcmp(name + bytes - strlen(UNIT), UNIT) != 0 || ns < 0)
		return;
	bytes -= strlen(UNIT);
	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		const char *part = split_part_name(i);

		if (strncmp(part, name, bytes) == 0 && !part[bytes]) {
			told->time.ns[i] = ns;
			told->measured = true;
			return;
		}
	}
}

static void kind_take(struct told *told, const char *kind)
{
	told->is_context = strcmp(kind, "context") == 0;
	told->kernel = !told->is_context;
}

struct told told_of(const struct received_span *span)
{
	struct told told = {0};

	for (size_t i = 0; i < span->attributes.count; i++) {
		const struct attribute *a = &span->attributes.data[i];
		const char *name = a->key + strlen(PREFIX);

		if (strncmp(a->key, PREFIX, strlen(PREFIX)) != 0)
			continue;
		if (a->type == VALUE_STRING && strcmp(name, "kind") == 0)
			kind_take(&told, a->string);
		told.is_counted |= strcmp(name, "counted_as") == 0;
		told.call_counted |= strcmp(name, "call_counted_as") == 0;
		if (a->type != VALUE_INTEGER)
			continue;
		if (strncmp(name, TIME, strlen(TIME)) == 0)
			part_take(&told, name + strlen(TIME), a->integer);
		else if (strcmp(name, "version") == 0 && a->integer > 0)
			told.version = (uint64_t)a->integer;
		else if (strcmp(name, "stands_for") == 0 && a->integer > 0)
			told.stands_for = a->integer < STANDS_FOR_MAX ? (uint32_t)a->integer
								      : STANDS_FOR_MAX;
	}
	return told;
}
