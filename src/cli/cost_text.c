/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cost_text.h"

#include <stdio.h>

/* "1.2 %", and with one digit that is not 0 below a tenth. */
static void percent_write(uint64_t ns, uint64_t of_ns, char text[16])
{
	double percent = 100.0 * (double)ns / (double)of_ns;

	snprintf(text, 16, percent && percent < 0.05 ? "%.2f %%" : "%.1f %%", percent);
}

const char *cost_text(const struct cost_view *cost, uint64_t cpu_ns, char text[COST_TEXT_BYTES])
{
	char all[16], programs[16];

	percent_write(cost->programs_ns + cost->processes_ns, cpu_ns, all);
	percent_write(cost->programs_ns, cpu_ns, programs);
	if (cost->measured)
		snprintf(text, COST_TEXT_BYTES, "%s of the CPUs, %s in kernel programs", all,
			 programs);
	else
		snprintf(text, COST_TEXT_BYTES,
			 "%s of the CPUs; its kernel programs were not measured", all);
	return text;
}
