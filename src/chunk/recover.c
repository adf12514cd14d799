/* SPDX-License-Identifier: Apache-2.0 */
/* Seals chunks that a crash left open, up to their last whole packets. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "chunk/directory.h"
#include "chunk/file.h"
#include "chunk/metadata.h"
#include "chunk/reader.h"
#include "chunk/writer.h"

#define PIECE_BYTES ((size_t)256 << 10)

struct chunk_recovery {
	struct chunk_reader *reader;
	struct manifest manifest; /* the recovered manifest */
	bool has_identity;
};

/* Finds the size and checksum of a file, and syncs it to the disk. */
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

/* Reads a stream, and counts its records and the missing ones. 0 or a negative errno. */
static int read_stream(struct chunk_reader *r, struct stream *s, struct manifest_file *file)
{
	int got;

	while ((got = stream_peek(s)) > 0)
		if (stream_take(s) && s->unpacker.record.head.kind == RECORD_lost)
			stream_count_lost(s, &r->info.lost);
	stream_count_untold(s, &r->info.lost);
	if ((s->truncated_packet || s->gave_up) && !s->damaged)
		s->damaged = 1; /* their number is unknown */
	file->records = s->delivered;
	file->events = s->delivered + s->unpacker.rows;
	return got;
}

/* Without a manifest, the first stream with a whole packet gives the identity of the chunk. */
static int read_stream_of(struct chunk_recovery *k, struct stream *s, struct manifest_file *file)
{
	uint8_t *identity = k->manifest.info.identity;
	int err;

	if (k->has_identity) {
		memcpy(s->identity, identity, sizeof(s->identity));
		s->has_identity = true;
	}
	err = read_stream(k->reader, s, file);
	if (!err && !k->has_identity && s->packets) {
		memcpy(identity, s->identity, sizeof(s->identity));
		k->has_identity = true;
	}
	return err;
}

/* Copies a range of a file to an offset of another file, or to a lower offset of itself. */
static int part_copy(int from, int to, const struct stream_part *part, unsigned char *piece)
{
	uint64_t done = 0;

	while (done < part->bytes) {
		uint64_t left = part->bytes - done;
		ssize_t n = file_read_at(from, piece, left < PIECE_BYTES ? left : PIECE_BYTES,
					 part->at + done);
		int err = n > 0 ? file_write(to, piece, (size_t)n) : n < 0 ? (int)n : -EIO;

		if (err)
			return err;
		done += (uint64_t)n;
	}
	return 0;
}

/* Writes the whole packets of a file to `to`, and truncates it there. */
static int parts_copy(const struct stream *s, int from, int to)
{
	unsigned char *piece = malloc(PIECE_BYTES);
	uint64_t bytes = 0;
	int err = piece ? 0 : -ENOMEM;

	for (size_t i = 0; i < s->kept.count && !err; i++) {
		err = part_copy(from, to, &s->kept.data[i], piece);
		bytes += s->kept.data[i].bytes;
	}
	free(piece);
	if (!err && (ftruncate(to, (off_t)bytes) < 0 || fsync(to) < 0))
		err = -errno;
	return err;
}

/*
 * Closes the holes of a file, since CTF readers do not search for the next packet after damage.
 * fathom's reader finds the missing records by records_before. The file is replaced by a rename, so
 * that it is intact if the power fails. If there is no space for a copy, it is changed in place.
 */
static int close_holes(const struct stream *s, int from, int in_place)
{
	int to = file_create(s->dir, RECOVERED_NEW);
	int err = to < 0 ? to : parts_copy(s, from, to);

	if (to >= 0 && close(to) < 0 && !err)
		err = -errno;
	if (!err && renameat(s->dir, RECOVERED_NEW, s->dir, s->name) < 0)
		err = -errno;
	if (err)
		unlinkat(s->dir, RECOVERED_NEW, 0);
	return err == -ENOSPC || err == -EDQUOT ? parts_copy(s, from, in_place) : err;
}

