/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a request, inflated as it comes, up to a limit. */
#ifndef SERVE_BODY_H
#define SERVE_BODY_H

#include <stdbool.h>
#include <zlib.h>

#include "base/bytes.h"

struct body {
	struct bytes bytes;
	size_t limit_bytes; /* after decompression */
	bool is_gzip, inflating, ended;
	z_stream stream;
};

void body_begin(struct body *b, size_t limit_bytes, bool is_gzip);

/* Takes the next piece. 0, -EFBIG beyond the limit, -EBADMSG if it is no gzip, -ENOMEM. */
int body_add(struct body *b, const void *data, size_t bytes);

/* Everything came. 0, or -EBADMSG if the gzip is cut. */
int body_finish(struct body *b);

/* The memory that it takes, that of zlib included. */
size_t body_memory(const struct body *b);

void body_free(struct body *b);

#endif
