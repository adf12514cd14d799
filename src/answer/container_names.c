/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/container_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_reader.h"

#define FILE_MOST 4194304u /* bytes: longer files are none of an engine */
#define DEPTH_MOST 64
#define NAME_MOST 256
#define ID_DIGITS 64

#define DOCKER "/var/lib/docker/containers"
#define TASKS "/run/containerd/io.containerd.runtime.v2.task"
#define PODMAN "/var/lib/containers/storage/overlay-containers/containers.json"

static char no_name[1];
#define NO_CONTAINER_NAME ((void *)no_name)

/* ---- files ---- */

/* The text of a regular file; NULL: it cannot be read, or is too long. The caller frees it. */
static char *file_text(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (uint64_t)st.st_size <= FILE_MOST && (text = malloc((size_t)st.st_size)))
		n = pread(fd, text, (size_t)st.st_size, 0);
	if (fd >= 0)
		close(fd);
	if (n <= 0) {
		free(text);
		return NULL;
	}
	*bytes = (size_t)n;
	return text;
}

/* Reads a string of up to NAME_MOST - 1 bytes; "" if it is longer, or none. */
static void name_read(struct json_reader *r, char name[NAME_MOST])
{
	struct json_text text;
	size_t length = 0;

	if (json_peek(r) != JSON_STRING) {
		json_skip(r);
	} else {
		json_string_read(r, &text);
		length = !r->wrong && text.bytes < NAME_MOST ? json_text_decode(text, name) : 0;
	}
	name[length] = '\0';
}

/* ---- what engines write ---- */

/* {"Name": "/web", ...} */
static void docker_read(struct json_reader *r, char name[NAME_MOST])
{
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (json_text_is(key, "Name"))
			name_read(r, name);
		else
			json_skip(r);
	}
	if (*name == '/')
		memmove(name, name + 1, strlen(name));
}

/* The annotations of a bundle: a name, or a name within a pod. */
static void annotations_read(struct json_reader *r, char name[NAME_MOST])
{
	char given[NAME_MOST] = "", pod[NAME_MOST] = "", in_pod[NAME_MOST] = "";
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (json_text_is(key, "nerdctl/name"))
			name_read(r, given);
		else if (json_text_is(key, "io.kubernetes.cri.sandbox-name"))
			name_read(r, pod);
		else if (json_text_is(key, "io.kubernetes.cri.container-name"))
			name_read(r, in_pod);
		else
			json_skip(r);
	}
	if (*given)
		snprintf(name, NAME_MOST, "%s", given);
	else if (*in_pod)
		snprintf(name, NAME_MOST, "%.120s%s%.120s", pod, *pod ? "/" : "", in_pod);
}

/* {"annotations": {...}, ...}, as the OCI wants it */
static void bundle_read(struct json_reader *r, char name[NAME_MOST])
{
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (json_text_is(key, "annotations") && json_peek(r) == JSON_OBJECT)
			annotations_read(r, name);
		else
			json_skip(r);
	}
}

static int name_put(struct container_names *names, const char *id, const char *name)
{
	char *copy = strdup(name);
	int err = copy ? vec_push(&names->texts, copy) : -ENOMEM;

	if (err)
		free(copy);
	return err ? err : bytes_map_put(&names->by_id, id, strlen(id), copy);
}

/* {"id": "...", "names": ["web"], ...} */
static void podman_read(struct json_reader *r, struct container_names *names)
{
	char id[NAME_MOST] = "", name[NAME_MOST] = "";
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (json_text_is(key, "id")) {
			name_read(r, id);
		} else if (json_text_is(key, "names") && json_peek(r) == JSON_ARRAY) {
			json_array_enter(r);
			while (json_item_next(r)) {
				if (*name)
					json_skip(r);
				else
					name_read(r, name);
			}
		} else {
			json_skip(r);
		}
	}
	/* without memory the container has its id */
	if (!r->wrong && *id && *name)
		(void)name_put(names, id, name);
}

/* ---- looking ---- */

typedef void (*reading)(struct json_reader *r, char name[NAME_MOST]);

/* The name that a file tells; false: it tells none. */
static bool file_tells(const char *path, reading read, char name[NAME_MOST])
{
	size_t bytes;
	char *text = file_text(path, &bytes);
	struct json_reader r;

	*name = '\0';
	if (!text)
		return false;
	json_reader_init(&r, text, bytes, DEPTH_MOST);
	if (json_peek(&r) == JSON_OBJECT)
		read(&r, name);
	free(text);
	return !r.wrong && *name;
}

static const char *root_of(const struct container_names *names)
{
	return names->root ? names->root : "";
}

/* Each folder of TASKS is a namespace of containerd. */
static bool tasks_tell(const struct container_names *names, const char *id, char name[NAME_MOST])
{
	char path[4096];
	const struct dirent *entry;
	bool told = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s" TASKS, root_of(names));
	dir = opendir(path);
	while (dir && !told && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s" TASKS "/%.255s/%s/config.json", root_of(names),
			 entry->d_name, id);
		told = file_tells(path, bundle_read, name);
	}
	if (dir)
		closedir(dir);
	return told;
}

static void podman_list(struct container_names *names)
{
	char path[4096], *text;
	struct json_reader r;
	size_t bytes;

	names->listed = true;
	snprintf(path, sizeof(path), "%s" PODMAN, root_of(names));
	text = file_text(path, &bytes);
	if (!text)
		return;
	json_reader_init(&r, text, bytes, DEPTH_MOST);
	if (json_peek(&r) == JSON_ARRAY) {
		json_array_enter(&r);
		while (json_item_next(&r)) {
			if (json_peek(&r) == JSON_OBJECT)
				podman_read(&r, names);
			else
				json_skip(&r);
		}
	}
	free(text);
}

const char *container_name(struct container_names *names, const char *id)
{
	char path[4096], name[NAME_MOST];
	const char *known;

	if (strlen(id) != ID_DIGITS || strspn(id, "0123456789abcdef") != ID_DIGITS)
		return NULL;
	if (!names->listed)
		podman_list(names);
	known = bytes_map_get(&names->by_id, id, ID_DIGITS);
	if (known)
		return known == NO_CONTAINER_NAME ? NULL : known;
	snprintf(path, sizeof(path), "%s" DOCKER "/%s/config.v2.json", root_of(names), id);
	if ((file_tells(path, docker_read, name) || tasks_tell(names, id, name)) &&
	    name_put(names, id, name) == 0)
		return bytes_map_get(&names->by_id, id, ID_DIGITS);
	(void)bytes_map_put(&names->by_id, id, ID_DIGITS, NO_CONTAINER_NAME);
	return NULL;
}

void container_names_free(struct container_names *names)
{
	for (size_t i = 0; i < names->texts.count; i++)
		free(names->texts.data[i]);
	vec_free(&names->texts);
	bytes_map_free(&names->by_id);
}
