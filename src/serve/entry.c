/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/clock.h"

#define HEAD_BYTES 16
#define CONNECTION_AT 2
#define COMPRESSION_ZSTD 1
#define LEVEL 1

/* Makes the buffer hold that many bytes; its contents are lost. */
static int buffer_size(struct bytes *b, size_t bytes)
{
	unsigned char *data;

	b->count = 0;
	b->failed = false;
	if (b->capacity >= bytes)
		return 0;
	data = realloc(b->data, bytes);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->capacity = bytes;
	return 0;
}

int entry_encode(struct bytes *out, enum entry_kind kind, const void *body, size_t bytes)
{
	size_t bound = ZSTD_compressBound(bytes), packed;
	int err = buffer_size(out, HEAD_BYTES + bound);

	if (err)
		return err;
	bytes_put_u8(out, (uint8_t)kind);
	bytes_put_u8(out, COMPRESSION_ZSTD);
	bytes_put(out, "\0\0", 2);
	bytes_put_u32(out, (uint32_t)bytes);
	bytes_put_u64(out, clock_read_ns(CLOCK_REALTIME));
	packed = ZSTD_compress(out->data + HEAD_BYTES, bound, body, bytes, LEVEL);
	if (ZSTD_isError(packed))
		return -ENOMEM;
	out->count += packed;
	return 0;
}

void entry_connection_set(struct bytes *entry, uint16_t connection)
{
	if (entry->count < HEAD_BYTES)
		return;
	entry->data[CONNECTION_AT] = (unsigned char)connection;
	entry->data[CONNECTION_AT + 1] = (unsigned char)(connection >> 8);
}

uint16_t entry_connection(const void *entry, size_t bytes)
{
	const unsigned char *at = entry;

	if (bytes < HEAD_BYTES)
		return 0;
	return (uint16_t)(at[CONNECTION_AT] | at[CONNECTION_AT + 1] << 8);
}

int entry_decode(const void *entry, size_t bytes, enum entry_kind *kind, struct bytes *body)
{
	struct bytes_reader r = bytes_reader_over(entry, bytes);
	uint8_t what = bytes_get_u8(&r), compression = bytes_get_u8(&r);
	size_t size, n;
	int err;

	bytes_get(&r, 2);
	size = bytes_get_u32(&r);
	bytes_get_u64(&r);
	if (r.failed || size > BODY_BYTES_MAX)
		return -EBADMSG;
	if ((what != ENTRY_OTLP_PROTOBUF && what != ENTRY_ZIPKIN_JSON) ||
	    compression != COMPRESSION_ZSTD)
		return -EPROTONOSUPPORT;
	err = buffer_size(body, size ? size : 1);
	if (err)
		return err;
	n = ZSTD_decompress(body->data, size, r.at, (size_t)(r.end - r.at));
	if (ZSTD_isError(n) || n != size)
		return -EBADMSG;
	body->count = size;
	*kind = what;
	return 0;
}
