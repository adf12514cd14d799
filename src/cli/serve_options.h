/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `fathom serve` that `fathom up` has, too. */
#ifndef CLI_SERVE_OPTIONS_H
#define CLI_SERVE_OPTIONS_H

#include "cli/option.h"
#include "serve/serve.h"

struct serve_command_options {
	const char *dir;
	const char *http;
	const char *otlp_http;
	const char *otlp_grpc;
	const char *zipkin;
	const char *jaeger;
};

/* Their rows in a table, of a struct that has them at an offset. */
#define SERVE_OPTION_AT(offset, field) ((offset) + offsetof(struct serve_command_options, field))
/* clang-format off */
#define SERVE_OPTION_ROWS(offset)                                                                  \
	{"output", 'o', "DIR",                                                                     \
	 "where all is kept (default: /var/lib/fathom for root,\n"                                 \
	 "else fathom in the user's folder of state)",                                             \
	 NULL, SERVE_OPTION_AT(offset, dir), option_text},                                         \
	{"http", 0, "ADDRESS", "of the query API, or off", "127.0.0.1:7070",                       \
	 SERVE_OPTION_AT(offset, http), option_text},                                              \
	{"otlp-http", 0, "ADDRESS", "of the receiver of OTLP over HTTP, or off",                   \
	 "127.0.0.1:4318", SERVE_OPTION_AT(offset, otlp_http), option_text},                       \
	{"otlp-grpc", 0, "ADDRESS", "of the receiver of OTLP over gRPC, or off",                   \
	 "127.0.0.1:4317", SERVE_OPTION_AT(offset, otlp_grpc), option_text},                       \
	{"zipkin", 0, "ADDRESS", "of Zipkin's receiver and query API, or off",                     \
	 "127.0.0.1:9411", SERVE_OPTION_AT(offset, zipkin), option_text},                          \
	{"jaeger", 0, "ADDRESS", "of Jaeger's query API alone, or off", "off",                     \
	 SERVE_OPTION_AT(offset, jaeger), option_text}
/* clang-format on */

#define SERVE_USAGE                                                                                \
	"[-o DIR] [--http ADDRESS] [--otlp-http ADDRESS] [--otlp-grpc ADDRESS] "                   \
	"[--zipkin ADDRESS] [--jaeger ADDRESS]"

/* Options of the library. `text` has UP_DIR_BYTES, and lives as long as they do. */
struct serve_options serve_options_of(const struct serve_command_options *o, char *text);

/* Prints where to send spans, and where to ask. */
void serve_addresses_print(const struct serve_addresses *addresses);

/* Tells on stderr why spans are not stored. */
void serve_failure_print(const char *text);

#endif
