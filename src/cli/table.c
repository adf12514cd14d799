/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of commands: a row for each file.
 */
#include "cli/command.h"

extern const struct command command_version;
extern const struct command command_help_command;

const struct command *const command_table[] = {
	&command_version,
	&command_help_command,
	NULL,
};
