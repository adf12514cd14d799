/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/recover.h"

#include <stdio.h>

static void left_report(void *arg, const struct chunk_info *info, const struct error *why)
{
	size_t *left = arg;

	if (info)
		return;
	fprintf(stderr, "fathom: a chunk left open by a crash cannot be recovered: %s\n",
		why->text);
	++*left;
}

int recover_report(const char *dir, const struct recording_hold *hold, size_t *left,
		   struct error *e)
{
	size_t count = 0;
	int err = recording_recover(dir, hold, left_report, &count, e);

	if (err < 0)
		return err;
	if (left)
		*left = count;
	return 0;
}
