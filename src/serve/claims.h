/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says for each received span which process of this host it is of, and sends it to map as a claim
 * (serve/claim.h). The process is
 * - the one at the other end of the connection, if the resource of the span does not contradict;
 * - else the one that the resource names by `process.pid`, if it is of this host.
 * A span without a process gets the attribute `fathom.join`: "no pid" or "other host".
 *
 * For the thread of the loader; claims_counts() for any.
 */
#ifndef SERVE_CLAIMS_H
#define SERVE_CLAIMS_H

#include "base/pool.h"
#include "log/log.h"
#include "serve/senders.h"
#include "span/received.h"

struct claims;

/*
 * `fd` is a socket of messages to map, which stays the caller's. Entries of the log before
 * `from_position` are of earlier runs, whose connections are not known.
 */
int claims_open(struct senders *senders, int fd, uint64_t from_position, struct claims **out);
void claims_close(struct claims *c); /* NULL is allowed */

/*
 * Before the spans of an entry are stored. New attributes are in the pool. 0 or -ENOMEM. NULL for
 * claims: does nothing.
 */
int claims_mark(struct claims *c, const struct log_entry *entry, struct received_batch *batch,
		struct pool *pool);

/* Once they are appended, with their fates (enum store_fate). NULL for claims: does nothing. */
void claims_send(struct claims *c, const struct received_batch *batch, const uint8_t *fates);

struct claims_counts {
	uint64_t no_pid, other_host; /* spans */
	uint64_t left_out;	     /* map was too slow to take them */
};

struct claims_counts claims_counts(struct claims *c);

#endif
