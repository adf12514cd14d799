/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/serve_options.h"
#include "up/place.h"

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

/* Runs until a signal. The directory is told as `dir`, and may be reached by another path. */
static int until_asked(const struct serve_options *options, const char *dir, struct error *e)
{
	struct serve_addresses addresses;
	struct serve *serve = NULL;
	sigset_t ends;
	int signal, err;

	/* before the threads start, which inherit the mask */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	err = serve_open(options, &serve, &addresses, e);
	if (err)
		return err;
	printf("spans are kept in %s\n", dir);
	serve_addresses_print(&addresses);
	fflush(stdout);
	sigwait(&ends, &signal);
	sigprocmask(SIG_UNBLOCK, &ends, NULL); /* a second one ends it at once */
	return serve_close(serve, e);
}

static int serve_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct serve_own_options *o = fields;
	struct place place = {.dir = -1, .lock = -1};
	char path[PLACE_PATH_BYTES] = "";
	struct serve_texts texts;
	struct serve_options options;
	const char *dir;
	int err = serve_options_read(&o->serve, &texts, &options, e);

	if (err)
		return err;
	dir = options.dir;
	err = place_user(&place, o->user, e);
	err = err ? err : place_open(&place, dir, e);
	umask(077); /* spans hold what users typed: nobody else reads the files */
	err = err ? err : place_become(&place, path, e);
	if (*path)
		options.dir = path;
	err = err ? err : until_asked(&options, dir, e);
	place_close(&place);
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
		"show the spans. Root becomes another user before that, to whom DIR belongs.\n"
		"Ends on Ctrl-C and SIGTERM. ADDRESS is like 127.0.0.1:4318 or [::1]:4318; port 0 "
		"takes a\n"
		"free one.",
	.examples = "  fathom serve -o spans &\n",
	.options = serve_option_table,
	.options_bytes = sizeof(struct serve_own_options),
	.takes_settings = true,
	.check = serve_check,
	.run = serve_run,
	.release = serve_release,
};
