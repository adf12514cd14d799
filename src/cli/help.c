/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cli/command.h"

static int help_check(void *options, const struct operands *operands, struct error *e)
{
	if (operands->count > 1 || operands->command)
		return error_say(e, EINVAL, "only one command name is allowed");
	if (operands->count == 1 && !command_find(operands->items[0]))
		return error_say(e, EINVAL, "unknown command '%s'; 'fathom help' lists them",
				 operands->items[0]);
	return 0;
}

static int help_run(const void *options, const struct operands *operands, struct error *e)
{
	if (operands->count == 1)
		command_help(command_find(operands->items[0]), stdout);
	else
		commands_help(stdout);
	return 0;
}

const struct command command_help_command = {
	.name = "help",
	.summary = "list the commands, or explain one",
	.usage = "[COMMAND]",
	.examples = "  fathom help record",
	.check = help_check,
	.run = help_run,
};
