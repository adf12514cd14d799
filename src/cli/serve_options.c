/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve_options.h"

#include <stdio.h>

#include "cli/up_dir.h"

struct serve_options serve_options_of(const struct serve_command_options *o, char *text)
{
	return (struct serve_options){.dir = up_dir(o->dir, text),
				      .http = o->http,
				      .otlp_http = o->otlp_http,
				      .otlp_grpc = o->otlp_grpc,
				      .zipkin = o->zipkin,
				      .jaeger = o->jaeger,
				      .warn = serve_failure_print};
}

void serve_addresses_print(const struct serve_addresses *addresses)
{
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
}

void serve_failure_print(const char *text)
{
	fprintf(stderr, "fathom: spans are not stored, and are tried again: %s\n", text);
}
