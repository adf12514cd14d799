/* SPDX-License-Identifier: Apache-2.0 */
#include "base/names.h"

#include <stdbool.h>
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
