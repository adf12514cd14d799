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
#include "store/new_names.h"
#include "store/pairs.h"
#include "store/span_sums.h"
#include "store/span_text.h"
#include "store/store.h"

/* A span of which an older version is in the file: a row of the table of that name. */
struct newer {
	struct trace_id trace;
	uint64_t span, version;
};

struct store {
	char *dir;
	struct store_options options;
	struct database db;
	struct budget budget;	  /* of queries */
	pthread_rwlock_t opening; /* for reading: queries; for writing: store_reopen() */
	/*
	 * Held for a moment, and taken after `opening`: for changes of the lists and of filters,
	 * by the thread that appends, and for what other threads read of them.
	 */
	pthread_mutex_t files_lock;
	struct store_files files;	    /* spans go into the last one */
	struct store_files gone;	    /* dropped; they are removed when no query asks them */
	uint64_t end_ns, retain_ns;	    /* when to look again, by the monotonic clock */
	uint64_t opened_unix_ns, opened_ns; /* when it was opened; the latter: CLOCK_BOOTTIME */
	uint64_t dropped_spans;
	char lost_why[ERROR_TEXT_BYTES]; /* why files are left out; "": none is */
	/* of what is appended, until it is committed */
	uint64_t least_ns, greatest_ns, spans, kernel;
	uint64_t vector_bytes;	  /* texts of the last rows, which DuckDB has in memory together */
	duckdb_connection writer; /* NULL after store_reopen() failed */
	struct appending appending;
	bool begun; /* a transaction of the writer */
	uint64_t position, passed;
	struct span_sums sums;
	struct known known;
	struct pairs pairs;
	VEC(struct newer) newer; /* since the last commit */
	uint64_t repeats, replaced;
	/* numbers of those in the table, by service, name and kind */
	struct bytes_map operations;
	struct bytes_map operations_before; /* those of the file before: they are not new */
	uint64_t last_operation;	    /* the highest number */
	unsigned int edges;		    /* calls between services in `operations` */
	struct bytes_map services;	    /* how many of `operations` each has */
	struct new_names new_names;
	uint64_t unlisted_spans;
	struct bytes_map texts; /* numbers of texts that are in the table */
	size_t texts_bytes;	/* of the keys of `texts` */
	uint64_t last_text;	/* the highest number of a text */
	struct bytes text;
	VEC(uint8_t) fates; /* enum store_fate of the last batch */
};

/* Into which spans go. For the thread that appends. */
static inline struct store_file *files_newest(const struct store *s)
{
	return s->files.data[s->files.count - 1];
}

/*
 * A connection for a query, the time that it has, and the files that it asks: these stay while
 * others come and go. End it, also if beginning failed; it must stay where it is until then.
 */
struct asking {
	struct store *store;
	duckdb_connection connection;
	struct budget_query budget;
	struct store_files files; /* that are open, by their numbers */
};

/* Which files a query asks: those with spans of the traces, if there are some, and in the range. */
struct asked {
	const struct store_ids *ids;
	bool with_kernel;		    /* only files that have kernel spans */
	uint64_t from_ns, to_ns, around_ns; /* as in store_file_is_in() */
	uint64_t until_ns;		    /* as in struct store_query */
};

/* Asks all files. */
int asking_begin(struct asking *a, struct store *s, struct error *e);
int asking_begin_for(struct asking *a, struct store *s, const struct asked *asked, struct error *e);

/* The traces of which a file that is asked may have spans. 0 or -ENOMEM. */
int asking_choose(const struct asking *a, const struct store_file *f, const struct store_ids *ids,
		  struct store_ids *out);

/*
 * What is to become of a query that failed in a file: 0 if the bytes of the file are wrong. It is
 * left out from now on, and the query goes on with the others.
 */
int asking_go_on(struct asking *a, struct store_file *f, int err, struct error *e);

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

#define TEMPORARY_NAME "duckdb.tmp" /* a directory, which is there while it is needed */

/* Removes what DuckDB left there when the process was killed. */
void files_remove_temporary(const char *dir);

/* Lists the files in the directory. */
int files_find(struct store_files *files, const char *dir, struct error *e);

/* The same; there is one at least. */
int files_list(struct store *s, struct error *e);

/* Attaches the file for writing. The writer uses it then. */
int files_attach_newest(struct store *s, struct store_file *f, struct error *e);

/* Reads what the store knows of the file that the writer uses. */
int files_know(struct store *s, struct error *e);

/* Whether DuckDB's words about a file in the directory say that its bytes are wrong. */
bool files_is_damage(const char *text, const char *dir);

/* Leaves a file whose bytes are wrong out of all answers, while it may be asked. */
void files_lose(struct store *s, struct store_file *f, const char *why);

/* The same of the newest one while the store is opened. The writer uses the next one then. */
int files_lose_newest(struct store *s, const char *why, struct error *e);

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

/* The file ended: its operations are not new in the next one. */
void operations_turn(struct store *s);

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

/*
 * DuckDB works with so many rows at a time. While it compresses or reads them their texts are in
 * memory together, and take up to twice their bytes: with more in them than that the file ends.
 */
#define VECTOR_SPANS 2048u
#define VECTOR_BYTES_MAX ((uint64_t)32 << 20)

/* Appends a span in the transaction. */
int span_append(struct store *s, const struct received_span *span, struct error *e);

/* Adds the calls between services that follow from what was appended to the sums. */
int calls_append(struct store *s, struct error *e);

/* Reads which spans came last. After a failure `of` is the file that could not be read, if one. */
int known_load(struct store *s, struct store_file **of, struct error *e);

/* Add a condition with one value, unless that is NULL or 0. */
void text_condition(struct statement *s, const char *sql, const char *text);

void number_condition(struct statement *s, const char *sql, uint64_t number);

/*
 * Adds the SQL of a search in a file. Its rows are the traces, the values of the order, and how
 * many spans were looked at: with `spans_max` the search looks only at so many, those that come
 * first, and the traces are right if these are fewer, or if there are as many traces as asked for.
 * 0 or -ENOMEM. The values are in the pool.
 */
int search_build(struct statement *s, const struct store_query *q, const struct store_file *f,
		 uint64_t spans_max, struct pool *pool);

/* Whether a search can look at the first spans alone: those of each trace need not be together. */
bool search_has_first(const struct store_query *q);

#endif
