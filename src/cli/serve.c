/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "serve/serve.h"

struct serve_command_options {
	const char *dir;
	const char *http;
	const char *otlp_http;
	const char *otlp_grpc;
	const char *zipkin;
	const char *jaeger;
};

#define AT(field) offsetof(struct serve_command_options, field)
static const struct option serve_option_table[] = {
	{"output", 'o', "DIR",
	 "where spans are kept (default: /var/lib/fathom for root,\nelse fathom in the user's "
	 "folder of state)",
	 NULL, AT(dir), option_text},
	{"http", 0, "ADDRESS", "of the query API, or off", "127.0.0.1:7070", AT(http), option_text},
	{"otlp-http", 0, "ADDRESS", "of the receiver of OTLP over HTTP, or off", "127.0.0.1:4318",
	 AT(otlp_http), option_text},
	{"otlp-grpc", 0, "ADDRESS", "of the receiver of OTLP over gRPC, or off", "127.0.0.1:4317",
	 AT(otlp_grpc), option_text},
	{"zipkin", 0, "ADDRESS", "of Zipkin's receiver and query API, or off", "127.0.0.1:9411",
	 AT(zipkin), option_text},
	{"jaeger", 0, "ADDRESS", "of Jaeger's query API alone, or off", "off", AT(jaeger),
	 option_text},
	{0},
};
#undef AT

static int serve_check(void *options, const struct operands *operands, struct error *e)
{
	if (operands->count || operands->command)
		return error_say(e, EINVAL, "no argument is allowed");
	return 0;
}

/* The directory that was asked for, or the usual one. */
static const char *dir_of(const struct serve_command_options *o, char text[4096])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	bool has_state = state && *state == '/';

	if (o->dir)
		return o->dir;
	if (geteuid() == 0)
		return "/var/lib/fathom";
	snprintf(text, 4096, "%s%s/fathom",
		 has_state	 ? state
		 : home && *home ? home
				 : ".",
		 has_state ? "" : "/.local/state");
	return text;
}

static void addresses_print(const struct serve_addresses *addresses, const char *dir)
{
	printf("spans are kept in %s\n", dir);
	if (*addresses->otlp_http)
		printf("OTLP over HTTP: http://%s/v1/traces\n", addresses->otlp_http);
	if (*addresses->otlp_grpc)
		printf("OTLP over gRPC: http://%s\n", addresses->otlp_grpc);
	if (*addresses->zipkin)
		printf("Zipkin: http://%s/api/v2/spans, and its queries below /api/v2/\n",
		       addresses->zipkin);
	if (*addresses->jaeger)
		printf("Jaeger: http://%s/api/services\n", addresses->jaeger);
	if (*addresses->http)
		printf("queries: http://%s/api/v1/status, and Jaeger's below /api/\n",
		       addresses->http);
	fflush(stdout);
}

static void failure_print(const char *text)
{
	fprintf(stderr, "fathom serve: spans are not stored, and are tried again: %s\n", text);
}

static int serve_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct serve_command_options *o = fields;
	char text[4096];
	const struct serve_options options = {.dir = dir_of(o, text),
					      .http = o->http,
					      .otlp_http = o->otlp_http,
					      .otlp_grpc = o->otlp_grpc,
					      .zipkin = o->zipkin,
					      .jaeger = o->jaeger,
					      .warn = failure_print};
	struct serve_addresses addresses;
	struct serve *serve = NULL;
	sigset_t ends;
	int signal, err;

	umask(077); /* spans hold what users typed: nobody else reads the files */
	/* before the threads start, which inherit the mask */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	err = serve_open(&options, &serve, &addresses, e);
	if (err)
		return err;
	addresses_print(&addresses, options.dir);
	sigwait(&ends, &signal);
	sigprocmask(SIG_UNBLOCK, &ends, NULL); /* a second one ends it at once */
	return serve_close(serve, e);
}

const struct command command_serve = {
	.name = "serve",
	.summary = "receive spans from tracers, keep them, and answer queries",
	.usage = "[-o DIR] [--http ADDRESS] [--otlp-http ADDRESS] [--otlp-grpc ADDRESS] "
		 "[--zipkin ADDRESS] [--jaeger ADDRESS]",
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
		"Ends on Ctrl-C and SIGTERM. ADDRESS is of this host alone, such as 127.0.0.1:4318 "
		"or\n"
		"[::1]:4318; port 0 takes a free one.",
	.examples = "  fathom serve -o spans &\n",
	.options = serve_option_table,
	.options_bytes = sizeof(struct serve_command_options),
	.check = serve_check,
	.run = serve_run,
};
