/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/doctor_probe.h"
#include "cli/doctor_view.h"
#include "cli/read_options.h"

static int doctor_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct doctor_options *o = fields;
	struct terminal t = terminal_of(stdout);
	struct diagnosis d;
	int err = diagnosis_make(&d, e);

	if (!err && o->json)
		diagnosis_write_json(stdout, &d);
	else if (!err)
		diagnosis_write_text(&t, &d);
	if (!err && !d.can_record) {
		fflush(stdout);
		*e = d.reason;
		err = -d.reason.err;
	}
	diagnosis_free(&d);
	return err;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "check whether this host can record, and what it lacks",
	.usage = "[--json]",
	.description = "Checks what a recording needs from this host, and says what is missing and "
		       "what that\n"
		       "costs. To be sure, it loads and attaches the kernel programs for a moment, "
		       "without\n"
		       "recording anything. Exits with 1 if this host cannot record.",
	.examples = "  fathom doctor\n"
		    "  fathom doctor --json | jq '.findings[] | select(.available | not)'\n",
	.options = doctor_option_table,
	.options_bytes = sizeof(struct doctor_options),
	.run = doctor_run,
};
