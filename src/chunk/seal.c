/* SPDX-License-Identifier: Apache-2.0 */
/* Begins and seals a chunk. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu_list.h"
#include "base/hash.h"
#include "base/host_clock.h"
#include "chunk/directory.h"
#include "chunk/file.h"
#include "chunk/inflate.h"
#include "chunk/metadata.h"
#include "chunk/writer.h"

/* ---- this host ---- */

/* Of several readings, the one that took least time has the smallest error. */
void chunk_clock_read(struct chunk_clock *clock)
{
	struct chunk_clock best = {.error_ns = UINT64_MAX};

	for (int i = 0; i < 5; i++) {
		uint64_t before = host_clock_read_ns(CLOCK_MONOTONIC);
		uint64_t unix_ns = host_clock_read_ns(CLOCK_REALTIME);
		uint64_t boottime_ns = host_clock_read_ns(CLOCK_BOOTTIME);
		uint64_t after = host_clock_read_ns(CLOCK_MONOTONIC);

		if (after - before < best.error_ns)
			best = (struct chunk_clock){before + (after - before) / 2, unix_ns,
						    boottime_ns, after - before};
	}
	*clock = best;
}

/* Other characters would break the lines of the manifest and the strings of TSDL. */
static void copy_word(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; from[n] && n + 1 < size; n++)
		to[n] = isalnum((unsigned char)from[n]) || strchr("-._", from[n]) ? from[n] : '_';
	to[n] = '\0';
}

