/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a chunk: the event layout of format.h in TSDL, from the lists of record.h. */
#ifndef CHUNK_METADATA_H
#define CHUNK_METADATA_H

#include "chunk/chunk.h"

/* Writes `metadata` into the directory, and sets its size and CRC-32C. 0 or a negative errno. */
int metadata_write(int dir, const struct chunk_info *info, uint64_t *bytes, uint32_t *crc,
		   struct error *e);

#endif
