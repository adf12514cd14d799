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
	.summary = "say what this kernel offers and what is missing",
	.usage = "[--json]",
	.description = "Probes what recording needs and uses, says what is there, what is missing, "
		       "and what\n"
		       "that costs. To be sure, it loads and attaches the kernel programs for a "
		       "moment, with\n"
		       "nothing in their scope. Ends with 1 if nothing can be recorded.",
	.examples = "  fathom doctor\n"
		    "  fathom doctor --json | jq '.findings[] | select(.available | not)'\n",
	.options = doctor_option_table,
	.options_bytes = sizeof(struct doctor_options),
	.run = doctor_run,
};
