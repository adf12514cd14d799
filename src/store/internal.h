/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store share. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <pthread.h>

#include "base/map.h"
#include "store/append.h"
#include "store/budget.h"
#include "store/database.h"
#include "store/file.h"
#include "store/known.h"
#include "store/pairs.h"
#include "store/span_sums.h"
#include "store/span_text.h"
#include "store/store.h"

struct store {
	char *dir;
	struct store_options options;
	struct database db;
	struct budget budget; /* of queries */
	/* for reading: queries; for writing: store_reopen(), and changes of `files` */
	pthread_rwlock_t opening;
	VEC(struct store_file) files; /* by number; spans go into the last one */
	uint64_t end_ns, retain_ns;   /* when to look again, by the monotonic clock */
	uint64_t dropped_spans;
	char lost_why[ERROR_TEXT_BYTES]; /* why files are left out; "": none is */
	/* of what is appended, until it is committed */
	uint64_t least_ns, greatest_ns, spans, kernel;
	duckdb_connection writer; /* NULL after store_reopen() failed */
	struct appending appending;
	bool begun; /* a transaction of the writer */
	uint64_t position;
	struct span_sums sums;
	struct known known;
	struct pairs pairs;
	uint64_t repeats, replaced;
	/* numbers of those in the table, by service, name and kind */
	struct bytes_map operations;
	uint64_t last_operation;   /* the highest number */
	unsigned int edges;	   /* calls between services in `operations` */
	struct bytes_map services; /* how many of `operations` each has */
	uint64_t unlisted_spans;
	struct bytes_map texts; /* numbers of texts that are in the table */
	size_t texts_bytes;	/* of the keys of `texts` */
	uint64_t last_text;	/* the highest number of a text */
	struct bytes text;
	VEC(uint8_t) fates; /* enum store_fate of the last batch */
};

/* store_reopen() for a caller that has `opening` for writing. */
int store_reopen_locked(struct store *s, struct error *e);

/*
 * A connection for a query, and the time that it has. End it, also if beginning failed; it must
 * stay where it is until then.
 */
struct asking {
	struct store *store;
	duckdb_connection connection;
	struct budget_query budget;
};

int asking_begin(struct asking *a, struct store *s, struct error *e);

/* Returns `err`, or -ETIMEDOUT with a cause if the query failed since its time was over. */
int asking_end(struct asking *a, int err, struct error *e);

/* Whether the time is over. */
static inline bool asking_is_over(const struct asking *a)
{
	return atomic_load_explicit(&a->budget.is_over, memory_order_relaxed);
}

/* A text of a row, which borrows it. */
static inline struct stored_text row_stored(const struct row *row, unsigned int column)
{
	struct stored_text text;

	text.data = row_text(row, column, &text.bytes);
	return text;
}

/* A copy in the pool that ends with NUL; NULL: no memory. */
const char *text_keep(struct pool *pool, struct stored_text text);

/* Lists the files in the directory. */
int files_find(struct store *s, struct error *e);

/* The same; there is one at least. */
int files_list(struct store *s, struct error *e);

/* Whether DuckDB's words about a file in the directory say that its bytes are wrong. */
bool files_is_damage(const char *text, const char *dir);

/* Attaches all files. The writer uses the last one. */
int files_open(struct store *s, struct error *e);

/*
 * Between transactions: begins the next file, and drops the oldest, if it is time. After a failure
 * what is old goes all the same.
 */
int files_turn(struct store *s, struct error *e);

/* Forgets the known texts, and reads the highest number again. */
int texts_load(struct store *s, struct error *e);

/* Sets the numbers of the texts of resource and scope of a span, and adds new ones to the table. */
int texts_add(struct store *s, const struct received_span *span, struct error *e);

/* Reads the known operations again. */
int operations_load(struct store *s, struct error *e);

/* The number of the operation of a span, which is added if it is new. */
int operation_add(struct store *s, const struct received_span *span, uint64_t *number,
		  struct error *e);

/* The number of a known operation; 0: it is none. */
uint64_t operation_find(struct store *s, struct stored_text service, struct stored_text name,
			uint8_t kind);

/* The same for a call between services; number 0: there are too many. */
int edge_add(struct store *s, const char *parent, const char *child, uint64_t *number,
	     struct error *e);

#define KIND_EDGE 255u /* of an operation that is a call between services */
#define EDGES_MAX 10000u

/* Appends a span in the transaction. */
int span_append(struct store *s, const struct received_span *span, struct error *e);

/* Adds the calls between services that follow from what was appended to the sums. */
int calls_append(struct store *s, struct error *e);

/* Reads which spans came last. */
int known_load(struct store *s, struct error *e);

/* Add a condition with one value, unless that is NULL or 0. */
void text_condition(struct statement *s, const char *sql, const char *text);

void number_condition(struct statement *s, const char *sql, uint64_t number);

/* Adds the SQL of a search. 0 or -ENOMEM. The values are in the pool. */
int search_build(struct statement *s, const struct store_query *q, struct pool *pool);

#endif
