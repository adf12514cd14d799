/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server: receives spans over OTLP and Zipkin, keeps them in a log and a store, and answers
 * queries.
 *
 * A request that brings spans is checked, appended to the log, and acknowledged when the log is
 * synced. A thread of its own, the loader, decodes what the log has and stores it. Queries see what
 * is stored. The directory has:
 *
 *   log/            segments of the log
 *   spans.duckdb    the store
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/error.h"

#define SERVE_ADDRESS_BYTES 64

struct serve;

struct serve_options {
	const char *dir;       /* made if it is not there */
	const char *http;      /* "ADDRESS:PORT" of the query API; "off" */
	const char *otlp_http; /* of the receiver of OTLP over HTTP; "off" */
	const char *otlp_grpc; /* of the receiver of OTLP over gRPC; "off" */
	const char *zipkin;    /* of Zipkin's receiver and query API; "off" */
	const char *jaeger;    /* of Jaeger's query API alone; "off" */
	void (*warn)(
		const char *text); /* tells why spans are not stored, from any thread; or NULL */
};

/* Addresses that are served, with the ports that the kernel chose for port 0; "": off. */
struct serve_addresses {
	char http[SERVE_ADDRESS_BYTES];
	char otlp_http[SERVE_ADDRESS_BYTES];
	char otlp_grpc[SERVE_ADDRESS_BYTES];
	char zipkin[SERVE_ADDRESS_BYTES];
	char jaeger[SERVE_ADDRESS_BYTES];
};

/*
 * Starts to serve, in threads of its own. Addresses that are not of this host alone are refused
 * with error_misuse(): there is no access control yet.
 */
int serve_open(const struct serve_options *options, struct serve **out,
	       struct serve_addresses *addresses, struct error *e);

/*
 * Ends: takes no new request, syncs the log, stores what the log has for at most two seconds, and
 * closes the store. What is left is stored after the next start.
 */
int serve_close(struct serve *s, struct error *e);

#endif
