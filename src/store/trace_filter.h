/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which traces a file may have: a Bloom filter with four bits for each trace.
 *
 * It begins with 2^24 bits, and is folded to as few as its traces need when the file ends: at least
 * sixteen bits a trace, with which one of 400 traces is a false alarm: a query opens few files of a
 * week for nothing. One thread adds; any thread asks.
 */
#ifndef STORE_TRACE_FILTER_H
#define STORE_TRACE_FILTER_H

#include "base/bytes.h"
#include "span/received.h"

#define TRACE_FILTER_BITS 24 /* the logarithm of the number of bits */

struct trace_filter {
	uint64_t *words;
	unsigned int bits; /* the logarithm of their number */
	uint64_t traces;   /* that set a bit */
};

/* 0 or -ENOMEM. */
int trace_filter_begin(struct trace_filter *f);

void trace_filter_add(struct trace_filter *f, struct trace_id trace);

/* False: the file does not have the trace. A filter that is all zero says true. */
bool trace_filter_may_have(const struct trace_filter *f, struct trace_id trace);

/* Fills an empty filter with a copy. 0 or -ENOMEM. */
int trace_filter_copy(struct trace_filter *to, const struct trace_filter *from);

/* Halves the filter as long as it has enough bits. */
void trace_filter_fold(struct trace_filter *f);

/* Writes the words. */
void trace_filter_put(struct bytes *to, const struct trace_filter *f);

/* Fills an empty filter. 0; -EINVAL if these are no words of one; -ENOMEM. */
int trace_filter_get(struct trace_filter *f, const void *data, size_t bytes);

void trace_filter_free(struct trace_filter *f);

#endif
