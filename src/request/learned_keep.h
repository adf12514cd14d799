/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was learned of services (request/learned.h), kept over days: as bytes of a file, and bounded
 * by forgetting what is old. Not thread-safe.
 */
#ifndef REQUEST_LEARNED_KEEP_H
#define REQUEST_LEARNED_KEEP_H

#include "base/bytes.h"
#include "request/learned.h"

/* Appends the sums, which are sorted, to `out`: the same sums are the same bytes. */
void learned_write(struct learned *l, struct bytes *out);

/*
 * Adds the sums that learned_write() wrote. 0; -EBADMSG if the bytes make no sense, -EPROTO if they
 * are of another version, or -ENOMEM: then `l` has a part of them.
 */
int learned_read(struct learned *l, const void *data, size_t bytes);

/*
 * Halves the counts of each service of which more than so many requests were counted, so that what
 * it does now soon outweighs what it did before. Halves all counts while there are more rows than
 * rows_most; rows without a count go. 0, or -ENOMEM with the sums as they were.
 */
int learned_fade(struct learned *l, u64 requests_most, size_t rows_most);

#endif
