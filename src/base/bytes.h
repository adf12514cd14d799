/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer that grows while it is written, and a reader that never reads beyond
 * its input. Fixed numbers are little endian. Varints carry seven bits in each
 * byte, lowest first. Not thread-safe.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Start with all zero. After a failure `failed` stays set and writes do nothing. */
struct bytes {
	unsigned char *data;
	size_t count;
	size_t capacity;
	bool failed; /* out of memory: the contents must not be used */
};

void bytes_put(struct bytes *b, const void *data, size_t len);
void bytes_put_u8(struct bytes *b, uint8_t value);
void bytes_put_u32(struct bytes *b, uint32_t value);
void bytes_put_u64(struct bytes *b, uint64_t value);
void bytes_put_varint(struct bytes *b, uint64_t value);
/* Writes a signed number; small absolute values take few bytes. */
void bytes_put_svarint(struct bytes *b, int64_t value);
void bytes_free(struct bytes *b);

/* Borrows the memory. After a bad read `failed` stays set and reads give 0. */
struct bytes_reader {
	const unsigned char *at;
	const unsigned char *end;
	bool failed;
};

static inline struct bytes_reader bytes_reader_over(const void *data, size_t len)
{
	return (struct bytes_reader){data, (const unsigned char *)data + len, false};
}

/* Returns the next `len` bytes in place (borrowed), or NULL if there are fewer. */
const void *bytes_get(struct bytes_reader *r, size_t len);
uint8_t bytes_get_u8(struct bytes_reader *r);
uint32_t bytes_get_u32(struct bytes_reader *r);
uint64_t bytes_get_u64(struct bytes_reader *r);
uint64_t bytes_get_varint(struct bytes_reader *r);
int64_t bytes_get_svarint(struct bytes_reader *r);

#endif