static int cut_off(const struct stream *s, int in_place)
{
	const struct stream_part *first = s->kept.data;
	int from, err;

	if (s->kept.count == 1 && !first->at)
		return ftruncate(in_place, (off_t)first->bytes) < 0 ? -errno : 0;
	from = file_open_regular(s->dir, s->name);
	if (from < 0)
		return from;
	err = close_holes(s, from, in_place);
	close(from);
	return err;
}

/* Keeps only the whole packets of a plain stream in its file, one after another. */
static int keep_packets(struct chunk_recovery *k, struct stream *s, struct manifest_file *file)
{
	int fd, err;

	s->keep = true;
	err = read_stream_of(k, s, file);
	if (!err && s->read_err && !chunk_error_is_own(s->read_err))
		err = s->read_err; /* a part that cannot be read now is not cut off */
	if (err || !s->packets)
		return err;
	fd = file_open_write(s->dir, s->name);
	if (fd < 0)
		return fd;
	err = cut_off(s, fd);
	close(fd);
	return err;
}

static int read_compressed(struct chunk_recovery *k, struct stream *s, struct manifest_file *file)
{
	int err = read_stream_of(k, s, file);

	if (!err && s->read_err && (s->read_err == -EFBIG || !chunk_error_is_own(s->read_err)))
		err = s->read_err; /* a file that cannot be read now is not removed */
	return err;
}

/* Adds the whole packets of one stream to the manifest. */
static int recover_stream(struct chunk_recovery *k, struct stream *s)
{
	struct manifest *m = &k->manifest;
	struct chunk_reader *r = k->reader;
	struct manifest_file *file = &m->files[m->file_count];
	int err;

	memset(file, 0, sizeof(*file));
	memcpy(file->name, s->name, sizeof(file->name));
	err = s->compressed ? read_compressed(k, s, file) : keep_packets(k, s, file);
	stream_free(s); /* its facts are kept; only one stream is in memory at a time */
	if (err)
		return err;
	r->info.lost.damaged += s->damaged;
	chunk_stream_bound(&m->info, s);
	if (s->packets == 0)
		return unlinkat(r->dir, s->name, 0) < 0 ? -errno : 0;
	err = measure(r->dir, file);
	if (err)
		return err;
	m->info.records += file->events;
	m->file_count++;
	return 0;
}

/* Removes files that the manifest will not list: half-compressed and temporary ones. */
static void remove_rest(struct chunk_reader *r)
{
	char name[CHUNK_FILE_NAME_BYTES + 4];

	for (size_t i = 0; i < r->count; i++) {
		if (r->streams[i].stream.compressed)
			continue;
		snprintf(name, sizeof(name), "%s.zst", r->streams[i].stream.name);
		unlinkat(r->dir, name, 0);
	}
	unlinkat(r->dir, "." MANIFEST_NAME ".new", 0);
	unlinkat(r->dir, "." METADATA_NAME ".new", 0);
	unlinkat(r->dir, RECOVERED_NEW, 0);
}

/* The recording whose chunks are recovered. */
struct recovery_place {
	const char *dir; /* used in messages only */
	int fd;
};

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int rename_chunk(const struct recovery_place *in, const char *from, struct chunk_info *info,
			struct error *e)
{
	char name[CHUNK_NAME_BYTES];

	chunk_name_sealed(name, chunk_unix_ns(info, info->begin_ns),
			  chunk_unix_ns(info, info->end_ns), info->seq);
	if (snprintf(info->path, sizeof(info->path), "%.4000s/%s", in->dir, name) >=
	    (int)sizeof(info->path))
		return error_set(e, ENAMETOOLONG, "cannot seal %s", from);
	if (renameat(in->fd, last_name(from), in->fd, name) < 0)
		return error_set(e, errno, "cannot rename %s", from);
	return 0;
}

static int metadata_recover(struct chunk_recovery *k, struct error *e)
{
	struct manifest_file *file = &k->manifest.files[0];
	int err = metadata_write(k->reader->dir, &k->manifest.info, &file->bytes, &file->crc, e);

	if (err)
		return err;
	snprintf(file->name, sizeof(file->name), METADATA_NAME);
	err = measure(k->reader->dir, file);
	return err ? error_set(e, err, "cannot recover %s", k->reader->info.path) : 0;
}

