/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A claim: a received span of a process of this host. The span claims the time of a thread, which
 * is found where the records of the kernel are. serve sends claims to map, several in a message.
 */
#ifndef SERVE_CLAIM_H
#define SERVE_CLAIM_H

#include "base/bytes.h"
#include "span/received.h"

#define CLAIM_MESSAGE_BYTES 32768 /* of a message, about */
#define CLAIM_TEXT_BYTES 255	  /* a longer text is cut */

#define CLAIM_BY_CONNECTION 1 /* the process is the other end of the connection */
#define CLAIM_ON_MAIN 2	      /* its tracer makes spans on the main thread */
#define CLAIM_IS_ERROR 4
#define CLAIM_IS_BOUND 8 /* its tracer begins and ends a span on one thread */

struct claim {
	struct trace_id trace;
	uint64_t span_id, parent_id;
	uint64_t begin_ns, end_ns; /* since 1970 */
	uint32_t pid;
	uint32_t tid; /* that the span has; 0: none */
	uint8_t kind; /* enum received_kind */
	uint8_t flags;
	const char *service, *name, *thread; /* the name of a thread; "": none */
};

void claim_put(struct bytes *to, const struct claim *claim);

/* Reads the next claim, whose texts point into the bytes. False: there is none, or it is damaged.
 */
bool claim_get(struct bytes_reader *r, struct claim *claim);

#endif
