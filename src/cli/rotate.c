/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/chunks_view.h"
#include "cli/command.h"
#include "cli/read_options.h"
#include "recorder/control.h"

/* Asks, waits, and prints the path of the chunk. */
static int chunk_ask(const struct dir_options *o, const struct control_request *request,
		     struct error *e)
{
	char path[4200];
	int err = control_ask(o->dir, request, path, sizeof(path), e);

	if (err)
		return err;
	if (o->json)
		sealed_write_json(stdout, path);
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
	.summary = "end the chunk that is being written, wait until it is sealed, print its path",
	.usage = "[DIR] [--json]",
	.description = "Asks the recorder of DIR (default: fathom.data) to go on in a new chunk.\n"
		       "No record is lost, and the traced programs do not notice.",
	.examples = "  fathom rotate\n  fathom rotate /var/lib/fathom\n",
	.options = seal_option_table,
	.options_bytes = sizeof(struct dir_options),
	.check = dir_options_check,
	.run = rotate_run,
};

const struct command command_snapshot = {
	.name = "snapshot",
	.summary = "write what a flight recorder holds",
	.usage = "[DIR] [--json]",
	.description = "Makes the recording that was started with --flight and writes to DIR "
		       "(default:\n"
		       "fathom.data) write what its memory holds as a chunk, waits until it is "
		       "sealed, and\n"
		       "prints its path. The recording goes on.",
	.examples = "  fathom record --flight -o /var/lib/fathom &\n"
		    "  fathom report $(fathom snapshot /var/lib/fathom)\n",
	.options = seal_option_table,
	.options_bytes = sizeof(struct dir_options),
	.check = dir_options_check,
	.run = snapshot_run,
};
