/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cost_text.h"

u64 recorder_lost(const struct recorder_counts *c)
{
	return c->lost_buffer + c->lost_recursion + c->lost_application;
}

static void counts_print(struct recorder *r)
{
	struct recorder_counts c;
	char bytes[UNITS_TEXT_BYTES];

	recorder_counts(r, &c);
	units_format_bytes(c.sealed.bytes, bytes);
	fprintf(stderr, "fathom: %.1f s, %" PRIu64 " records, %s in %" PRIu64 " chunk%s, ",
		(double)(c.end_ns - c.begin_ns) / 1e9, c.sealed.records, bytes, c.sealed.chunks,
		c.sealed.chunks == 1 ? "" : "s");
	if (recorder_lost(&c))
		fprintf(stderr, "%" PRIu64 " LOST%s", recorder_lost(&c),
			c.lost_buffer ? " (--buffer gives more room)" : "");
	else
		fprintf(stderr, "nothing lost");
	if (c.sealed.plain)
		fprintf(stderr,
			", %" PRIu64 " chunk%s left uncompressed because compression fell behind",
			c.sealed.plain, c.sealed.plain == 1 ? "" : "s");
	if (c.sealed.incomplete)
		fprintf(stderr, ", %" PRIu64 " incomplete field%s", c.sealed.incomplete,
			c.sealed.incomplete == 1 ? "" : "s");
	if (c.not_followed)
		fprintf(stderr, ", contexts of up to %" PRIu64 " processes not looked up",
			c.not_followed);
	if (c.lights_unread)
		fprintf(stderr, ", goroutines of %" PRIu64 " program%s not told", c.lights_unread,
			c.lights_unread == 1 ? "" : "s");
	if (c.rings_missed)
		fprintf(stderr, ", spans of %" PRIu64 " programs not captured", c.rings_missed);
	fprintf(stderr, " -> %s\n", recorder_dir(r));
}

static void cost_print(const struct recorder *r)
{
	struct costs_sum sum;
	struct cost_view cost;
	char text[COST_TEXT_BYTES];

	recorder_costs(r, &sum);
	cost = (struct cost_view){.programs_ns = sum.programs_ns,
				  .processes_ns = sum.processes_ns,
				  .measured = sum.measured};
	if (sum.elapsed_ns)
		fprintf(stderr, "fathom took %s%s\n",
			cost_text(&cost, sum.elapsed_ns * (u64)sysconf(_SC_NPROCESSORS_ONLN), text),
			sum.measured ? ""
			: sum.err    ? " (only CAP_SYS_ADMIN measures these)"
				     : "");
}

void record_summary_print(struct recorder *r)
{
	counts_print(r);
	cost_print(r);
}
