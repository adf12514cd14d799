/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks that a crash left open are sealed up to their last whole packets. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/crc32c.h"
#include "chunk/directory.h"
#include "chunk/file.h"
#include "chunk/reader.h"
#include "chunk/writer.h"

#define PIECE_BYTES ((size_t)256 << 10)

/* Size and checksum of a file as it is now, on the disk for good. */
static int measure(int dir, struct manifest_file *file)
{
	int fd = file_open_regular(dir, file->name), err = 0;
	unsigned char *piece = malloc(PIECE_BYTES);
	ssize_t n = piece ? 1 : -ENOMEM;

	file->bytes = 0;
	file->crc = 0;
	while (fd >= 0 && n > 0) {
		n = file_read_at(fd, piece, PIECE_BYTES, file->bytes);
		if (n > 0) {
			file->crc = crc32c(file->crc, piece, (size_t)n);
			file->bytes += (uint64_t)n;
		}
	}
	if (fd >= 0 && n == 0 && fsync(fd) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(piece);
	return fd < 0 ? fd : n < 0 ? (int)n : err;
}

/* Reads a stream up to its first damage, counting. 0 or negative errno. */
static int read_stream(struct chunk_reader *r, struct stream *s, struct manifest_file *file)
{
	for (;;) {
		int got = stream_peek(s);

		if (got < 0)
			return got;
		if (got == 0 || s->damage)
			break;
		if (!stream_take(s))
			break;
		if (s->unpacker.record.head.kind == RECORD_lost)
			chunk_lost_add(&r->info.lost, &s->unpacker.record.lost_);
	}
	file->records = s->delivered;
	file->events = s->delivered + s->unpacker.rows;
	return 0;
}

/* Cuts one stream behind its last whole packet and puts it into the manifest. */
static int recover_stream(struct chunk_reader *r, struct stream *s, struct manifest *m)
{
	struct manifest_file *file = &m->files[m->file_count];
	bool is_cpu = strncmp(s->name, "cpu", 3) == 0;
	int err;

	memset(file, 0, sizeof(*file));
	memcpy(file->name, s->name, sizeof(file->name));
	err = read_stream(r, s, file);
	if (err)
		return err;
	if (!s->inflater) {
		int fd = openat(r->dir, s->name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

		if (fd < 0)
			return -errno;
		err = ftruncate(fd, (off_t)s->good_end) < 0 ? -errno : 0;
		close(fd);
		if (err)
			return err;
	}
	if (s->packets == 0 || (!s->inflater && s->good_end == 0))
		return unlinkat(r->dir, s->name, 0) < 0 ? -errno : 0;
	err = measure(r->dir, file);
	if (err)
		return err;
	if (s->good_end_ns >= m->info.end_ns)
		m->info.end_ns = s->good_end_ns + 1;
	if (is_cpu && s->good_end_ns < m->info.complete_ns)
		m->info.complete_ns = s->good_end_ns;
	m->info.records += file->events;
	m->file_count++;
	return 0;
}

/* Takes away what no manifest will name: half-compressed files, temporary ones. */
static void remove_rest(struct chunk_reader *r)
{
	char name[CHUNK_FILE_NAME_BYTES + 4];

	for (size_t i = 0; i < r->count; i++) {
		if (r->streams[i].stream.inflater)
			continue;
		snprintf(name, sizeof(name), "%s.zst", r->streams[i].stream.name);
		unlinkat(r->dir, name, 0);
	}
	unlinkat(r->dir, "." MANIFEST_NAME ".new", 0);
	unlinkat(r->dir, "." METADATA_NAME ".new", 0);
}

static int rename_chunk(const char *dir, const char *from, struct chunk_info *info, struct error *e)
{
	char name[CHUNK_NAME_BYTES];

	chunk_name_sealed(name, chunk_unix_ns(info, info->begin_ns),
			  chunk_unix_ns(info, info->end_ns), info->seq);
	if (snprintf(info->path, sizeof(info->path), "%.4000s/%s", dir, name) >=
	    (int)sizeof(info->path))
		return error_set(e, ENAMETOOLONG, "cannot seal %s", from);
	if (rename(from, info->path) < 0)
		return error_set(e, errno, "cannot rename %s", from);
	return 0;
}

static int recover_open(const char *dir, struct chunk_reader *r, struct manifest *m,
			struct error *e)
{
	int err = 0;

	m->info = r->info;
	m->info.state = CHUNK_RECOVERED;
	m->info.records = 0;
	m->info.bytes = 0;
	m->info.end_ns = m->info.begin_ns;
	m->info.complete_ns = UINT64_MAX;
	m->files = calloc(r->count + 1, sizeof(*m->files));
	if (!m->files)
		return error_set(e, ENOMEM, "cannot recover %s", r->info.path);
	snprintf(m->files[0].name, sizeof(m->files[0].name), METADATA_NAME);
	if (measure(r->dir, &m->files[0]) == 0)
		m->file_count = 1;
	for (size_t i = 0; i < r->count && !err; i++)
		err = recover_stream(r, &r->streams[i].stream, m);
	if (err)
		return error_set(e, err, "cannot recover %s", r->info.path);
	if (m->info.records == 0)
		return chunk_directory_remove(r->info.path, e) ?: 1;
	remove_rest(r);
	m->info.lost = r->info.lost;
	if (m->info.complete_ns > m->info.end_ns)
		m->info.complete_ns = m->info.end_ns;
	for (size_t i = 0; i < m->file_count; i++)
		m->info.bytes += m->files[i].bytes;
	err = manifest_write(r->dir, m, true, e);
	return err ? err : rename_chunk(dir, r->info.path, &m->info, e);
}

/*
 * 0: recovered; 1: there was nothing in it, and it is gone; negative.
 */
static int recover_chunk(const char *dir, const char *path, struct chunk_info *info,
			 struct error *e)
{
	struct chunk_reader *r;
	struct manifest m = {0};
	int err = chunk_reader_open(&r, path, e);

	if (err)
		return err;
	if (r->has_manifest && r->info.state != CHUNK_OPEN) {
		/* all was written but the name */
		m.info = r->info;
		err = rename_chunk(dir, path, &m.info, e);
	} else {
		err = recover_open(dir, r, &m, e);
	}
	if (!err)
		*info = m.info;
	manifest_free(&m);
	chunk_reader_close(r);
	return err;
}

int recording_recover(const char *dir, void (*recovered)(void *arg, const struct chunk_info *info),
		      void *arg, struct error *e)
{
	struct chunk_names names;
	int err = chunk_names_list(dir, &names, e), count = 0, failed = 0;

	if (err)
		return err;
	for (size_t i = 0; i < names.count; i++) {
		char path[4096 + CHUNK_NAME_BYTES];
		struct chunk_info info;

		if (!names.names[i].open)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, names.names[i].name);
		err = recover_chunk(dir, path, &info, e);
		if (err < 0)
			failed = err;
		if (err)
			continue;
		count++;
		if (recovered)
			recovered(arg, &info);
	}
	chunk_names_free(&names);
	return failed ? failed : count;
}
