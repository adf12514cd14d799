/* SPDX-License-Identifier: Apache-2.0 */
/* Received spans as fathom's own query API shows them. */
#ifndef SERVE_OWN_SPAN_H
#define SERVE_OWN_SPAN_H

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "span/received.h"

/*
 * Writes the arrays "spans", "resources" and "scopes". Each span has the numbers of its resource
 * and its scope in the other arrays, from 0. 0 or -ENOMEM.
 */
int own_spans_write(struct json *j, const struct received_batch *batch);

/* Writes a span as an object, without its resource and its scope. */
void own_span_write(struct json *j, const struct received_span *span);

/* Writes the members of a span that many spans do not have, into an object that is begun. */
void own_span_more_write(struct json *j, const struct received_span *span);

/*
 * Resources, or scopes, each once: the same one is the same object in a batch. Starts with all
 * zero.
 */
struct origins {
	VEC(const void *) list;
	struct map numbers; /* from 1, by address */
};

/* The number of a resource or a scope, from 0. 0 or -ENOMEM; free them in any case. */
int origins_number(struct origins *o, const void *origin, size_t *number);
/* Writes the arrays "resources" and "scopes". */
void origins_write(struct json *j, const struct origins *resources, const struct origins *scopes);
void origins_free(struct origins *o);

#endif
