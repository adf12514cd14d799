/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `fathom serve` that `fathom up` has, too. */
#ifndef CLI_SERVE_OPTIONS_H
#define CLI_SERVE_OPTIONS_H

#include "cli/option.h"
#include "cli/up_dir.h"
#include "monitor/config.h"
#include "serve/serve.h"

struct serve_command_options {
	const char *config; /* is read before: settings.h */
	const char *dir;
	const char *http;
	const char *otlp_http;
	const char *otlp_grpc;
	const char *zipkin;
	const char *jaeger;
	uint64_t store_period_ns;
	struct limits store_keep;
	uint64_t min_free_bytes;
	const char *token_file;
	struct option_list trust, allow_hosts;
	const char *ui_zipkin, *ui_jaeger;
	bool plain;
	struct receive_limits limits;
	const char *monitors;
};

/* Texts that struct serve_options points to. */
struct serve_texts {
	char dir[UP_DIR_BYTES];
	char token[ACCESS_TOKEN_BYTES];
	struct monitors_config monitors; /* freed by serve_texts_free() */
};

int option_receive_limits(void *field, const char *text, struct error *e);

/* uint64_t ns: how long a file of the store is the newest one, an hour at most. */
int option_store_period(void *field, const char *text, struct error *e);

/* Their rows in a table, of a struct that has them at an offset. */
#define SERVE_OPTION_AT(offset, field) ((offset) + offsetof(struct serve_command_options, field))
/* What --jaeger is if it is not given: who is given the same text has another pointer. */
extern const char serve_jaeger_preset[];

/* clang-format off */
#define SERVE_OPTION_ROWS(offset)                                                                  \
	{"output", 'o', "DIR",                                                                     \
	 "where all is kept (default: /var/lib/fathom for root,\n"                                 \
	 "else fathom in the user's folder of state)",                                             \
	 NULL, SERVE_OPTION_AT(offset, dir), option_text},                                         \
	{"config", 0, "FILE",                                                                      \
	 "has settings, such as keep = 6h (default: DIR/fathom.conf);\nFATHOM_KEEP does the same",  \
	 NULL, SERVE_OPTION_AT(offset, config), option_text},                                      \
	{"http", 0, "ADDRESS", "of the query API, or off", "127.0.0.1:7070",                       \
	 SERVE_OPTION_AT(offset, http), option_text},                                              \
	{"otlp-http", 0, "ADDRESS", "of the receiver of OTLP over HTTP, or off",                   \
	 "127.0.0.1:4318", SERVE_OPTION_AT(offset, otlp_http), option_text},                       \
	{"otlp-grpc", 0, "ADDRESS", "of the receiver of OTLP over gRPC, or off",                   \
	 "127.0.0.1:4317", SERVE_OPTION_AT(offset, otlp_grpc), option_text},                       \
	{"zipkin", 0, "ADDRESS", "of Zipkin's receiver and query API, or off",                     \
	 "127.0.0.1:9411", SERVE_OPTION_AT(offset, zipkin), option_text},                          \
	{"jaeger", 0, "ADDRESS",                                                                   \
	 "of Jaeger's query API alone, or off; the default is given\nup where another program "    \
	 "has it",                                                                                 \
	 serve_jaeger_preset, SERVE_OPTION_AT(offset, jaeger), option_text},                       \
	{"store-period", 0, "TIME", "begin a file of spans after this time, an hour at most",      \
	 "1h", SERVE_OPTION_AT(offset, store_period_ns), option_store_period},                     \
	{"store-keep", 0, "LIMITS", "delete the oldest files of spans: 7d,10G", NULL,              \
	 SERVE_OPTION_AT(offset, store_keep), option_limits},                                      \
	{"min-free", 0, "SIZE", "take no spans with less room on the disk", "256M",                \
	 SERVE_OPTION_AT(offset, min_free_bytes), option_size},                                    \
	{"token-file", 0, "FILE", "has the token that all requests must bring; addresses\n"        \
	 "that other hosts reach need it", NULL, SERVE_OPTION_AT(offset, token_file),              \
	 option_text},                                                                             \
	{"trust", 0, "NETWORKS", "send spans without the token, like 172.17.0.0/16", NULL,         \
	 SERVE_OPTION_AT(offset, trust), option_names},                                            \
	{"allow-host", 0, "NAMES", "of this host, which requests may have in Host", NULL,          \
	 SERVE_OPTION_AT(offset, allow_hosts), option_names},                                      \
	{"limits", 0, "LIST", "of requests that bring spans: body=16M,pending=128M,\n"             \
	 "time=30s,connections=512,depth=32,attributes=1024,\n"                                    \
	 "names=10000", NULL, SERVE_OPTION_AT(offset, limits), option_receive_limits},             \
	{"monitors", 0, "FILE", "has rules that are watched, and whom to tell\n"                   \
	 "(default: DIR/monitors.conf)", NULL, SERVE_OPTION_AT(offset, monitors), option_text},    \
	{"ui-zipkin", 0, "DIR", "has the built files of Zipkin's page", NULL,                      \
	 SERVE_OPTION_AT(offset, ui_zipkin), option_text},                                         \
	{"ui-jaeger", 0, "DIR", "has the built files of Jaeger's page", NULL,                      \
	 SERVE_OPTION_AT(offset, ui_jaeger), option_text},                                         \
	{"plain", 0, NULL, "answer traces in Jaeger's and Zipkin's API as they were\nsent",        \
	 NULL, SERVE_OPTION_AT(offset, plain), option_flag}
/* clang-format on */

#define SERVE_USAGE                                                                                \
	"[-o DIR] [--config FILE] [--http ADDRESS] [--otlp-http ADDRESS] [--otlp-grpc ADDRESS] "   \
	"[--zipkin ADDRESS] [--jaeger ADDRESS] [--store-period TIME] [--store-keep LIMITS] "       \
	"[--min-free SIZE] [--token-file FILE] [--trust NETWORKS] "                                \
	"[--allow-host NAMES] [--limits LIST] [--monitors FILE] [--ui-zipkin DIR] "                \
	"[--ui-jaeger DIR] [--plain]"

/*
 * Options of the library, which borrow from `o` and `texts`. Reads the token and the file of
 * monitors, which may need privileges that a command drops later. `texts` starts with all zero.
 */
int serve_options_read(const struct serve_command_options *o, struct serve_texts *texts,
		       struct serve_options *out, struct error *e);

void serve_options_release(struct serve_command_options *o);

/* Prints where to send spans, and where to ask. */
void serve_addresses_print(const struct serve_addresses *addresses);

void serve_texts_free(struct serve_texts *texts);

/* Tell on stderr why spans are not stored, taken or kept, and what is wrong with monitors. */
void serve_failure_print(const char *text);
void serve_monitors_print(const char *text);

#endif
