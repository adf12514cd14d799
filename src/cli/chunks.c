/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "answer/json.h"
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

static int rows_show(const struct dir_options *options, const struct recording_info *info,
		     struct error *e)
{
	struct chunk_row *rows = calloc(info->chunk_count + 1, sizeof(*rows));
	struct terminal t = terminal_of(stdout);
	struct json json;

	if (!rows)
		return error_set(e, ENOMEM, "cannot list %s", options->dir);
	for (size_t i = 0; i < info->chunk_count; i++)
		rows[i] = chunk_row_of(&info->chunks[i]);
	if (options->json) {
		json_init_file(&json, stdout);
		chunks_write_json(&json, rows, info->chunk_count);
	} else {
		chunks_write_text(&t, rows, info->chunk_count);
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
	.usage = "[DIR] [--boot N] [--json]",
	.description =
		"Shows the time range, records, bytes, losses and state of each chunk in DIR\n"
		"(default: fathom.data).",
	.examples = "  fathom chunks\n  fathom chunks --json /var/lib/fathom",
	.options = chunks_option_table,
	.options_bytes = sizeof(struct dir_options),
	.check = dir_options_check,
	.run = chunks_run,
};
