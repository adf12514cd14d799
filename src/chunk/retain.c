/* SPDX-License-Identifier: Apache-2.0 */
/* Old chunks go, by age and by size. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "chunk/directory.h"
#include "chunk/reader.h"

static int chunk_info_read(const char *dir, const char *name, struct chunk_info *info)
{
	char path[4096 + CHUNK_NAME_BYTES];
	struct chunk_reader *r;
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	err = chunk_reader_open(&r, path, NULL);
	if (err)
		return err;
	*info = *chunk_reader_info(r);
	chunk_reader_close(r);
	return 0;
}

static bool must_go(const struct recording_keep *keep, const struct chunk_name *name, uint64_t sum,
		    uint64_t now_unix_ns)
{
	if (keep->bytes && sum > keep->bytes)
		return true;
	return keep->age_ns && name->end_unix_ns < now_unix_ns &&
	       now_unix_ns - name->end_unix_ns > keep->age_ns;
}

/* One chunk: a name that is not read any more goes before its files do. */
static int remove_chunk(const char *dir, const struct chunk_name *name, struct error *e)
{
	char from[4096 + CHUNK_NAME_BYTES], to[4096 + CHUNK_NAME_BYTES + 8];

	snprintf(from, sizeof(from), "%s/%s", dir, name->name);
	snprintf(to, sizeof(to), "%s/.gone-%s", dir, name->name);
	if (rename(from, to) < 0)
		return error_set(e, errno, "cannot remove %s", from);
	return chunk_directory_remove(to, e);
}

/* What was asked for. */
struct retention {
	const char *dir;
	const struct recording_keep *keep;
	uint64_t now_unix_ns;
	int (*before)(void *arg, const struct chunk_info *info);
	void *arg;
};

/* Bytes of each sealed chunk (0: open, or unreadable), and their sum. */
static uint64_t measure_all(const char *dir, const struct chunk_names *names, uint64_t *bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < names->count; i++) {
		struct chunk_info info;

		if (names->names[i].open || chunk_info_read(dir, names->names[i].name, &info))
			continue;
		bytes[i] = info.bytes;
		sum += info.bytes;
	}
	return sum;
}

static int retire(const struct retention *what, const struct chunk_name *name, struct error *e)
{
	struct chunk_info info;
	int err = chunk_info_read(what->dir, name->name, &info);

	if (err)
		return error_set(e, err, "cannot read %s/%s", what->dir, name->name);
	if (what->before)
		err = what->before(what->arg, &info);
	return err ? err : remove_chunk(what->dir, name, e);
}

/* `bytes` are those of each of `names`. */
static int retain_names(const struct retention *what, const struct chunk_names *names,
			const uint64_t *bytes, uint64_t sum, struct error *e)
{
	size_t last = names->count;
	int gone = 0;

	while (last > 0 && bytes[last - 1] == 0)
		last--;
	for (size_t i = 0; i + 1 < last; i++) {
		int err;

		if (bytes[i] == 0)
			continue;
		if (!must_go(what->keep, &names->names[i], sum, what->now_unix_ns))
			break;
		err = retire(what, &names->names[i], e);
		if (err)
			return err;
		sum -= bytes[i];
		gone++;
	}
	return gone;
}

int recording_retain(const char *dir, const struct recording_keep *keep, uint64_t now_unix_ns,
		     int (*before)(void *arg, const struct chunk_info *info), void *arg,
		     struct error *e)
{
	const struct retention what = {dir, keep, now_unix_ns, before, arg};
	struct chunk_names names;
	uint64_t *bytes, sum;
	int err = chunk_names_list(dir, &names, e);

	if (err)
		return err;
	bytes = calloc(names.count + 1, sizeof(*bytes));
	if (!bytes) {
		chunk_names_free(&names);
		return error_set(e, ENOMEM, "cannot look through %s", dir);
	}
	sum = measure_all(dir, &names, bytes);
	err = retain_names(&what, &names, bytes, sum, e);
	free(bytes);
	chunk_names_free(&names);
	return err;
}