void chunk_boot_read(char boot_id[CHUNK_BOOT_BYTES])
{
	char text[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	copy_word(boot_id, CHUNK_BOOT_BYTES, text);
}

void chunk_boot_named(char boot_id[CHUNK_BOOT_BYTES], const char *host)
{
	char name[CHUNK_HOST_BYTES];
	uint64_t high, low;

	chunk_boot_read(boot_id);
	if (!host)
		return;
	copy_word(name, sizeof(name), host); /* as chunks tell it */
	low = hash_pair(hash_bytes(boot_id, strlen(boot_id)), hash_bytes(name, strlen(name)));
	high = hash_pair(low, 1);
	/* the form of a UUID of version 8, which everybody may make up */
	snprintf(boot_id, CHUNK_BOOT_BYTES, "%08x-%04x-8%03x-%04x-%012llx",
		 (unsigned int)(high >> 32), (unsigned int)(high >> 16) & 0xffff,
		 (unsigned int)high & 0xfff, 0x8000 | ((unsigned int)(low >> 48) & 0x3fff),
		 (unsigned long long)low & 0xffffffffffffull);
}

static void fill_info(struct chunk_info *info, const struct chunk_writer_options *o)
{
	char host[CHUNK_HOST_BYTES] = "localhost";

	if (o->clock)
		info->clock = *o->clock;
	else
		chunk_clock_read(&info->clock);
	info->begin_ns = o->begin_ns ? o->begin_ns : info->clock.monotonic_ns;
	info->begun_ns = o->begun_ns ? o->begun_ns : info->begin_ns;
	info->end_ns = info->begin_ns;
	info->complete_ns = o->complete_ns;
	info->late_ns = o->late_ns ? o->late_ns : info->begin_ns;
	if (o->cpus)
		chunk_cpus_set(info, o->cpus);
	if (o->missing)
		snprintf(info->missing, sizeof(info->missing), "%s", o->missing);
	info->filters = o->filters;
	gethostname(host, sizeof(host) - 1);
	copy_word(info->host, sizeof(info->host), o->host ? o->host : host);
	if (o->boot_id)
		copy_word(info->boot_id, sizeof(info->boot_id), o->boot_id);
	else
		chunk_boot_read(info->boot_id);
}

uint64_t chunk_unix_ns(const struct chunk_info *info, uint64_t monotonic_ns)
{
	return info->clock.unix_ns - info->clock.monotonic_ns + monotonic_ns;
}

/* ---- the begin ---- */

/* The next number that no chunk in the directory has. */
static int next_seq(const struct chunk_writer *w, uint64_t *seq, struct error *e)
{
	const struct recording_hold hold = {.dir = w->parent, .lock = -1};
	struct chunk_names names;
	int err = chunk_names_list(w->recording, &hold, &names, e);

	if (err)
		return err;
	*seq = 0;
	for (size_t i = 0; i < names.count; i++) {
		if (names.names[i].seq >= *seq)
			*seq = names.names[i].seq + 1;
	}
	chunk_names_free(&names);
	return 0;
}

static int make_directory(struct chunk_writer *w, const struct chunk_writer_options *o,
			  struct error *e)
{
	const struct chunk_owner *owner = o->owner;
	int err = o->hold ? -EEXIST
			  : chunk_directory_make(AT_FDCWD, w->recording, owner, &w->parent);
	char name[CHUNK_NAME_BYTES];

	if (err == -EEXIST) {
		w->parent = recording_directory(w->recording, o->hold);
		err = w->parent < 0 ? w->parent : 0;
	}
	if (err)
		return error_set(e, err, "cannot make %s", w->recording);
	w->info.seq = o->seq;
	if (!o->seq && (err = next_seq(w, &w->info.seq, e)))
		return err;
	chunk_name_open(name, chunk_unix_ns(&w->info, w->info.begin_ns), w->info.seq);
	snprintf(w->path, sizeof(w->path), "%s/%s", w->recording, name);
	err = chunk_directory_make(w->parent, name, owner, &w->dir);
	return err ? error_set(e, err, "cannot make %s", w->path) : 0;
}

/* Writes metadata and a manifest with `open`, so that the chunk is readable from the begin. */
static int write_beginnings(struct chunk_writer *w, struct error *e)
{
	struct manifest manifest = {.info = w->info};
	int err = metadata_write(w->dir, &w->info, &w->metadata.bytes, &w->metadata.crc, e);

	snprintf(w->metadata.name, sizeof(w->metadata.name), METADATA_NAME);
	return err ? err : manifest_write(w->dir, &manifest, false, e);
}

/*
 * Makes the streams of the CPUs now: after a crash, nobody could tell that a stream is missing
 * which is made with its first record. If the disk has no room now, it may have for the first
 * record.
 */
static int cpu_streams(struct chunk_writer *w, const char *list, struct error *e)
{
	struct error ignored = {0};
	uint32_t cpu = 0;

	for (; list && (cpu = cpu_list_next(list, cpu)) != CPU_LIST_END; cpu++) {
		if (!chunk_writer_stream(w, CHUNK_STREAM_CPU, cpu))
			return error_set(e, ENOMEM, "cannot begin a chunk");
	}
	if (list && !chunk_writer_stream(w, CHUNK_STREAM_LIFE, 0))
		return error_set(e, ENOMEM, "cannot begin a chunk");
	if (list)
		chunk_writer_flush(w, w->info.begin_ns, &ignored);
	return 0;
}

static void remove_begun(struct chunk_writer *w)
{
	chunk_directory_remove(w->parent, strrchr(w->path, '/') + 1, w->dir);
	w->dir = -1;
}

int chunk_writer_open(struct chunk_writer **writer, const struct chunk_writer_options *options,
		      struct error *e)
{
	struct chunk_writer *w;
	int err;

	if (strlen(options->dir) >= sizeof(w->recording))
		return error_set(e, ENAMETOOLONG, "cannot record to %s", options->dir);
	w = calloc(1, sizeof(*w));
	if (!w)
		return error_set(e, ENOMEM, "cannot begin a chunk");
	strcpy(w->recording, options->dir);
	w->dir = w->parent = -1;
	w->last_stream = &w->streams;
	w->compress = options->compress;
	w->sync = !options->no_sync;
	fill_info(&w->info, options);
	err = getrandom(w->info.identity, sizeof(w->info.identity), 0) ==
			      (ssize_t)sizeof(w->info.identity)
		      ? 0
		      : -EIO;
	if (err)
		error_set(e, err, "cannot get random bytes");
	if (!err)
		err = make_directory(w, options, e);
	if (!err) {
		err = write_beginnings(w, e);
		if (!err)
			err = cpu_streams(w, options->cpus, e);
		if (err)
			remove_begun(w);
	}
	if (err) {
		chunk_writer_close(w);
		return err;
	}
	*writer = w;
	return 0;
}

/* ---- the end ---- */

static int sync_file(int dir, const char *name)
{
	int fd = file_open_regular(dir, name), err = 0;

	if (fd < 0)
		return fd;
	if (fsync(fd) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* The files that are compressed so far. */
struct compressed {
	uint64_t memory; /* memory for reading them */
	uint64_t inflated, deflated;
};

/* A file that cannot be compressed, for example on a full disk, stays plain and complete. */
static void compress_stream(struct chunk_writer *w, struct manifest_file *file,
			    struct compressed *all)
{
	uint64_t needs = all->memory + inflating_bytes(file->bytes);
	char name[CHUNK_FILE_NAME_BYTES + 4];
	struct manifest_file small = *file;
	int err;

	if (needs > INFLATING_MAX_BYTES / 4 * 3)
		return;
	snprintf(name, sizeof(name), "%s.zst", file->name);
	err = deflate_file(w->dir, file->name, name, &small.bytes, &small.crc);
	if (!err &&
	    all->inflated + file->bytes > inflate_limit(all->deflated + small.bytes, true) / 2)
		err = -EFBIG;
	if (!err && w->sync) /* before the only other copy is removed */
		err = sync_file(w->dir, name);
	if (err) {
		unlinkat(w->dir, name, 0);
		return;
	}
	unlinkat(w->dir, file->name, 0);
	memcpy(small.name, name, sizeof(small.name));
	all->memory = needs;
	all->inflated += file->bytes;
	all->deflated += small.bytes;
	*file = small;
}

/*
 * Counts losses for which the disk had no room for a `lost` record: in the manifest and, for CTF
 * readers, in the last packet of the stream or of another one. Returns their number.
 */
static uint64_t count_untold(struct chunk_writer *w)
{
	uint64_t sum = 0, left = 0;

	for (struct chunk_stream *s = w->streams; s; s = s->next) {
		sum += s->unwritten;
		left += s->unwritten;
		if (left && !chunk_stream_discard(s, left))
			left = 0;
	}
	for (struct chunk_stream *s = w->streams; s && left; s = s->next)
		if (!chunk_stream_discard(s, left))
			left = 0;
	return sum;
}

/* Fills the list of files; each is compressed if that is wanted, and synced to the disk. */
static int list_files(struct chunk_writer *w, struct manifest *m, struct error *e)
{
	struct compressed all = {0};
	size_t count = 1;

	for (const struct chunk_stream *s = w->streams; s; s = s->next)
		count++;
	m->files = calloc(count, sizeof(*m->files));
	if (!m->files)
		return error_set(e, ENOMEM, "cannot seal %s", w->path);
	m->files[m->file_count++] = w->metadata;
	m->info.lost.buffer += count_untold(w);
	for (const struct chunk_stream *s = w->streams; s; s = s->next) {
		if (s->packets == 0)
			continue;
		m->files[m->file_count] = s->file;
		if (w->compress)
			compress_stream(w, &m->files[m->file_count], &all);
		m->info.records += s->file.events;
		m->file_count++;
	}
	for (size_t i = 0; i < m->file_count; i++) {
		int err = w->sync ? sync_file(w->dir, m->files[i].name) : 0;
		if (err)
			return error_set(e, err, "cannot sync %s/%s", w->path, m->files[i].name);
		m->info.bytes += m->files[i].bytes;
	}
	return 0;
}

void chunk_writer_plain(struct chunk_writer *w)
{
	w->info.plain = w->compress;
	w->compress = false;
}

/* Renames the chunk, which makes it sealed. */
static int rename_sealed(struct chunk_writer *w, struct chunk_info *info, struct error *e)
{
	char name[CHUNK_NAME_BYTES];

	chunk_name_sealed(name, chunk_unix_ns(info, info->begin_ns),
			  w->end_unix_ns ? w->end_unix_ns : chunk_unix_ns(info, info->end_ns),
			  info->seq);
	if (snprintf(info->path, sizeof(info->path), "%s/%s", w->recording, name) >=
	    (int)sizeof(info->path))
		return error_set(e, ENAMETOOLONG, "cannot seal %s", w->path);
	if (w->sync && fsync(w->dir) < 0)
		return error_set(e, errno, "cannot sync %s", w->path);
	if (renameat(w->parent, strrchr(w->path, '/') + 1, w->parent, name) < 0)
		return error_set(e, errno, "cannot rename %s to %s", w->path, info->path);
	if (w->sync)
		fsync(w->parent);
	return 0;
}

/*
 * On a full disk the last manifest can only take the space of the first one. A crash between the
 * two leaves none, and recovery works without it.
 */
static int write_manifest(struct chunk_writer *w, const struct manifest *m, struct error *e)
{
	struct error full = {0};
	int err = manifest_write(w->dir, m, w->sync, &full);

	if (err == -ENOSPC || err == -EDQUOT) {
		unlinkat(w->dir, MANIFEST_NAME, 0);
		error_clear(&full);
		err = manifest_write(w->dir, m, w->sync, &full);
	}
	if (err && e)
		*e = full;
	return err;
}

int chunk_writer_seal(struct chunk_writer *w, struct chunk_info *info, struct error *e)
{
	struct manifest m = {.info = w->info};
	int err;

	if (!w->is_cut || w->is_sealed)
		return error_say(e, EINVAL, "%s cannot be sealed", w->path);
	m.info.state = CHUNK_SEALED;
	err = list_files(w, &m, e);
	if (!err)
		err = write_manifest(w, &m, e);
	if (!err)
		err = rename_sealed(w, &m.info, e);
	manifest_free(&m);
	if (err)
		return err;
	w->is_sealed = true;
	if (info)
		*info = m.info;
	return 0;
}

void chunk_writer_close(struct chunk_writer *w)
{
	if (!w)
		return;
	while (w->streams) {
		struct chunk_stream *s = w->streams;

		w->streams = s->next;
		chunk_stream_free(s);
	}
	if (w->dir >= 0)
		close(w->dir);
	if (w->parent >= 0)
		close(w->parent);
	free(w);
}

void chunk_writer_abandon(struct chunk_writer *w)
{
	if (w)
		remove_begun(w);
	chunk_writer_close(w);
}
