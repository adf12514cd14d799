/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "record/record.h"

static int version_run(const void *options, const struct operands *operands, struct error *e)
{
	printf("fathom %s (records: version %d)\n", FATHOM_VERSION, RECORD_CONTRACT_VERSION);
	return 0;
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version of fathom and of its records",
	.usage = "",
	.run = version_run,
};
