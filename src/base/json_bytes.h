/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in memory. */
#ifndef BASE_JSON_BYTES_H
#define BASE_JSON_BYTES_H

#include "base/bytes.h"
#include "base/json.h"

/* A document that grows, up to 128 MB: then it fails with -ENOMEM. It is appended to `to`. */
void json_init_bytes(struct json *j, struct bytes *to);

#endif
