/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/serve_options.h"
#include "up/up.h"

extern const struct command command_up;

struct serve_own_options {
	struct serve_command_options serve;
	const char *user;
};

static const struct option serve_option_table[] = {
	SERVE_OPTION_ROWS(offsetof(struct serve_own_options, serve)),
	{"user", 0, "NAME",
	 "who serves (default: the user fathom, if there is one,\nelse nobody; not root: who "
	 "calls)",
	 NULL, offsetof(struct serve_own_options, user), option_text},
	{0},
};

static int serve_check(void *options, const struct operands *operands, struct error *e)
{
	if (operands->count || operands->command)
		return error_say(e, EINVAL, "no argument is allowed");
	return 0;
}

static void ready_print(void *arg, const struct serve_addresses *addresses, const char *user)
{
	printf("spans are kept in %s, by the user %s\n", (const char *)arg, user);
	serve_addresses_print(addresses);
	fflush(stdout);
}

static void line_print(void *arg, const char *line)
{
	fprintf(stderr, "fathom serve: %s\n", line);
}

/* It is `fathom up` that records nothing. */
static int serve_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct serve_own_options *o = fields;
	struct serve_texts texts = {0};
	struct up_options options = {
		.user = o->user, .ready = ready_print, .notice = {.tell = line_print}};
	int err = serve_options_read(&o->serve, &texts, &options.serve, e);

	options.dir = options.serve.dir;
	options.arg = (void *)options.dir;
	err = err ? err : up_run(&options, e);
	serve_texts_free(&texts);
	return err;
}

static void serve_release(void *options)
{
	struct serve_own_options *o = options;

	serve_options_release(&o->serve);
}

const struct command command_serve = {
	.name = "serve",
	.summary = "receive spans from tracers, keep them, and answer queries",
	.usage = SERVE_USAGE " [--user NAME]",
	.description =
		"Receives spans of OpenTelemetry, by OTLP over HTTP and gRPC, and of Zipkin's "
		"tracers, and "
		"keeps\n"
		"them in DIR. A request is acknowledged when its spans are on the disk. Queries "
		"are "
		"answered\n"
		"in fathom's API and in those of Jaeger and Zipkin, so that Jaeger's page and "
		"Grafana\n"
		"show the spans. A process of another user does this for root, to whom DIR "
		"belongs; if it dies\n"
		"it is started again. This is 'fathom up --no-capture', and 'fathom status' tells "
		"how it is.\n"
		"Ends on Ctrl-C and SIGTERM. ADDRESS is like 127.0.0.1:4318 or [::1]:4318; port 0 "
		"takes a\n"
		"free one.",
	.examples = "  fathom serve -o spans &\n",
	.options = serve_option_table,
	.options_bytes = sizeof(struct serve_own_options),
	.takes_settings = true,
	.shares_settings = &command_up,
	.check = serve_check,
	.run = serve_run,
	.release = serve_release,
};
