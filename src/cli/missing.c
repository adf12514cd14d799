/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/missing.h"

#include <stdio.h>
#include <string.h>

static bool has_name(const char *list, const char *name, size_t length)
{
	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == length && strncmp(list, name, n) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

void names_join(char *list, size_t size, const char *more)
{
	size_t end = strlen(list);

	while (*more) {
		size_t n = strcspn(more, ",");

		if (!has_name(list, more, n) && end + 1 + n < size)
			end += (size_t)snprintf(list + end, size - end, "%s%.*s", end ? "," : "",
						(int)n, more);
		more += n + (more[n] == ',');
	}
}

static bool has_stand_in(const struct capture_feature *features, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (features[i].on && features[i].instead_of &&
		    strcmp(features[i].instead_of, name) == 0)
			return true;
	return false;
}

void missing_list(const struct capture_feature *features, size_t count, char *list, size_t size)
{
	list[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const struct capture_feature *f = &features[i];

		if (f->tells && !f->on && !f->instead_of && !has_stand_in(features, count, f->name))
			names_join(list, size, f->name);
	}
}
