/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of OTLP in JSON become the same requests in protobuf, so that one walk, one decoder and
 * one format of the log serve both.
 *
 * The JSON is that of protobuf, with the exceptions that OTLP makes: ids are hex digits of either
 * case. Numbers of 64 bits are numbers or texts. Kinds and codes are numbers or names. Unknown keys
 * are passed over. A trace id of 16 digits is one of 32 with zeros before it.
 */
#ifndef WIRE_OTLP_JSON_H
#define WIRE_OTLP_JSON_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/error.h"

/*
 * Appends the request in protobuf, which is never longer. 0; -EPROTO with a cause if it is
 * malformed; -ENOMEM. Ids of zeros, the depth of values and their count are for otlp_walk().
 */
int otlp_from_json(const void *data, size_t bytes, struct bytes *out, struct error *e);

#endif
