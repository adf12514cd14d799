/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes: "fathomrq", KEPT_VERSION (4), the boot (CHUNK_BOOT_BYTES), the three times (8 each),
 * and what learned_write() says.
 */
#include "up/requests_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/file.h"
#include "request/learned_keep.h"

#define KEPT_FILE "requests"
#define KEPT_VERSION 1
#define KEPT_BYTES_MAX ((size_t)16 << 20)

static const char magic[8] = "fathomrq";

static int kept_parse(const void *data, size_t bytes, const char *boot_id,
		      struct requests_kept *kept)
{
	struct bytes_reader r = bytes_reader_over(data, bytes);
	const void *head = bytes_get(&r, sizeof(magic));
	u32 version = bytes_get_u32(&r);
	const char *boot = bytes_get(&r, CHUNK_BOOT_BYTES);
	struct requests_kept read = {0};
	int err;

	read.decided_ns = bytes_get_u64(&r);
	read.undecided_ns = bytes_get_u64(&r);
	read.learned_ns = bytes_get_u64(&r);
	if (r.failed || memcmp(head, magic, sizeof(magic)) != 0 || version != KEPT_VERSION)
		return -EBADMSG;
	err = learned_read(&read.learned, r.at, (size_t)(r.end - r.at));
	if (err) {
		learned_free(&read.learned);
		return err;
	}
	if (strncmp(boot, boot_id, CHUNK_BOOT_BYTES) != 0) /* times of another clock */
		read.decided_ns = read.undecided_ns = read.learned_ns = 0;
	*kept = read;
	return 0;
}

int requests_kept_read(int dir, const char *boot_id, struct requests_kept *kept)
{
	size_t bytes;
	void *data;
	int err;

	if (dir < 0 || file_read_all(dir, KEPT_FILE, KEPT_BYTES_MAX, &data, &bytes))
		return 0;
	err = kept_parse(data, bytes, boot_id, kept);
	free(data);
	return err == -ENOMEM ? err : 0;
}

void requests_kept_write(int dir, const char *boot_id, struct requests_kept *kept)
{
	char boot[CHUNK_BOOT_BYTES] = "";
	struct bytes out = {0};

	if (dir < 0)
		return;
	memcpy(boot, boot_id, strnlen(boot_id, sizeof(boot) - 1));
	bytes_put(&out, magic, sizeof(magic));
	bytes_put_u32(&out, KEPT_VERSION);
	bytes_put(&out, boot, sizeof(boot));
	bytes_put_u64(&out, kept->decided_ns);
	bytes_put_u64(&out, kept->undecided_ns);
	bytes_put_u64(&out, kept->learned_ns);
	learned_write(&kept->learned, &out);
	if (!out.failed && out.count <= KEPT_BYTES_MAX)
		file_replace(dir, KEPT_FILE, out.data, out.count, false);
	bytes_free(&out);
}
