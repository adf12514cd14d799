/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_bytes.h"

#include <errno.h>

#define DOCUMENT_BYTES_MAX ((size_t)128 << 20)

static int bytes_append(void *arg, const char *data, size_t bytes)
{
	struct bytes *to = arg;

	if (bytes > DOCUMENT_BYTES_MAX - to->count)
		return -ENOMEM;
	bytes_put(to, data, bytes);
	return to->failed ? -ENOMEM : 0;
}

void json_init_bytes(struct json *j, struct bytes *to)
{
	const struct json_sink sink = {bytes_append, to};

	json_init(j, &sink);
}