static int streams_recover(struct chunk_recovery *k, struct error *e)
{
	struct chunk_reader *r = k->reader;
	struct manifest *m = &k->manifest;
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
	m->file_count = 1; /* the metadata comes first */
	for (size_t i = 0; i < r->count && !err; i++)
		err = recover_stream(k, &r->streams[i].stream);
	return err ? error_set(e, err, "cannot recover %s", r->info.path) : 0;
}

static int recover_open(const struct recovery_place *in, struct chunk_recovery *k, struct error *e)
{
	struct chunk_reader *r = k->reader;
	struct manifest *m = &k->manifest;
	uint64_t due = 0; /* streams that have records */
	int err = streams_recover(k, e);

	if (err)
		return err;
	if (m->info.records == 0) {
		err = chunk_directory_remove_at(in->fd, last_name(r->info.path));
		return err ? error_set(e, err, "cannot remove %s", r->info.path) : 1;
	}
	chunk_clock_bound(r, &m->info);
	err = metadata_recover(k, e);
	if (err)
		return err;
	remove_rest(r);
	m->info.lost = r->info.lost;
	for (size_t i = 0; i < m->file_count; i++) {
		m->info.bytes += m->files[i].bytes;
		due += chunk_stream_is_due(&m->info, m->files[i].name);
	}
	chunk_complete_bound(&m->info, due);
	err = manifest_write(r->dir, m, true, e);
	return err ? err : rename_chunk(in, r->info.path, &m->info, e);
}

/*
 * 0: recovered; 1: it was empty and was removed; or a negative errno.
 */
static int recover_chunk(const struct recovery_place *in, const char *path, struct chunk_info *info,
			 struct error *e)
{
	struct chunk_recovery k = {0};
	int err = chunk_reader_open_at(&k.reader, in->fd, path, e);

	if (err)
		return err;
	err = k.reader->manifest_err;
	if (err && !chunk_error_is_own(err)) {
		chunk_reader_close(k.reader);
		return error_set(e, err, "cannot recover %s", path);
	}
	k.has_identity = k.reader->has_manifest;
	if (k.reader->has_manifest && k.reader->info.state != CHUNK_OPEN) {
		/* everything was written, only the rename is missing */
		k.manifest.info = k.reader->info;
		err = rename_chunk(in, path, &k.manifest.info, e);
	} else {
		err = recover_open(in, &k, e);
	}
	if (!err)
		*info = k.manifest.info;
	manifest_free(&k.manifest);
	chunk_reader_close(k.reader);
	return err;
}

/* Whether the chunk itself is the reason that it cannot be sealed, or a file in its directory. */
static bool is_of_chunk(int err)
{
	return chunk_error_is_own(err) || err == -EEXIST || err == -ENOTEMPTY;
}

static int recover_names(const struct recovery_place *in, const struct chunk_names *names,
			 chunk_recovered_fn *recovered, void *arg, struct error *e)
{
	int count = 0, failed = 0;

	for (size_t i = 0; i < names->count; i++) {
		char path[4096 + CHUNK_NAME_BYTES];
		struct chunk_info info;
		struct error why = {0};
		int err;

		if (!names->names[i].open)
			continue;
		snprintf(path, sizeof(path), "%s/%s", in->dir, names->names[i].name);
		err = recover_chunk(in, path, &info, &why);
		if (err < 0 && !is_of_chunk(err)) {
			failed = err;
			if (e)
				*e = why;
		} else if (err <= 0 && recovered) {
			recovered(arg, err ? NULL : &info, &why);
		}
		count += err == 0;
	}
	return failed ? failed : count;
}

int recording_recover(const char *dir, const struct recording_hold *hold,
		      chunk_recovered_fn *recovered, void *arg, struct error *e)
{
	const struct recovery_place in = {dir, recording_directory(dir, hold)};
	struct chunk_names names;
	int err;

	if (in.fd < 0)
		return error_set(e, in.fd, "cannot open %s", dir);
	err = chunk_names_list(dir, &(struct recording_hold){in.fd, -1}, &names, e);
	if (!err) {
		err = recover_names(&in, &names, recovered, arg, e);
		chunk_names_free(&names);
	}
	close(in.fd);
	return err;
}
