/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a received span that a store keeps as JSON text, as attributes_write_exact() writes
 * it:
 *
 *   resource  {"dropped":1,"attributes":{...}}
 *   scope     {"name":"...","version":"...","dropped":1,"attributes":{...}}
 *   rest      what few spans have:
 * {"trace_state":"...","status":"...","shared":1,"flags":257,"end_ns":5,
 *             "dropped":1,"events":[{"time_ns":5,"name":"...","dropped":1,"attributes":{}}],
 *             "events_dropped":1,"links":[{"trace_high":1,"trace_low":2,"span":3,
 *             "trace_state":"...","dropped":1,"attributes":{}}],"links_dropped":1}
 *
 * What is 0 or empty is left out. Numbers of 64 bits are written as signed ones.
 */
#ifndef STORE_SPAN_TEXT_H
#define STORE_SPAN_TEXT_H

#include "base/bytes.h"
#include "base/pool.h"
#include "span/received.h"

/* Replace the contents of `to`. 0 or -ENOMEM. */
int attributes_text(struct bytes *to, const struct received_list *list);
int resource_text(struct bytes *to, const struct received_resource *resource);
int scope_text(struct bytes *to, const struct received_scope *scope);
int rest_text(struct bytes *to, const struct received_span *span);

/* A text of the store. */
struct stored_text {
	const char *data;
	size_t bytes;
};

/* Read such texts again, into the pool. 0, -EINVAL or -ENOMEM. */
int attributes_text_read(struct stored_text text, struct pool *pool, struct received_list *list);
/* The same of those alone that tell what a thread did: `fathom.kind`, `fathom.tid`, `thread.id`
 * and `fathom.time.*`. A number that is not whole is passed over. */
int thread_text_read(struct stored_text text, struct pool *pool, struct received_list *list);
int resource_text_read(struct stored_text text, struct pool *pool,
		       struct received_resource *resource);
int scope_text_read(struct stored_text text, struct pool *pool, struct received_scope *scope);
/* Begin and end are set already: "end_ns" replaces the end. */
int rest_text_read(struct stored_text text, struct pool *pool, struct received_span *span);

#endif
