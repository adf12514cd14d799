/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of received spans: batches in, and queries as values out.
 *
 * It is one file of DuckDB. Spans are appended and committed together with the position of the log
 * from which they came, so that each entry of the log is stored once, whenever the process dies.
 * One thread appends and commits. Queries are for all threads at the same time, and see what was
 * committed.
 *
 * The tables of schema version 2; texts in JSON are described in span_text.h:
 *
 *   spans       trace, span, parent, begin_ns, duration_ns, service, name, kind, status,
 *               attributes, resource, scope, rest
 *   texts       id, text: of resources and scopes, to which spans have numbers
 *   operations  service, name, kind: once each, for lists
 *   progress    version of the schema, position of the log: one row
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/error.h"
#include "base/pool.h"
#include "base/vec.h"
#include "span/received.h"

/*
 * Limits of the lists of services and operations. The spans of what is not listed are found all the
 * same. The first operation of a service is listed even if there are STORE_OPERATIONS_MAX.
 */
#define STORE_SERVICES_MAX 10000u
#define STORE_SERVICE_OPERATIONS_MAX 2000u
#define STORE_OPERATIONS_MAX 100000u

struct store;

/*
 * Opens the store in the file `path`, or makes it. `library`: DuckDB's, NULL: where it usually is.
 * -ENOENT if there is no such library; -EPROTONOSUPPORT if the file is of a newer version.
 */
int store_open(const char *path, const char *library, struct store **out, struct error *e);
void store_close(struct store *s);

/* The position of the log up to which everything is stored. */
uint64_t store_position(const struct store *s);

/* Appends spans, which become visible and durable with the next commit. */
int store_append(struct store *s, const struct received_batch *batch, struct error *e);

/* Bytes of texts that were appended since the last commit. */
size_t store_pending_bytes(const struct store *s);

/*
 * Makes what was appended durable, together with the position. On failure of this or of
 * store_append(), call store_abandon() and go on from store_position().
 */
int store_commit(struct store *s, uint64_t position, struct error *e);
void store_abandon(struct store *s);

/*
 * Opens the file again, without what was not committed. DuckDB needs this after a failure to write,
 * such as on a full disk, even if there is room again. On failure try again later; until then
 * everything fails. For the thread that appends.
 */
int store_reopen(struct store *s, struct error *e);

/* Which traces are asked for: those with a span that meets all conditions. */
struct store_query {
	const char *service;			   /* NULL: any */
	const char *operation;			   /* NULL: any */
	int kind;				   /* enum received_kind; < 0: any */
	bool is_error;				   /* only spans in error */
	uint64_t duration_from_ns, duration_to_ns; /* 0: no bound */
	uint64_t begin_from_ns, begin_to_ns;	   /* of the span; 0: no bound */
	const struct attribute *tags; /* of the span or its resource; a text finds numbers, too */
	size_t tags_count;
	const char *const *marks; /* keys of attributes of the span, or names of its events */
	size_t marks_count;
	const char *remote; /* NULL: any; else the attribute peer.service, in any case */
	/*
	 * As Zipkin searches: names are the same in any case, and each condition but the times may
	 * be met by another span of the service.
	 */
	bool is_loose;
	size_t limit; /* of traces, newest first */
};

struct store_ids {
	struct trace_id *data;
	size_t count;
	size_t capacity;
};

/* Appends the ids of the traces. */
int store_search(struct store *s, const struct store_query *query, struct store_ids *out,
		 struct error *e);

/*
 * Appends all spans of the traces, by their begin; one that was sent twice once. Spans are told
 * apart by their ids, kind, service and begin. What they point to is in the pool; those with the
 * same resource point to the same one. -ENOMEM also at the pool's limit.
 */
int store_find(struct store *s, const struct store_ids *ids, struct pool *pool,
	       struct received_batch *out, struct error *e);

struct store_operation {
	const char *service;
	const char *name;
	uint8_t kind;
};

struct store_operations {
	struct store_operation *data;
	size_t count;
	size_t capacity;
};

/*
 * Appends the operations of a service, or of all (NULL), sorted by service, name and kind. Their
 * texts are in the pool.
 */
int store_list(struct store *s, const char *service, struct pool *pool,
	       struct store_operations *out, struct error *e);

struct store_counts {
	uint64_t spans;
	uint64_t bytes;		 /* of the file and its write-ahead log */
	uint64_t unlisted_spans; /* since opening, whose operation is not in the lists */
};

int store_count(struct store *s, struct store_counts *out, struct error *e);

#endif
