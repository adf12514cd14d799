/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording_operands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/files.h"
#include "recorder/default_dir.h"

/* 32 hex digits that name neither a directory nor a file */
static bool is_trace_id(const char *text)
{
	struct stat st;

	if (strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32)
		return false;
	return stat(text, &st) != 0;
}

/* Whether this looks like an incomplete trace id. */
static bool is_cut_trace_id(const char *text)
{
	size_t digits = strspn(text, "0123456789abcdefABCDEF");
	struct stat st;

	return digits >= 8 && !text[digits] && stat(text, &st) != 0;
}

int recording_operands_read(const struct operands *operands, const char ***dirs, size_t *dirs_count,
			    const char **trace_id, struct error *e)
{
	*dirs_count = 0;
	*dirs = calloc(operands->count + 1, sizeof(**dirs));
	if (!*dirs)
		return error_set(e, ENOMEM, "cannot read the command line");
	if (operands->command)
		return error_say(e, EINVAL, "no argument is allowed after --");
	for (size_t i = 0; i < operands->count; i++) {
		const char *item = operands->items[i];

		if (is_cut_trace_id(item) && !is_trace_id(item))
			return error_say(
				e, EINVAL,
				"%s is no directory or file, and a trace id has 32 hex digits",
				item);
		if (!is_trace_id(item))
			(*dirs)[(*dirs_count)++] = item;
		else if (*trace_id)
			return error_say(e, EINVAL, "only one trace id is allowed");
		else
			*trace_id = item;
	}
	if (*dirs_count == 0)
		(*dirs)[(*dirs_count)++] = DEFAULT_DIR;
	return 0;
}

int recording_range_check(const struct time_point *from, const struct time_point *to,
			  const char *const *dirs, size_t dirs_count, struct error *e)
{
	if (time_points_cross(from, to))
		return error_say(e, EINVAL, "--from must lie before --to");
	if ((from->kind || to->kind) && has_partial_path(dirs, dirs_count))
		return error_say(e, EINVAL,
				 "the range of a partial file is chosen when its chunks are "
				 "mapped: give --from and --to to 'fathom map'");
	return 0;
}
