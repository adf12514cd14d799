/* SPDX-License-Identifier: Apache-2.0 */
#include "up/chunk_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "chunk/directory.h"
#include "up/pins.h"

#define CHUNKS "chunks"

static void paths_drop(chunk_path_list *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->data[i]);
	paths->count = 0;
}

/* Collects the chunks of a recording in the directory that have something of the time. */
static int recording_look(const struct chunk_paths_query *q, const char *name, chunk_path_list *out)
{
	int fd = openat(q->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct recording_hold hold = {.dir = fd, .lock = -1};
	struct chunk_names names = {0};
	bool has_own = false;
	int err = fd < 0 ? -errno : chunk_names_list(name, &hold, &names, NULL);

	for (size_t i = 0; i < names.count && !err; i++) {
		const struct chunk_name *c = &names.names[i];
		char *path;

		if (c->open || c->begin_unix_ns >= q->to_ns ||
		    c->end_unix_ns + q->before_ns <= q->from_ns)
			continue;
		has_own |= c->end_unix_ns > q->from_ns;
		if (asprintf(&path, "%s/%s/%s", q->path, name, c->name) < 0)
			err = -ENOMEM;
		else if (vec_push(out, path))
			err = -ENOMEM;
	}
	chunk_names_free(&names);
	if (fd >= 0)
		close(fd);
	if (!has_own)
		paths_drop(out);
	return err == -ENOMEM ? err : 0;
}

int chunk_paths_find(const struct chunk_paths_query *q, chunk_path_list *out, struct error *e)
{
	char name[sizeof(PINS_DIR) + PIN_NAME_BYTES + 1];
	pin_list pins = {0};
	int err = recording_look(q, CHUNKS, out);

	if (!err && !out->count)
		err = pins_list(q->dir, &pins);
	for (size_t i = 0; i < pins.count && !err && !out->count; i++) {
		snprintf(name, sizeof(name), PINS_DIR "/%s", pins.data[i].name);
		err = recording_look(q, name, out);
	}
	vec_free(&pins);
	if (err)
		return error_set(e, err, "cannot read chunks");
	if (!out->count)
		return error_say(e, ENOENT, "no chunk is left of that time");
	return out->count > q->most
		       ? error_say(e, E2BIG, "that time has more than %zu chunks", q->most)
		       : 0;
}

void chunk_paths_free(chunk_path_list *paths)
{
	paths_drop(paths);
	vec_free(paths);
}
