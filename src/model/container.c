/* SPDX-License-Identifier: Apache-2.0 */
#include "model/container.h"

#include <string.h>

#define DIGITS (CONTAINER_ID_BYTES - 1)

/* The begin of the id in a component of a path; NULL: there is none. */
static const char *id_in(const char *name, size_t bytes)
{
	static const char scope[] = ".scope", watcher[] = "conmon";
	const char *id;

	if (bytes > sizeof(scope) - 1 &&
	    memcmp(name + bytes - (sizeof(scope) - 1), scope, sizeof(scope) - 1) == 0)
		bytes -= sizeof(scope) - 1;
	if (bytes < DIGITS || memmem(name, bytes, watcher, sizeof(watcher) - 1))
		return NULL;
	id = name + bytes - DIGITS;
	if (id > name && id[-1] != '-' && id[-1] != ':')
		return NULL;
	for (int i = 0; i < DIGITS; i++)
		if (!(id[i] >= '0' && id[i] <= '9') && !(id[i] >= 'a' && id[i] <= 'f'))
			return NULL;
	return id;
}

bool container_id_find(const char *path, size_t bytes, char id[CONTAINER_ID_BYTES])
{
	while (bytes > 0) {
		const char *slash = memrchr(path, '/', bytes);
		const char *name = slash ? slash + 1 : path;
		const char *found = id_in(name, bytes - (size_t)(name - path));

		if (found) {
			memcpy(id, found, DIGITS);
			id[DIGITS] = '\0';
			return true;
		}
		bytes = slash ? (size_t)(slash - path) : 0;
	}
	return false;
}
