/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/body.h"

#include <errno.h>
#include <string.h>

#define INFLATE_BYTES ((size_t)44 << 10) /* of zlib: its window, and its state */

void body_begin(struct body *b, size_t limit_bytes, bool is_gzip)
{
	memset(b, 0, sizeof(*b));
	b->limit_bytes = limit_bytes;
	b->is_gzip = is_gzip;
}

static int plain_add(struct body *b, const void *data, size_t bytes)
{
	if (bytes > b->limit_bytes - b->bytes.count)
		return -EFBIG;
	bytes_put(&b->bytes, data, bytes);
	return b->bytes.failed ? -ENOMEM : 0;
}

/* Inflates until the input is used up, a piece of output at a time, so that the limit holds. */
static int gzip_add(struct body *b, const void *data, size_t bytes)
{
	unsigned char out[16384];
	int err = 0;

	b->stream.next_in = (Bytef *)data;
	b->stream.avail_in = (uInt)bytes;
	while (!err && !b->ended) {
		int state;

		b->stream.next_out = out;
		b->stream.avail_out = sizeof(out);
		state = inflate(&b->stream, Z_NO_FLUSH);
		if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
			return state == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
		b->ended = state == Z_STREAM_END;
		err = plain_add(b, out, sizeof(out) - b->stream.avail_out);
		if (b->stream.avail_out)
			break; /* it needs more input */
	}
	/* nothing may follow the end: it would be smuggled past the checks */
	return !err && b->ended && b->stream.avail_in ? -EBADMSG : err;
}

int body_add(struct body *b, const void *data, size_t bytes)
{
	if (!b->is_gzip)
		return plain_add(b, data, bytes);
	if (bytes > UINT32_MAX)
		return -EFBIG;
	if (!b->inflating && inflateInit2(&b->stream, 15 + 16) != Z_OK)
		return -ENOMEM;
	b->inflating = true;
	return gzip_add(b, data, bytes);
}

int body_finish(struct body *b)
{
	return b->is_gzip && !b->ended ? -EBADMSG : 0;
}

size_t body_memory(const struct body *b)
{
	return b->bytes.capacity + (b->inflating ? INFLATE_BYTES : 0);
}

void body_free(struct body *b)
{
	if (b->inflating)
		inflateEnd(&b->stream);
	b->inflating = false;
	bytes_free(&b->bytes);
}
