/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "answer/json.h"
#include "cli/command.h"
#include "cli/json_file.h"
#include "cli/read_options.h"
#include "recorder/control.h"

static void sealed_print(const char *path)
{
	struct json json;

	json_init_file(&json, stdout);
	sealed_write_json(&json, path);
}

/* Sends the request, waits, and prints the path of the chunk. */
static int chunk_ask(const struct dir_options *o, const struct control_request *request,
		     struct error *e)
{
	char path[4200];
	int err = control_ask(o->dir, request, path, sizeof(path), e);

	if (err)
		return err;
	if (o->json)
		sealed_print(path);
	else
		printf("%s\n", path);
	return 0;
}

static int rotate_run(const void *fields, const struct operands *operands, struct error *e)
{
	return chunk_ask(fields, &(struct control_request){.line = "rotate\n"}, e);
}

static int snapshot_run(const void *fields, const struct operands *operands, struct error *e)
{
	return chunk_ask(fields, &(struct control_request){.line = "snapshot\n", .flight = true},
			 e);
}

const struct command command_rotate = {
	.name = "rotate",
	.summary = "seal the chunk that is being written, and print its path",
	.usage = "[DIR] [--json]",
	.description =
		"Makes the recorder of DIR (default: fathom.data) seal its chunk and begin a "
		"new one.\n"
		"No record is lost, and the traced programs are not stopped.",
	.examples = "  fathom rotate\n  fathom rotate /var/lib/fathom\n",
	.options = seal_option_table,
	.options_bytes = sizeof(struct dir_options),
	.takes_recordings = true,
	.check = dir_options_check,
	.run = rotate_run,
};

const struct command command_snapshot = {
	.name = "snapshot",
	.summary = "write the memory of a flight recorder to a chunk",
	.usage = "[DIR] [--json]",
	.description =
		"Makes the flight recorder of DIR (default: fathom.data), which was started "
		"with\n"
		"'fathom record --flight', write its memory to a chunk, waits until the chunk "
		"is\n"
		"sealed, and prints its path. The recording goes on.",
	.examples = "  fathom record --flight -o /var/lib/fathom &\n"
		    "  fathom report $(fathom snapshot /var/lib/fathom)\n",
	.options = seal_option_table,
	.options_bytes = sizeof(struct dir_options),
	.check = dir_options_check,
	.run = snapshot_run,
};

static int stop_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct dir_options *o = fields;
	char answer[64];

	return control_ask(o->dir, &(struct control_request){.line = "stop\n"}, answer,
			   sizeof(answer), e);
}

const struct command command_stop = {
	.name = "stop",
	.summary = "end a recording, and wait until it is sealed",
	.usage = "[DIR]",
	.description =
		"Makes the recorder of DIR (default: fathom.data) end, as Ctrl-C does, and waits "
		"until\n"
		"its last chunk is sealed. A command that is recorded is left running.",
	.examples = "  fathom record -o /var/lib/fathom &\n"
		    "  fathom stop /var/lib/fathom\n",
	.options = stop_option_table,
	.options_bytes = sizeof(struct dir_options),
	.check = dir_options_check,
	.run = stop_run,
};
