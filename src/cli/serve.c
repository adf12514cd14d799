/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/serve_options.h"

static const struct option serve_option_table[] = {SERVE_OPTION_ROWS(0), {0}};

static int serve_check(void *options, const struct operands *operands, struct error *e)
{
	if (operands->count || operands->command)
		return error_say(e, EINVAL, "no argument is allowed");
	return 0;
}

static int serve_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct serve_command_options *o = fields;
	struct serve_texts texts;
	struct serve_options options;
	struct serve_addresses addresses;
	struct serve *serve = NULL;
	sigset_t ends;
	int signal, err = serve_options_read(o, &texts, &options, e);

	if (err)
		return err;
	umask(077); /* spans hold what users typed: nobody else reads the files */
	/* before the threads start, which inherit the mask */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	err = serve_open(&options, &serve, &addresses, e);
	if (err)
		return err;
	printf("spans are kept in %s\n", options.dir);
	serve_addresses_print(&addresses);
	fflush(stdout);
	sigwait(&ends, &signal);
	sigprocmask(SIG_UNBLOCK, &ends, NULL); /* a second one ends it at once */
	return serve_close(serve, e);
}

static void serve_release(void *options)
{
	serve_options_release(options);
}

const struct command command_serve = {
	.name = "serve",
	.summary = "receive spans from tracers, keep them, and answer queries",
	.usage = SERVE_USAGE,
	.description =
		"Receives spans of OpenTelemetry, by OTLP over HTTP and gRPC, and of Zipkin's "
		"tracers, and "
		"keeps\n"
		"them in DIR. A request is acknowledged when its spans are on the disk. Queries "
		"are "
		"answered\n"
		"in fathom's API and in those of Jaeger and Zipkin, so that Jaeger's page and "
		"Grafana\n"
		"show the spans.\n"
		"Ends on Ctrl-C and SIGTERM. ADDRESS is like 127.0.0.1:4318 or [::1]:4318; port 0 "
		"takes a\n"
		"free one.",
	.examples = "  fathom serve -o spans &\n",
	.options = serve_option_table,
	.options_bytes = sizeof(struct serve_command_options),
	.takes_settings = true,
	.check = serve_check,
	.run = serve_run,
	.release = serve_release,
};
