/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the receivers write into the log, an entry for each request. Numbers are little endian.
 *
 *   offset size
 *        0    1  kind of the body: 1: OTLP in protobuf; 2: Zipkin, version 2, in JSON
 *        1    1  compression of the body: 1: Zstandard
 *        2    2  number of the connection (serve/senders.h) in the run that wrote it; 0: not known
 *        4    4  bytes of the body before compression
 *        8    8  when it was received, nanoseconds since 1970
 *       16       the body
 */
#ifndef SERVE_ENTRY_H
#define SERVE_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum entry_kind { ENTRY_OTLP_PROTOBUF = 1, ENTRY_ZIPKIN_JSON = 2 };

#define BODY_BYTES_MAX ((size_t)16 << 20)

/* Replaces the contents of `out` by the entry of a body. 0 or -ENOMEM. */
int entry_encode(struct bytes *out, enum entry_kind kind, const void *body, size_t bytes);

/* Sets and reads the number of the connection; 0 if the entry is none. */
void entry_connection_set(struct bytes *entry, uint16_t connection);
uint16_t entry_connection(const void *entry, size_t bytes);

/* Replaces the contents of `body`. 0 and the kind; -EBADMSG if the entry is none;
 * -EPROTONOSUPPORT if a newer fathom wrote it; -ENOMEM. */
int entry_decode(const void *entry, size_t bytes, enum entry_kind *kind, struct bytes *body);

#endif
