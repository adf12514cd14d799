/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void bytes_put(struct bytes *b, const void *data, size_t len)
{
	if (b->failed)
		return;
	if (vec_reserve(b, len)) {
		b->failed = true;
		return;
	}
	if (len > 0)
		memcpy(b->data + b->count, data, len);
	b->count += len;
}

void bytes_put_u8(struct bytes *b, uint8_t value)
{
	bytes_put(b, &value, 1);
}

void bytes_put_u32(struct bytes *b, uint32_t value)
{
	value = htole32(value);
	bytes_put(b, &value, 4);
}

void bytes_put_u64(struct bytes *b, uint64_t value)
{
	value = htole64(value);
	bytes_put(b, &value, 8);
}

void bytes_put_varint(struct bytes *b, uint64_t value)
{
	unsigned char text[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		text[len++] = (unsigned char)(value | 0x80);
	text[len++] = (unsigned char)value;
	bytes_put(b, text, len);
}

void bytes_put_svarint(struct bytes *b, int64_t value)
{
	bytes_put_varint(b, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

void bytes_free(struct bytes *b)
{
	if (!b)
		return;
	free(b->data);
	*b = (struct bytes){0};
}

const void *bytes_get(struct bytes_reader *r, size_t len)
{
	const void *data = r->at;

	if (r->failed || len > (size_t)(r->end - r->at)) {
		r->failed = true;
		return NULL;
	}
	r->at += len;
	return data;
}

uint8_t bytes_get_u8(struct bytes_reader *r)
{
	const uint8_t *at = bytes_get(r, 1);

	return at ? *at : 0;
}

uint32_t bytes_get_u32(struct bytes_reader *r)
{
	const void *at = bytes_get(r, 4);
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, 4);
	return le32toh(value);
}

uint64_t bytes_get_u64(struct bytes_reader *r)
{
	const void *at = bytes_get(r, 8);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, 8);
	return le64toh(value);
}

uint64_t bytes_get_varint(struct bytes_reader *r)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = bytes_get_u8(r);

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return r->failed ? 0 : value;
	}
	r->failed = true;
	return 0;
}

int64_t bytes_get_svarint(struct bytes_reader *r)
{
	uint64_t value = bytes_get_varint(r);

	return (int64_t)((value >> 1) ^ -(value & 1));
}
