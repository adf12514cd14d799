/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json_file.h"

#include <errno.h>

static int file_write(void *arg, const char *data, size_t bytes)
{
	return fwrite_unlocked(data, 1, bytes, arg) == bytes ? 0 : -EIO;
}

void json_init_file(struct json *j, FILE *file)
{
	json_init(j, &(struct json_sink){file_write, file});
}
