/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A partial file, little endian:
 *
 *   bytes   what
 *   0-7     "fathomP1"
 *   8-11    CRC32C of all that follows
 *   12-15   PARTIAL_FILE_VERSION
 *   16-19   RECORD_CONTRACT_VERSION
 *   20-     the file's parts, to its end
 *
 * Numbers of the parts are varints, texts have their length before them (map/checkpoint/archive.h):
 *
 *   terms   spans (0 or 1), from_ns, to_ns, illegible
 *   boots   their count; of each, in the order of boot ids:
 *           boot id; checkpoints: their count, of each end_ns and the bytes;
 *           chunks: their count, of each what archive_chunk() says, in the order of time;
 *           runs: of each the length of its partial in 8 bytes, and the partial (map/file/whole.c)
 *
 * Which chunks a run has follows from the list of chunks: those that follow each other without a
 * gap. A chunk that could not be read is in none. The file is replaced by a rename, so a crash
 * leaves the old one or the new one. What is read is not trusted: no length and no count reaches
 * behind the bytes that are there, and all that does not hold is -EBADMSG.
 */
#include "map/file/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "map/checkpoint/archive.h"
#include "map/file/set.h"
#include "map/file/whole.h"

#define PARTIAL_FILE_MAGIC "fathomP1"
#define PARTIAL_FILE_VERSION 17u
#define CHECKED_AT 12 /* where the part begins that the checksum covers */
#define PARTS_AT 20

/* ---- chunks ---- */

static void archive_clock(struct archive *a, struct chunk_clock *clock)
{
	archive_u64(a, &clock->monotonic_ns);
	archive_u64(a, &clock->unix_ns);
	archive_u64(a, &clock->boottime_ns);
	archive_u64(a, &clock->error_ns);
}

static void archive_lost(struct archive *a, struct chunk_lost *lost)
{
	archive_u64(a, &lost->buffer);
	archive_u64(a, &lost->recursion);
	archive_u64(a, &lost->application);
	archive_u64(a, &lost->damaged);
	archive_u64(a, &lost->uncounted);
}

/* A text in an array of fixed size, without a NUL in it. */
static void archive_word(struct archive *a, char *word, size_t size)
{
	char *text = word;

	if (!archive_reads(a)) {
		archive_path(a, &text);
		return;
	}
	text = NULL;
	archive_path(a, &text);
	if (!text || strlen(text) >= size)
		archive_fail(a, -EBADMSG);
	else
		strcpy(word, text);
	free(text);
}

static void archive_chunk(struct archive *a, struct partial_chunk *c)
{
	archive_bytes(a, c->identity, sizeof(c->identity));
	archive_word(a, c->host, sizeof(c->host));
	archive_u64(a, &c->seq);
	archive_time(a, &c->begin_ns);
	archive_time(a, &c->end_ns);
	archive_u64(a, &c->begun_ns);
	archive_u64(a, &c->complete_ns);
	archive_time(a, &c->covers_ns);
	archive_clock(a, &c->clock);
	archive_lost(a, &c->lost);
	archive_u64(a, &c->incomplete);
	archive_path(a, &c->missing);
	archive_bool(a, &c->unread);
	if (!c->missing || strlen(c->missing) >= CHUNK_MISSING_BYTES || !partial_chunk_holds(c))
		archive_fail(a, -EBADMSG);
}

/* ---- runs ---- */

static void run_write(struct archive *a, struct partial_run *run)
{
	struct bytes bytes = {0};
	int err = partial_write(run->partial, &bytes);

	if (err)
		archive_fail(a, err);
	bytes_put_u64(a->out, bytes.count);
	bytes_put(a->out, bytes.data, bytes.count);
	bytes_free(&bytes);
}

static void run_read(struct archive *a, struct partial_run *run,
		     const struct partial_options *options)
{
	u64 count = bytes_get_u64(&a->in);
	const void *data = bytes_get(&a->in, count);
	int err = data ? partial_read(&run->partial, data, count, options) : -EBADMSG;

	if (err)
		archive_fail(a, err);
	else if (!partial_run_holds(run))
		archive_fail(a, -EBADMSG);
}

/* The list of chunks makes the runs. */
static void chunks_read(struct archive *a, struct partial_boot *boot)
{
	size_t count = archive_count(a, 0);

	if (!count)
		archive_fail(a, -EBADMSG);
	for (size_t i = 0; i < count && !a->err; i++) {
		struct partial_chunk chunk = {0};
		int err;

		archive_chunk(a, &chunk);
		err = a->err ? 0 : partial_boot_append(boot, &chunk);
		if (err)
			archive_fail(a, err == -ENOMEM ? err : -EBADMSG);
		free(chunk.missing);
	}
}

static void chunks_write(struct archive *a, struct partial_boot *boot)
{
	size_t count = 0;

	for (size_t i = 0; i < boot->runs.count; i++)
		count += boot->runs.data[i]->chunks.count;
	archive_count(a, count);
	for (size_t i = 0; i < boot->runs.count; i++)
		for (size_t k = 0; k < boot->runs.data[i]->chunks.count; k++)
			archive_chunk(a, &boot->runs.data[i]->chunks.data[k]);
}

