/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/record_options.h"
#include "cli/serve_options.h"
#include "cli/slow_option.h"
#include "up/up.h"

#define REQUEST_SPANS_MOST 1000000u

struct up_command_options {
	struct serve_command_options serve;
	struct limits keep;
	struct option_budget budget;
	const char *detail;
	uint64_t request_spans;
	const char *user;
	bool no_capture;
	struct option_slow slow;
};

#define AT(field) offsetof(struct up_command_options, field)
static const struct option up_option_table[] = {
	SERVE_OPTION_ROWS(offsetof(struct up_command_options, serve)),
	{"keep", 0, "LIMITS", "delete chunks beyond this age or size", "1h,2G", AT(keep),
	 option_limits},
	{"budget", 0, "PERCENT",
	 "the share of the CPUs' time that recording may cost; requests "
	 "of services are the first to be left out",
	 "5%", AT(budget), option_budget},
	{"detail", 0, "LEVEL",
	 "waits,bytes, or waits: cheaper, but requests of services are\nnot followed",
	 "waits,bytes", AT(detail), option_text},
	{"request-spans", 0, "N",
	 "store at most so many spans of requests of services a second,\nin the mean of half a "
	 "minute; each then counts for several\nlike it",
	 "1000", AT(request_spans), option_count},
	{"slow", 0, "LIST",
	 "what is slow: 200ms, shop=100ms, 'shop:GET /cart=50ms'\n(default: 1 in 100 of each "
	 "operation)",
	 NULL, AT(slow), option_slow},
	{"user", 0, "NAME",
	 "who maps and serves (default: the user fathom, if there is\none, else nobody; not root: "
	 "who calls)",
	 NULL, AT(user), option_text},
	{"no-capture", 0, NULL, "record nothing: only receive and serve", NULL, AT(no_capture),
	 option_flag},
	{0},
};
#undef AT

static int up_check(void *options, const struct operands *operands, struct error *e)
{
	const struct up_command_options *o = options;

	if (operands->count || operands->command)
		return error_say(e, EINVAL, "no argument is allowed");
	if (o->budget.hard)
		return error_say(e, EINVAL,
				 "only 'fathom record' pauses to hold its budget: leave out ,hard");
	if (strcmp(o->detail, "waits") != 0 && strcmp(o->detail, "waits,bytes") != 0)
		return error_say(e, EINVAL, "--detail is neither waits nor waits,bytes");
	if (o->request_spans > REQUEST_SPANS_MOST)
		return error_say(e, EINVAL, "--request-spans is at most %u", REQUEST_SPANS_MOST);
	return 0;
}

static void ready_print(void *arg, const struct serve_addresses *addresses, const char *user)
{
	const struct up_options *options = arg;

	printf("all is kept in %s, by the user %s\n", options->dir, user);
	serve_addresses_print(addresses);
	fflush(stdout);
}

static void recording_print(void *arg)
{
	const struct up_options *options = arg;

	printf("this host is recorded into %s/chunks\n", options->dir);
	fflush(stdout);
}

static void line_print(void *arg, const char *line)
{
	fprintf(stderr, "fathom up: %s\n", line);
}

static int up_command_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct up_command_options *o = fields;
	struct serve_texts texts = {0};
	struct up_options options = {.capture = !o->no_capture,
				     .keep = o->keep,
				     .budget_ppm = (uint32_t)o->budget.ppm,
				     .request_spans = (uint32_t)o->request_spans,
				     .no_bytes = strcmp(o->detail, "waits") == 0,
				     .user = o->user,
				     .slow = o->slow.data,
				     .slow_count = o->slow.count,
				     .ready = ready_print,
				     .recording = recording_print,
				     .notice = {.tell = line_print}};

	int err = serve_options_read(&o->serve, &texts, &options.serve, e);

	options.dir = options.serve.dir;
	options.arg = &options;
	err = err ? err : up_run(&options, e);
	serve_texts_free(&texts);
	return err;
}

static void up_release(void *options)
{
	struct up_command_options *o = options;

	serve_options_release(&o->serve);
	option_slow_free(&o->slow);
}

const struct command command_up = {
	.name = "up",
	.summary = "record this host, receive spans, keep them, and answer queries",
	.usage = SERVE_USAGE
	" [--keep LIMITS] [--budget PERCENT] [--detail LEVEL] [--request-spans N] "
	"[--slow LIST] [--user NAME] [--no-capture]",
	.description =
		"Does in one what 'fathom record' and 'fathom serve' do, and puts the spans of "
		"programs\n"
		"with libfathom, and those of which only a context was seen, into the same store, "
		"each\n"
		"with its time split. A span is found about two seconds after its end.\n"
		"Requests of services that nobody instrumented are spans there, too, within half a "
		"minute.\n"
		"Three processes do the work: capture, the only one with privileges, records the "
		"waits\n"
		"and bytes of the whole host into chunks of a second; map and serve run as another "
		"user.\n"
		"One that dies is started again. Without the privilege to record, the rest works.\n"
		"Ends on Ctrl-C and SIGTERM. 'fathom status' tells how it is; report and trace "
		"take DIR.",
	.examples = "  fathom up\n"
		    "  fathom up -o /srv/fathom --keep 6h,20G --user tracing\n"
		    "  fathom up --no-capture -o spans\n",
	.options = up_option_table,
	.options_bytes = sizeof(struct up_command_options),
	.takes_settings = true,
	.check = up_check,
	.run = up_command_run,
	.release = up_release,
};
