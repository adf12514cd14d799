/* SPDX-License-Identifier: Apache-2.0 */
/* Spans as Jaeger's query API shows them. */
#ifndef SERVE_JAEGER_H
#define SERVE_JAEGER_H

#include "base/json.h"
#include "span/received.h"
#include "store/store.h"

/*
 * Writes the traces of an answer, in the order of the ids: an array of objects with spans and their
 * processes. Spans of a trace keep their order. An id without spans, or one that was there already,
 * is passed over. 0 or -ENOMEM.
 */
int jaeger_traces_write(struct json *j, const struct received_batch *batch,
			const struct store_ids *ids);

/*
 * Puts the traces of a batch in the order of the ids. Spans of a trace keep their order. 0 or
 * -ENOMEM.
 */
int jaeger_batch_sort(struct received_batch *batch, const struct store_ids *ids);

/* Writes the summary of a trace, which has spans, as an object. 0 or -ENOMEM. */
int jaeger_summary_write(struct json *j, const struct received_span *spans, size_t count);

struct query;

/* Answers with an error, in the envelope of the first version. Returns the status, or -ENOMEM. */
int jaeger_error(struct query *q, int status, const char *why);

#endif
