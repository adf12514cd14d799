/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record_lines.h"

#include <string.h>

#include "base/units.h"

#define HOUR_NS 3600000000000ull

static const char *scope_text(const struct record_options *o, const struct operands *operands)
{
	if (record_options_host(o, operands))
		return "the whole host";
	if (operands->command)
		return o->pids.count || o->cgroups.count ? "the command and what else was chosen"
							 : "the command";
	if (o->pids.count && o->cgroups.count)
		return "the chosen processes and cgroups";
	if (o->cgroups.count)
		return o->cgroups.count == 1 ? "the cgroup" : "the chosen cgroups";
	if (o->no_children)
		return o->pids.count == 1 ? "the process" : "the chosen processes";
	return o->pids.count == 1 ? "the process and its children"
				  : "the chosen processes and their children";
}

static void end_print(FILE *file, const struct record_options *o, const struct operands *operands)
{
	char text[UNITS_TEXT_BYTES];

	if (operands->command && o->all)
		fprintf(file, " while the command runs");
	if (o->duration_ns)
		fprintf(file, "%s %s", operands->command && o->all ? ", at most" : " for",
			units_format_ns((int64_t)o->duration_ns, text));
	else if (!operands->command)
		fprintf(file, "; Ctrl-C ends it");
}

static void scope_print(FILE *file, const struct option_detail *detail,
			const struct capture_detail_scope *scope)
{
	fprintf(file, ", %s of ", scope->calls ? "calls" : "waits");
	if (scope->name)
		fprintf(file, "%s", scope->name);
	else if (scope->spans)
		fprintf(file, "threads under a span");
	else if (scope->service)
		fprintf(file, "service %s", scope->service);
	else if (scope->cgroup)
		fprintf(file, "cgroup %s", scope->cgroup);
	else
		fprintf(file, "process %d", scope->pid);
}

/* Whether calls of some threads are recorded, and the programs of calls run for the others, too. */
static bool detail_costs_all(const struct option_detail *detail)
{
	for (size_t i = 0; i < detail->scope_count; i++)
		if (detail->scopes[i].calls == detail->waits)
			return true;
	return false;
}

void record_begin_print(FILE *file, const struct record_options *o, const struct operands *operands)
{
	bool host = record_options_host(o, operands);
	const struct option_detail *detail = &o->detail;
	char calls[UNITS_TEXT_BYTES], every[UNITS_TEXT_BYTES];

	if (operands->command && !host && (detail->given || !(detail->waits || detail->raised)))
		return;
	fprintf(file, "fathom: recording %s of %s%s", detail->waits ? "waits" : "calls",
		scope_text(o, operands), o->flight ? " in memory" : "");
	if (detail->calls_ns)
		fprintf(file, ", and calls for %s in each %s",
			units_format_ns((int64_t)detail->calls_ns, calls),
			units_format_ns((int64_t)detail->every_ns, every));
	for (size_t i = 0; i < detail->scope_count; i++)
		scope_print(file, detail, &detail->scopes[i]);
	end_print(file, o, operands);
	if (detail_costs_all(detail))
		fprintf(file, "; each call of other threads costs some time, too ('fathom doctor' "
			      "says how much)");
	if (detail->raised)
		fprintf(file, "; calls, not waits alone, because --syscalls is given");
	else if (detail->waits && !detail->given)
		fprintf(file, "; --detail calls records each call, too");
	else if (!detail->waits && host)
		fprintf(file, "; --detail waits costs less");
	fprintf(file, "\n");
}

void record_rate_print(FILE *file, uint64_t bytes, uint64_t duration_ns, bool compress)
{
	uint64_t hour = (uint64_t)((double)bytes / (double)duration_ns * (double)HOUR_NS);
	char text[UNITS_TEXT_BYTES];

	units_format_bytes(hour, text);
	fprintf(file, "fathom: %s%s an hour at this rate%s\n", text, strchr(text, 'B') ? "" : "B",
		compress ? ", before it is compressed" : "");
}
