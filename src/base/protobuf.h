/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the fields of a protobuf message one after the other, in place. Allocates nothing, and does
 * not recurse: the caller descends into the messages that it knows.
 */
#ifndef BASE_PROTOBUF_H
#define BASE_PROTOBUF_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOBUF_VARINT 0
#define PROTOBUF_FIXED64 1
#define PROTOBUF_BYTES 2
#define PROTOBUF_FIXED32 5

struct protobuf_bytes {
	const char *data;
	size_t len;
};

struct protobuf_field {
	uint32_t number;
	uint32_t type;		     /* PROTOBUF_* */
	uint64_t value;		     /* for PROTOBUF_VARINT, _FIXED64 and _FIXED32 */
	struct protobuf_bytes bytes; /* for PROTOBUF_BYTES; points into the message */
};

static inline int protobuf_varint(struct protobuf_bytes *from, uint64_t *value)
{
	uint64_t sum = 0;

	if (from->len && !(from->data[0] & 128)) { /* most have one byte */
		*value = (unsigned char)*from->data++;
		from->len--;
		return 0;
	}
	for (unsigned int i = 0; i < 10 && i < from->len; i++) {
		uint64_t byte = (unsigned char)from->data[i];

		sum |= (byte & 127) << (7 * i);
		if (byte & 128)
			continue;
		from->data += i + 1;
		from->len -= i + 1;
		*value = sum;
		return 0;
	}
	return -EPROTO;
}

/* Reads a little-endian number of `bytes` (4 or 8) from fields of a fixed size. */
static inline int protobuf_fixed(struct protobuf_bytes *from, size_t bytes, uint64_t *value)
{
	if (bytes > from->len)
		return -EPROTO;
	*value = 0;
	for (size_t i = 0; i < bytes; i++)
		*value |= (uint64_t)(unsigned char)from->data[i] << (8 * i);
	from->data += bytes;
	from->len -= bytes;
	return 0;
}

static inline int protobuf_skip(struct protobuf_bytes *from, uint64_t len)
{
	if (len > from->len)
		return -EPROTO;
	from->data += len;
	from->len -= (size_t)len;
	return 0;
}

/* Takes the next field: 1, 0 at the end, or -EPROTO if the message is malformed. */
static inline int protobuf_next(struct protobuf_bytes *from, struct protobuf_field *field)
{
	uint64_t tag, len;

	if (!from->len)
		return 0;
	if (protobuf_varint(from, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
		return -EPROTO;
	*field = (struct protobuf_field){.number = (uint32_t)(tag >> 3), .type = tag & 7};
	switch (field->type) {
	case PROTOBUF_VARINT:
		return protobuf_varint(from, &field->value) ? -EPROTO : 1;
	case PROTOBUF_FIXED64:
		return protobuf_fixed(from, 8, &field->value) ? -EPROTO : 1;
	case PROTOBUF_FIXED32:
		return protobuf_fixed(from, 4, &field->value) ? -EPROTO : 1;
	case PROTOBUF_BYTES:
		if (protobuf_varint(from, &len))
			return -EPROTO;
		field->bytes.data = from->data;
		field->bytes.len = (size_t)len;
		return protobuf_skip(from, len) ? -EPROTO : 1;
	}
	return -EPROTO; /* groups, and types that are not defined */
}

#endif
