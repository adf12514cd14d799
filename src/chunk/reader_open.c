/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a chunk: reads its manifest, or finds the facts without it, and opens its streams. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "chunk/directory.h"
#include "chunk/file.h"
#include "chunk/reader.h"

#define METADATA_MAX ((size_t)1 << 20)
#define CPUS_KEY "\n\tcpus = \""
#define FILTERS_KEY "\n\tfilters = "

void chunk_reader_set_damage(struct chunk_reader *r, const char *name, const char *why)
{
	if (r->damage[0])
		return;
	snprintf(r->damage, sizeof(r->damage), "%.3000s is damaged: %s%s%s", r->info.path,
		 name ? name : "", name ? ": " : "", why);
}

/* The order of streams: app-*, cpu0 .. cpuN, late, life; each by number. */
static int compare_streams(const void *a, const void *b)
{
	const struct reader_stream *x = a, *y = b;
	int kind = strncmp(x->stream.name, y->stream.name, 3);
	unsigned long long nx = 0, ny = 0;

	if (kind)
		return kind;
	nx = strtoull(x->stream.name + strcspn(x->stream.name, "0123456789"), NULL, 10);
	ny = strtoull(y->stream.name + strcspn(y->stream.name, "0123456789"), NULL, 10);
	if (nx != ny)
		return nx < ny ? -1 : 1;
	return strcmp(x->stream.name, y->stream.name);
}

/* Makes room for one more stream; *stream is NULL if there are too many. */
static int stream_begin(struct chunk_reader *r, struct reader_stream **stream)
{
	*stream = NULL;
	if (r->count == CHUNK_STREAMS_MAX) {
		chunk_reader_set_damage(r, NULL, "too many streams");
		r->info.lost.damaged++;
		return 0;
	}
	if (r->count == r->capacity) {
		size_t capacity = r->capacity ? 2 * r->capacity : 8;
		struct reader_stream *streams = realloc(r->streams, capacity * sizeof(*streams));

		if (!streams)
			return -ENOMEM;
		r->streams = streams;
		r->capacity = capacity;
	}
	*stream = &r->streams[r->count];
	return 0;
}

static int stream_add(struct chunk_reader *r, struct reader_stream *s, const char *name, bool open)
{
	int err = stream_init(&s->stream, r->dir, name, r->has_manifest ? r->info.identity : NULL,
			      open);

	s->stream.budget = &r->budget;
	if (!err)
		r->count++;
	return err;
}

/* Adds a stream whose file is there. */
static int add_found(struct chunk_reader *r, const char *name)
{
	struct reader_stream *s;
	int err = stream_begin(r, &s);

	if (err || !s)
		return err;
	*s = (struct reader_stream){0};
	return stream_add(r, s, name, r->info.state == CHUNK_OPEN);
}

/* Adds a stream of the manifest, whose file has this name. */
static int add_listed(struct chunk_reader *r, const char *name, const struct manifest_file *file)
{
	struct reader_stream *s;
	int err = stream_begin(r, &s);

	if (err || !s)
		return err;
	*s = (struct reader_stream){.has_expected = true,
				    .expected = file->records,
				    .bytes = file->bytes,
				    .crc = file->crc,
				    .has_bytes = strcmp(name, file->name) == 0};
	err = stream_add(r, s, name, false);
	if (!err && s->has_bytes)
		s->stream.file_bytes = s->bytes;
	return err;
}

