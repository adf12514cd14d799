/* SPDX-License-Identifier: Apache-2.0 */
/* Writes protobuf, as far as OpenTelemetry's KeyValue needs it. */
#ifndef LIB_PROTOBUF_WRITE_H
#define LIB_PROTOBUF_WRITE_H

#include <stdbool.h>
#include <string.h>

#include "record/record.h"

struct protobuf {
	u8 *data;
	size_t size;
	size_t bytes;
	bool full; /* something did not fit: the contents are not valid */
};

static inline void protobuf_init(struct protobuf *p, u8 *data, size_t size)
{
	*p = (struct protobuf){.data = data, .size = size};
}

static inline void protobuf_raw(struct protobuf *p, const void *data, size_t bytes)
{
	if (bytes > p->size - p->bytes) {
		p->full = true;
		return;
	}
	memcpy(p->data + p->bytes, data, bytes);
	p->bytes += bytes;
}

static inline void protobuf_varint(struct protobuf *p, u64 value)
{
	u8 byte;

	do {
		byte = (u8)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		protobuf_raw(p, &byte, 1);
		value >>= 7;
	} while (value);
}

static inline size_t protobuf_varint_bytes(u64 value)
{
	size_t bytes = 1;

	while (value >>= 7)
		bytes++;
	return bytes;
}

/* Writes a field of bytes, a string or a message, which have one form on the wire. */
static inline void protobuf_bytes(struct protobuf *p, u32 field, const void *data, size_t bytes)
{
	protobuf_varint(p, field << 3 | 2);
	protobuf_varint(p, bytes);
	protobuf_raw(p, data, bytes);
}

/* The length of a field with `bytes` bytes. Our field numbers are below 16. */
static inline size_t protobuf_field_bytes(size_t bytes)
{
	return 1 + protobuf_varint_bytes(bytes) + bytes;
}

/* The length of what protobuf_attribute() writes. */
static inline size_t protobuf_attribute_bytes(const char *key, const char *value)
{
	size_t any = protobuf_field_bytes(strlen(value));

	return protobuf_field_bytes(protobuf_field_bytes(strlen(key)) + protobuf_field_bytes(any));
}

/* KeyValue { key = 1; AnyValue { string_value = 1 } value = 2 } */
static inline void protobuf_attribute(struct protobuf *p, u32 field, const char *key,
				      const char *value)
{
	size_t any = protobuf_field_bytes(strlen(value));

	protobuf_varint(p, field << 3 | 2);
	protobuf_varint(p, protobuf_field_bytes(strlen(key)) + protobuf_field_bytes(any));
	protobuf_bytes(p, 1, key, strlen(key));
	protobuf_varint(p, 2 << 3 | 2);
	protobuf_varint(p, any);
	protobuf_bytes(p, 1, value, strlen(value));
}

/* KeyValue { key = 1; AnyValue { ArrayValue array_value = 5 } value = 2 } of no values */
static inline void protobuf_empty_array(struct protobuf *p, u32 field, const char *key)
{
	static const u8 any[] = {5 << 3 | 2, 0};

	protobuf_varint(p, field << 3 | 2);
	protobuf_varint(p, protobuf_field_bytes(strlen(key)) + protobuf_field_bytes(sizeof(any)));
	protobuf_bytes(p, 1, key, strlen(key));
	protobuf_bytes(p, 2, any, sizeof(any));
}

#endif
