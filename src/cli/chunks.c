/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "answer/json.h"
#include "answer/range.h"
#include "chunk/chunk.h"
#include "cli/chunks_view.h"
#include "cli/command.h"
#include "cli/json_file.h"
#include "cli/read_options.h"

/* Prints a line for each damaged chunk on stderr, so that stdout has only the answer. */
static void damage_print(void *arg, const char *text)
{
	fprintf(stderr, "fathom chunks: %s\n", text);
}

/* Puts the chunks that overlap the range into rows, and returns their number. */
static size_t rows_choose(struct chunk_row *rows, const struct recording_info *info,
			  const struct partial_options *range)
{
	size_t count = 0;

	for (size_t i = 0; i < info->chunk_count; i++) {
		const struct chunk_info *chunk = &info->chunks[i];

		if (chunk->end_ns >= range->from_ns &&
		    (!range->to_ns || chunk->begin_ns < range->to_ns))
			rows[count++] = chunk_row_of(chunk);
	}
	return count;
}

static int rows_show(const struct dir_options *options, const struct recording_info *info,
		     struct error *e)
{
	struct chunk_row *rows = calloc(info->chunk_count + 1, sizeof(*rows));
	struct terminal t = terminal_of(stdout);
	struct partial_options range = {0};
	struct json json;
	size_t count;
	int err;

	if (!rows)
		return error_set(e, ENOMEM, "cannot list %s", options->dir);
	range_points(&options->from, &options->to, info, &range);
	/* whatever is damaged is listed, too, and nobody asked for a time */
	err = range.from_ns || range.to_ns ? range_check(&range, info->begin_ns, info->end_ns, e)
					   : 0;
	if (err) {
		free(rows);
		return err;
	}
	count = rows_choose(rows, info, &range);
	if (options->json) {
		json_init_file(&json, stdout);
		chunks_write_json(&json, rows, count);
	} else {
		chunks_write_text(&t, rows, count);
	}
	free(rows);
	return 0;
}

static int chunks_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct dir_options *options = fields;
	const struct recording_options how = {
		.boot = options->boot, .with_open = true, .damage = damage_print};
	struct recording *recording = NULL;
	int err = recording_open(&recording, &options->dir, 1, &how, e);

	if (err)
		return err;
	err = rows_show(options, recording_info(recording), e);
	recording_close(recording);
	return err;
}

const struct command command_chunks = {
	.name = "chunks",
	.summary = "list the chunks of a recording",
	.usage = "[DIR] [--from T] [--to T] [--boot N] [--json]",
	.description =
		"Shows the time range, records, bytes, losses and state of each chunk in DIR\n"
		"(default: fathom.data).",
	.examples = "  fathom chunks\n  fathom chunks --json /var/lib/fathom",
	.options = chunks_option_table,
	.options_bytes = sizeof(struct dir_options),
	.takes_recordings = true,
	.check = chunks_options_check,
	.run = chunks_run,
};
