/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/status_text.h"
#include "cli/up_dir.h"
#include "up/ask.h"

struct status_options {
	const char *dir;
	bool json;
};

#define AT(field) offsetof(struct status_options, field)
static const struct option status_option_table[] = {
	{"output", 'o', "DIR", "the directory of 'fathom up' (default: that of 'fathom up')", NULL,
	 AT(dir), option_text},
	{"json", 0, NULL, "print JSON", NULL, AT(json), option_flag},
	{0},
};
#undef AT

static int status_check(void *options, const struct operands *operands, struct error *e)
{
	struct status_options *o = options;

	if (operands->count == 1 && !o->dir) {
		o->dir = operands->items[0];
		return 0;
	}
	if (operands->count || operands->command)
		return error_say(e, EINVAL, "only one directory is allowed");
	return 0;
}

static int status_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct status_options *o = fields;
	char text[UP_DIR_BYTES];
	struct bytes document = {0};
	int err = up_ask(up_dir(o->dir, text), &document, e);

	if (!err && o->json)
		fwrite(document.data, 1, document.count, stdout);
	else if (!err)
		err = status_text_print(stdout, document.data, document.count, e);
	bytes_free(&document);
	return err;
}

const struct command command_status = {
	.name = "status",
	.summary = "tell how a running 'fathom up' is",
	.usage = "[-o DIR] [--json] [DIR]",
	.description =
		"Shows the processes of a running 'fathom up' with their CPU time and memory, how "
		"far\n"
		"each stage is behind, what was recorded, mapped, received and stored, and the "
		"state:\n"
		"ok, lagging (a part is missing, or more than five seconds behind), full (the "
		"disk),\n"
		"store failed or log failed.\n"
		"Exits with 1 if none runs.",
	.examples = "  fathom status\n"
		    "  fathom status /srv/fathom --json\n",
	.options = status_option_table,
	.options_bytes = sizeof(struct status_options),
	.check = status_check,
	.run = status_run,
};