/* ---- boots ---- */

static void archive_checkpoint(struct archive *a, struct recording_checkpoint *checkpoint)
{
	char *data = checkpoint->data;
	u32 bytes = (u32)checkpoint->bytes;

	archive_time(a, &checkpoint->end_ns);
	archive_text(a, &data, &bytes);
	checkpoint->data = data;
	checkpoint->bytes = bytes;
	if (!data)
		archive_fail(a, -EBADMSG);
}

static void archive_boot(struct archive *a, struct partial_boot *boot,
			 const struct partial_options *options)
{
	archive_word(a, boot->boot_id, sizeof(boot->boot_id));
	archive_list(a, &boot->checkpoints, archive_checkpoint);
	if (archive_reads(a))
		chunks_read(a, boot);
	else
		chunks_write(a, boot);
	for (size_t i = 0; i < boot->checkpoints.count; i++)
		memcpy(boot->checkpoints.data[i].boot_id, boot->boot_id, sizeof(boot->boot_id));
	for (size_t i = 0; i < boot->runs.count && !a->err; i++) {
		struct partial_run *run = boot->runs.data[i];

		if (run->chunks.data[0].unread)
			continue;
		if (archive_reads(a))
			run_read(a, run, options);
		else
			run_write(a, run);
	}
	if (!a->err && archive_reads(a) && !partial_boot_holds(boot))
		archive_fail(a, -EBADMSG);
}

static void boots_read(struct archive *a, struct partial_file *file,
		       const struct partial_options *options)
{
	size_t count = archive_count(a, 0);

	for (size_t i = 0; i < count && !a->err; i++) {
		struct partial_boot *boot = calloc(1, sizeof(*boot)), *before;

		if (!boot || vec_push(&file->boots, boot)) {
			free(boot);
			archive_fail(a, -ENOMEM);
			return;
		}
		archive_boot(a, boot, options);
		before = i ? file->boots.data[i - 1] : NULL;
		if (before && strcmp(before->boot_id, boot->boot_id) >= 0)
			archive_fail(a, -EBADMSG);
	}
}

/* ---- the whole ---- */

static void archive_terms(struct archive *a, struct partial_file *file)
{
	archive_bool(a, &file->terms.spans);
	archive_time(a, &file->terms.from_ns);
	archive_time(a, &file->terms.to_ns);
	archive_u64(a, &file->illegible);
}

int partial_file_pack(struct partial_file *file, struct bytes *out)
{
	struct bytes checked = {0};
	struct archive a = {.out = &checked};

	bytes_put_u32(&checked, PARTIAL_FILE_VERSION);
	bytes_put_u32(&checked, RECORD_CONTRACT_VERSION);
	archive_terms(&a, file);
	archive_count(&a, file->boots.count);
	for (size_t i = 0; i < file->boots.count && !a.err; i++)
		archive_boot(&a, file->boots.data[i], NULL);
	if (checked.failed)
		archive_fail(&a, -ENOMEM);
	if (!a.err) {
		bytes_put(out, PARTIAL_FILE_MAGIC, 8);
		bytes_put_u32(out, crc32c(0, checked.data, checked.count));
		bytes_put(out, checked.data, checked.count);
	}
	bytes_free(&checked);
	return out->failed ? -ENOMEM : a.err;
}

bool partial_file_is_one(const void *data, size_t bytes)
{
	return bytes >= 8 && memcmp(data, PARTIAL_FILE_MAGIC, 8) == 0;
}

static int head_check(const unsigned char *data, size_t bytes)
{
	struct bytes_reader r = bytes_reader_over(data, bytes);
	uint32_t crc, version, contract;

	bytes_get(&r, 8); /* the magic */
	crc = bytes_get_u32(&r);
	version = bytes_get_u32(&r);
	contract = bytes_get_u32(&r);
	if (r.failed || !partial_file_is_one(data, bytes) ||
	    crc != crc32c(0, data + CHECKED_AT, bytes - CHECKED_AT))
		return -EBADMSG;
	return version == PARTIAL_FILE_VERSION && contract == RECORD_CONTRACT_VERSION ? 0 : -EPROTO;
}

int partial_file_parse(struct partial_file **out, const void *data, size_t bytes,
		       const struct partial_options *options)
{
	struct partial_file *file;
	struct partial_options how;
	struct archive a;
	int err = head_check(data, bytes);

	if (err)
		return err;
	a = (struct archive){
		.in = bytes_reader_over((const unsigned char *)data + PARTS_AT, bytes - PARTS_AT)};
	file = partial_file_new(&(struct partial_terms){0});
	if (!file)
		return -ENOMEM;
	archive_terms(&a, file);
	how = partial_file_options(file);
	how.spans = options->spans && file->terms.spans;
	how.only = options->only;
	boots_read(&a, file, &how);
	if (!a.err && a.in.at != a.in.end)
		a.err = -EBADMSG;
	if (!a.err && (err = partial_file_identify(file)))
		a.err = err == -ENOMEM ? err : -EBADMSG;
	if (a.err) {
		partial_file_free(file);
		return a.err;
	}
	*out = file;
	return 0;
}
