/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything of a host in one: a supervisor and three processes, which it starts and starts again.
 *
 *   capture   records the host into chunks of a second; the only one with privileges
 *   map       maps each chunk once it is sealed, and sends spans that ended to serve
 *   serve     receives spans, keeps them, and answers queries (serve/serve.h)
 *
 * map and serve run as a user without rights, and reach the directory through a descriptor that was
 * opened before. The parts meet in files and in memory that they share (up/board.h). The directory
 * has, beside what serve keeps there:
 *
 *   chunks/   the recording
 *   map/      how far map has come (up/progress.h), and what was recorded when (up/coverage.h)
 *   .lock     held while it runs
 *   .up       a socket, at which `fathom status` reads a document (up/status.h)
 *   .spans    a socket, at which serve receives the spans of map, in OTLP over HTTP
 */
#ifndef UP_UP_H
#define UP_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "base/range.h"
#include "serve/serve.h"
#include "up/chooser.h"

struct up_options {
	const char *dir;	    /* made if it is not there */
	struct serve_options serve; /* `dir` and what the parts meet by are ignored */
	bool capture;		    /* false: nothing is recorded */
	bool no_bytes;		    /* waits alone: no byte ranges, so requests are not followed */
	struct limits keep;	    /* of chunks; 0: none */
	uint32_t budget_ppm;	    /* of the CPUs' time for recording, in millionths; 0: none */
	uint32_t request_spans; /* of requests, stored a second in the mean (up/quota.h); 0: all */
	const struct chooser_rule *slow; /* what is slow, as the user says */
	size_t slow_count;
	const char *user; /* of map and serve; NULL: "fathom", else "nobody" */
	/* Called when spans are served for the first time, or the host is recorded without a store.
	 */
	void (*ready)(void *arg, const struct serve_addresses *addresses, const char *user);
	/* Called behind `ready`, once the host is recorded. */
	void (*recording)(void *arg);
	void *arg;
	struct notice notice; /* lines for the user, also from the parts */
};

/*
 * Runs until SIGTERM or SIGINT; then ends all parts, within ten seconds. Call it in a process with
 * one thread. 0 or a negative errno with the cause.
 */
int up_run(const struct up_options *options, struct error *e);

#endif
