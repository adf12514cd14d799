/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), as iSCSI and ext4 use it: crc32c("123456789") is 0xe3069283. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum; begin with 0. crc32c(crc32c(0, a), b) is the checksum of a and b joined. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/*
 * The difference of two checksums after `len` equal further bytes, if they differ by `difference`
 * before. The bytes need not be read: crc32c(a, data, len) is crc32c(b, data, len) ^
 * crc32c_moved(a ^ b, len).
 */
uint32_t crc32c_moved(uint32_t difference, size_t len);

#endif
