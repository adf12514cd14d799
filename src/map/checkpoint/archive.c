/* SPDX-License-Identifier: Apache-2.0 */
#include "map/checkpoint/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void archive_fail(struct archive *a, int err)
{
	if (!a->err)
		a->err = err;
}

void archive_u64(struct archive *a, u64 *value)
{
	if (a->out) {
		bytes_put_varint(a->out, *value);
		return;
	}
	*value = bytes_get_varint(&a->in);
	if (a->in.failed)
		archive_fail(a, -EBADMSG);
}

void archive_s64(struct archive *a, s64 *value)
{
	if (a->out) {
		bytes_put_svarint(a->out, *value);
		return;
	}
	*value = bytes_get_svarint(&a->in);
	if (a->in.failed)
		archive_fail(a, -EBADMSG);
}

/* A number of at most `max`. */
static u64 archive_number(struct archive *a, u64 value, u64 max)
{
	archive_u64(a, &value);
	if (value <= max)
		return value;
	archive_fail(a, -EBADMSG);
	return 0;
}

void archive_time(struct archive *a, u64 *time_ns)
{
	*time_ns = archive_number(a, *time_ns, RECORD_TIME_END_NS);
}

void archive_u32(struct archive *a, u32 *value)
{
	*value = (u32)archive_number(a, *value, UINT32_MAX);
}

void archive_s32(struct archive *a, s32 *value)
{
	s64 wide = *value;

	archive_s64(a, &wide);
	if (wide < INT32_MIN || wide > INT32_MAX)
		archive_fail(a, -EBADMSG);
	*value = (s32)wide;
}

void archive_u16(struct archive *a, u16 *value)
{
	*value = (u16)archive_number(a, *value, UINT16_MAX);
}

void archive_u8(struct archive *a, u8 *value)
{
	*value = (u8)archive_number(a, *value, UINT8_MAX);
}

void archive_bool(struct archive *a, bool *value)
{
	*value = archive_number(a, *value, 1);
}

void archive_bytes(struct archive *a, void *data, size_t bytes)
{
	const void *from;

	if (a->out) {
		bytes_put(a->out, data, bytes);
		return;
	}
	from = bytes_get(&a->in, bytes);
	if (from)
		memcpy(data, from, bytes);
	else
		archive_fail(a, -EBADMSG);
}

void archive_text(struct archive *a, char **text, u32 *bytes)
{
	bool has = *text;
	const void *from;

	archive_bool(a, &has);
	archive_u32(a, bytes);
	if (!has && *bytes)
		archive_fail(a, -EBADMSG);
	if (!has || a->err)
		return;
	if (a->out) {
		bytes_put(a->out, *text, *bytes);
		return;
	}
	from = bytes_get(&a->in, *bytes);
	if (!from) {
		archive_fail(a, -EBADMSG);
		return;
	}
	*text = text_copy(from, *bytes);
	if (!*text)
		archive_fail(a, -ENOMEM);
}

void archive_path(struct archive *a, char **path)
{
	u32 bytes = *path ? (u32)strlen(*path) : 0;

	archive_text(a, path, &bytes);
}

void archive_shared_path(struct archive *a, const char **path)
{
	char *own = (char *)*path;

	archive_path(a, &own);
	if (!archive_reads(a) || !own)
		return;
	*path = texts_keep(a->texts, own, strlen(own));
	if (!*path)
		archive_fail(a, -ENOMEM);
	free(own);
}

void archive_file(struct archive *a, struct file_ref *file)
{
	archive_u64(a, &file->key);
	archive_u32(a, &file->dev);
	archive_u16(a, &file->kind);
	archive_u16(a, &file->flags);
}

void archive_context(struct archive *a, struct context *ctx)
{
	archive_bytes(a, ctx, sizeof(*ctx));
}

size_t archive_count(struct archive *a, size_t count)
{
	u64 n = count;

	archive_u64(a, &n);
	if (archive_reads(a) && n > (size_t)(a->in.end - a->in.at)) {
		archive_fail(a, -EBADMSG);
		return 0;
	}
	return n;
}
