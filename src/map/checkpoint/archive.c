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

/* Writes or reads a number of at most `max`. */
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

void archive_split(struct archive *a, struct split *split)
{
	u16 parts = 0;

	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		parts |= (u16)((split->ns[i] != 0) << i);
	archive_u16(a, &parts);
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		if (parts & 1 << i)
			archive_s64(a, &split->ns[i]);
	if (parts >> SPLIT_PARTS_COUNT)
		archive_fail(a, -EBADMSG);
}

void archive_work(struct archive *a, struct work_split *work)
{
	u16 parts = 0;

	for (int i = 0; i < WORK_PARTS_COUNT; i++)
		parts |= (u16)((work->ns[i] != 0) << i);
	archive_u16(a, &parts);
	for (int i = 0; i < WORK_PARTS_COUNT; i++)
		if (parts & 1 << i)
			archive_s64(a, &work->ns[i]);
	if (parts >> WORK_PARTS_COUNT)
		archive_fail(a, -EBADMSG);
}

/* ---- lists of which the order means nothing ---- */

void archive_order_begin(struct archive *a, struct archive_order *order)
{
	order->out = a->out;
	a->out = &order->bytes;
}

void archive_order_next(struct archive *a, struct archive_order *order)
{
	size_t n = order->pieces.count;
	size_t at = n ? order->pieces.data[n - 1].at + order->pieces.data[n - 1].bytes : 0;

	if (vec_push(&order->pieces, (struct archive_piece){at, order->bytes.count - at}))
		archive_fail(a, -ENOMEM);
}

static int piece_compare(const void *a, const void *b, void *arg)
{
	const struct archive_piece *x = a, *y = b;
	const unsigned char *bytes = arg;
	int order = memcmp(bytes + x->at, bytes + y->at, x->bytes < y->bytes ? x->bytes : y->bytes);

	return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

void archive_order_end(struct archive *a, struct archive_order *order)
{
	a->out = order->out;
	if (order->bytes.failed)
		archive_fail(a, -ENOMEM);
	if (!a->err && order->pieces.count)
		qsort_r(order->pieces.data, order->pieces.count, sizeof(*order->pieces.data),
			piece_compare, order->bytes.data);
	for (size_t i = 0; i < order->pieces.count && !a->err; i++)
		bytes_put(a->out, order->bytes.data + order->pieces.data[i].at,
			  order->pieces.data[i].bytes);
	vec_free(&order->pieces);
	bytes_free(&order->bytes);
}