/* Without a manifest, adds the files that are there. A file and its compressed form are one. */
static int scan_streams(struct chunk_reader *r)
{
	int fd = dup(r->dir), err = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!d) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	rewinddir(d);
	while (!err && (entry = readdir(d))) {
		char plain[sizeof(entry->d_name)];

		if (!chunk_file_is_stream(entry->d_name))
			continue;
		strcpy(plain, entry->d_name);
		if (chunk_file_is_compressed(plain)) {
			plain[strlen(plain) - 4] = '\0';
			if (fstatat(r->dir, plain, &st, AT_SYMLINK_NOFOLLOW) == 0)
				continue;
		}
		if (fstatat(r->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			r->info.bytes += (uint64_t)st.st_size;
		err = add_found(r, entry->d_name);
	}
	closedir(d);
	return err;
}

/* The records do not need the metadata, but other viewers do. */
static void check_metadata(struct chunk_reader *r, const struct manifest_file *file)
{
	void *text;
	size_t len;

	if (file_read_all(r->dir, METADATA_NAME, METADATA_MAX, &text, &len)) {
		chunk_reader_set_damage(r, METADATA_NAME, "it is missing");
		return;
	}
	if (len != file->bytes || crc32c(0, text, len) != file->crc)
		chunk_reader_set_damage(r, METADATA_NAME, "its checksum is wrong");
	free(text);
}

static bool is_there(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * A user may have decompressed a stream for another viewer, which reads no compressed streams, or
 * compressed one to save space.
 */
static const char *name_there(int dir, const char *listed, char twin[CHUNK_FILE_NAME_BYTES])
{
	size_t len = strlen(listed);

	if (is_there(dir, listed))
		return listed;
	if (chunk_file_is_compressed(listed))
		snprintf(twin, CHUNK_FILE_NAME_BYTES, "%.*s", (int)len - 4, listed);
	else if (len + 4 < CHUNK_FILE_NAME_BYTES)
		snprintf(twin, CHUNK_FILE_NAME_BYTES, "%s.zst", listed);
	else
		return listed;
	return is_there(dir, twin) ? twin : listed;
}

static int list_streams(struct chunk_reader *r, const struct manifest *m)
{
	for (size_t i = 0; i < m->file_count; i++) {
		char twin[CHUNK_FILE_NAME_BYTES];
		int err;

		if (!chunk_file_is_stream(m->files[i].name)) {
			check_metadata(r, &m->files[i]);
			continue;
		}
		err = add_listed(r, name_there(r->dir, m->files[i].name, twin), &m->files[i]);
		if (err)
			return err;
	}
	return 0;
}

void chunk_reader_check_files(struct chunk_reader *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct reader_stream *s = &r->streams[i];
		struct stat st;
		char why[96];

		if (!s->has_expected)
			continue;
		if (fstatat(r->dir, s->stream.name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT)
				chunk_reader_set_damage(r, s->stream.name, "it is missing");
			continue;
		}
		if (!s->has_bytes || (uint64_t)st.st_size == s->bytes)
			continue;
		snprintf(why, sizeof(why), "it has %lld bytes, the manifest says %" PRIu64,
			 (long long)st.st_size, s->bytes);
		chunk_reader_set_damage(r, s->stream.name, why);
	}
}

/* The word after `key` in the metadata; empty if there is none. */
static void metadata_word(const char *text, const char *key, char *to, size_t size)
{
	const char *at = strstr(text, key);
	size_t n = 0;

	for (at = at ? at + strlen(key) : ""; isalnum((unsigned char)*at) || strchr("-._,", *at);
	     at++) {
		if (*at == '\0' || n + 1 >= size)
			break;
		to[n++] = *at;
	}
	to[n] = '\0';
}

/* Reads which CPUs have a stream. The metadata of an older writer does not contain that. */
static void guess_cpus(struct chunk_info *info, const char *text)
{
	char list[sizeof(info->cpu_list)];

	metadata_word(text, CPUS_KEY, list, sizeof(list));
	if (list[0])
		chunk_cpus_set(info, list);
	info->cpus_unknown = list[0] ? !info->cpus : !strstr(text, CPUS_KEY "\"");
}

/*
 * Without a manifest, the name gives the begin of the chunk, and the metadata its host and
 * boot. Damage to these is not noticed, but no record depends on them. The streams give the
 * end (chunk_reader_measure()): the end in the name is by the clock of the next chunk, which
 * may have been set.
 */
static void guess_info(struct chunk_reader *r)
{
	const char *slash = strrchr(r->info.path, '/');
	struct chunk_name name = {0};
	char seconds[24] = "", rest[24] = "", filters[24] = "";
	uint64_t offset;
	void *text;
	size_t len;

	r->info.state = CHUNK_SEALED;
	if (chunk_name_parse(slash ? slash + 1 : r->info.path, &name))
		r->info.state = name.open ? CHUNK_OPEN : CHUNK_SEALED;
	r->info.seq = name.seq;
	r->info.cpus_unknown = true;
	if (file_read_all(r->dir, METADATA_NAME, METADATA_MAX, &text, &len))
		return;
	metadata_word(text, "hostname = \"", r->info.host, sizeof(r->info.host));
	metadata_word(text, "boot_id = \"", r->info.boot_id, sizeof(r->info.boot_id));
	guess_cpus(&r->info, text);
	metadata_word(text, FILTERS_KEY, filters, sizeof(filters));
	r->info.filters = strtoull(filters, NULL, 10);
	metadata_word(text, "offset_s = ", seconds, sizeof(seconds));
	metadata_word(text, "offset = ", rest, sizeof(rest));
	free(text);
	offset = strtoull(seconds, NULL, 10) * 1000000000u + strtoull(rest, NULL, 10);
	if (offset == 0 || name.begin_unix_ns < offset || name.begin_unix_ns >= RECORD_TIME_END_NS)
		return;
	r->info.begin_ns = name.begin_unix_ns - offset;
	r->info.begun_ns = r->info.late_ns = r->info.begin_ns;
	r->info.end_ns = r->info.complete_ns = r->info.begin_ns;
	r->info.clock = (struct chunk_clock){r->info.begin_ns, name.begin_unix_ns, 0, 0};
}

static int read_manifest(struct chunk_reader *r, struct error *e)
{
	struct manifest m = {0};
	struct error why = {0};
	char path[sizeof(r->info.path)];
	int err = manifest_read(r->dir, &m, &why);

	if (err == -EPROTO && e)
		*e = why;
	if (err == -ENOMEM || err == -EPROTO)
		return err;
	if (err) {
		r->manifest_err = err;
		guess_info(r);
		chunk_reader_set_damage(r, NULL, why.text);
		r->manifest_damaged = true;
		return scan_streams(r);
	}
	strcpy(path, r->info.path);
	r->info = m.info;
	strcpy(r->info.path, path);
	r->has_manifest = r->budget.vouched = true;
	if (m.info.state == CHUNK_OPEN) {
		r->info.bytes = 0;
		r->count_losses = true;
		err = scan_streams(r);
	} else {
		err = list_streams(r, &m);
	}
	manifest_free(&m);
	return err;
}

/* Whether anything looks like a chunk. */
static int check_is_chunk(int dir, const char *path, struct error *e)
{
	struct chunk_name name;
	const char *slash = strrchr(path, '/');

	if (faccessat(dir, MANIFEST_NAME, F_OK, 0) == 0 ||
	    faccessat(dir, METADATA_NAME, F_OK, 0) == 0 ||
	    chunk_name_parse(slash ? slash + 1 : path, &name))
		return 0;
	return error_say(e, ENOENT, "%s is not a chunk", path);
}

/* Takes ownership of `dir`, a descriptor, or a negative errno of opening it. */
static int reader_open(struct chunk_reader **reader, int dir, const char *path, struct error *e)
{
	struct chunk_reader *r = calloc(1, sizeof(*r));
	size_t len = strlen(path);
	int err;

	if (!r) {
		if (dir >= 0)
			close(dir);
		return error_set(e, ENOMEM, "cannot open %s", path);
	}
	while (len > 1 && path[len - 1] == '/')
		len--;
	snprintf(r->info.path, sizeof(r->info.path), "%.*s", (int)len, path);
	r->dir = dir;
	err = r->dir < 0 ? error_set(e, dir, "cannot open %s", path)
			 : check_is_chunk(r->dir, r->info.path, e);
	if (!err) {
		err = read_manifest(r, e);
		if (err)
			error_set(e, err, "cannot read %s", path);
	}
	if (err) {
		chunk_reader_close(r);
		return err;
	}
	if (r->manifest_damaged)
		r->count_losses = true;
	if (r->count)
		qsort(r->streams, r->count, sizeof(*r->streams), compare_streams);
	*reader = r;
	return 0;
}

int chunk_reader_open(struct chunk_reader **reader, const char *path, struct error *e)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return reader_open(reader, dir < 0 ? -errno : dir, path, e);
}

int chunk_reader_open_at(struct chunk_reader **reader, int parent, const char *path,
			 struct error *e)
{
	const char *slash = strrchr(path, '/');
	int dir = openat(parent, slash ? slash + 1 : path,
			 O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return reader_open(reader, dir < 0 ? -errno : dir, path, e);
}
