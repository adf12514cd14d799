/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/request_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reading_help.h"
#include "cli/recording_operands.h"

#define PPM 1000000

/* A number from 0 to 1, or percent: "0.5", "50%". */
static int option_probability(void *field, const char *text, struct error *e)
{
	char *end;
	double value = strtod(text, &end);

	if (strcmp(end, "%") == 0) {
		value /= 100;
		end++;
	}
	if (end == text || *end || !(value >= 0 && value <= 1))
		return error_say(e, EINVAL, "is no probability: write 0.5 or 50%%");
	*(uint32_t *)field = (uint32_t)(value * PPM + 0.5);
	return 0;
}

static bool id_is_valid(const char *id)
{
	size_t digits = strspn(id, "0123456789abcdefABCDEF");

	return !id[digits] && (digits == 16 || digits == 32);
}

#define AT(field) offsetof(struct request_options, field)
const char request_usage[] =
	"[DIR|FILE...] [TRACE_ID | --slowest N | --through SERVICE | --errors | --all]\n"
	"       [--kernel] [--critical ID] [--min-probability P] [--from T] [--to T]\n"
	"       [--boot N] [--threads N] [--json | --json-lines | --dot | --each CMD]";

const struct option request_option_table[] = {
	{"slowest", 0, "N", "the N longest requests", NULL, AT(slowest), option_count},
	{"through", 0, "SERVICE", "requests that this service, like nginx or nginx:80, is part of",
	 NULL, AT(through), option_text},
	{"errors", 0, NULL, "requests in which a call got no answer", NULL, AT(errors),
	 option_flag},
	{"all", 0, NULL, "also streams, and calls that belong to no request", NULL, AT(all),
	 option_flag},
	{"kernel", 0, NULL, "also the calls, waits and page faults of threads while they served",
	 NULL, AT(kernel), option_flag},
	{"min-probability", 0, "P",
	 "a call that belongs to a request less surely is one of its own", "0.5",
	 AT(min_probability_ppm), option_probability},
	{"critical", 0, "ID",
	 "what a request waited for at each instant, by its trace id or a span id of it", NULL,
	 AT(critical), option_text},
	{"from", 0, "T", FROM_HELP, NULL, AT(from), option_time},
	{"to", 0, "T", TO_HELP, NULL, AT(to), option_time},
	{"boot", 0, "N", BOOT_HELP, NULL, AT(boot), option_boot},
	{"threads", 0, "N", THREADS_HELP, NULL, AT(threads), option_count},
	{"json", 0, NULL, JSON_HELP, NULL, AT(json), option_flag},
	{"json-lines", 0, NULL, JSON_LINES_HELP "request", NULL, AT(json_lines), option_flag},
	{"dot", 0, NULL, "print a graph for Graphviz: of one request, else of who calls whom", NULL,
	 AT(dot), option_flag},
	{"each", 0, "CMD", "run this shell command, which reads a request a line, as JSON", NULL,
	 AT(each), option_text},
	{0},
};
#undef AT

int request_options_check(void *options, const struct operands *operands, struct error *e)
{
	struct request_options *o = options;
	int err = recording_operands_read(operands, &o->dirs, &o->dirs_count, &o->trace_id, e);

	if (err)
		return err;
	if (o->critical && (!id_is_valid(o->critical) || request_options_select(o) || o->all ||
			    o->json_lines || o->dot || o->each))
		return error_say(
			e, EINVAL,
			"--critical takes a trace id of 32 hex digits or a span id of 16, and "
			"--json and the range beside it, but no other choice or output");
	if (!!o->trace_id + !!o->slowest + o->all > 1)
		return error_say(e, EINVAL, "TRACE_ID, --slowest and --all cannot be combined");
	if (o->json + o->json_lines + o->dot + !!o->each > 1)
		return error_say(e, EINVAL,
				 "--json, --json-lines, --dot and --each are different outputs: "
				 "leave out all but one");
	return recording_range_check(&o->from, &o->to, (const char *const *)o->dirs, o->dirs_count,
				     e);
}

void request_options_release(void *options)
{
	free(((struct request_options *)options)->dirs);
}
