/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the store, each a database of DuckDB that is attached under the name fN.
 *
 * A file holds what was received in its period: the spans of a part of the log. All but the newest
 * are opened for reading alone.
 */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include "store/database.h"
#include "store/layout.h"
#include "store/trace_filter.h"

#define FILE_VERSION_TYPED 6 /* from which on files have the tables `typed` and `newer` */

struct store_file {
	uint64_t number; /* they grow; 0: spans.duckdb of an older version */
	char *path;
	unsigned int pins; /* queries that ask it */
	bool is_written;   /* it is attached for writing */
	bool is_lost;	   /* it is not open */
	bool is_damaged;   /* its bytes are wrong: it is not tried again */
	bool has_minutes;  /* it is complete, and has sums of minutes */
	uint64_t version;  /* of its schema */
	/* as the table progress has them; those of the newest file are read while they change */
	uint64_t position;   /* of the log, up to which it has spans */
	uint64_t passed;     /* spans of the entry there that it has, too; of files for writing */
	uint64_t created_ns; /* since 1970, by a clock that may be set */
	uint64_t begun_ns;   /* CLOCK_BOOTTIME: when this store began it; 0: an earlier one did */
	uint64_t least_ns,
		greatest_ns; /* begins of its spans; the least is above if there are none */
	uint64_t spans;
	uint64_t kernel;       /* kernel spans */
	uint64_t newer;	       /* spans that replace another one of the file; from version 6 on */
	uint64_t vector_bytes; /* of texts, in the last VECTOR_SPANS rows; 0 when it is opened */
	struct trace_filter filter;
	struct typed typed;   /* the attributes that have columns */
	struct layout layout; /* for the thread that appends */
	bool has_parts;	      /* it has columns of the split; the newest one may get them */
};

/* By their numbers. */
struct store_files {
	struct store_file **data;
	size_t count, capacity;
};

#define STORE_OLD_NAME "spans.duckdb" /* of versions with one file */
#define FILE_NAME_BYTES 32

/* A file in the directory, which is not opened. NULL: no memory. */
struct store_file *store_file_new(const char *dir, uint64_t number);

/* The name under which it is attached. */
void store_file_name(char name[FILE_NAME_BYTES], const struct store_file *f);

/* Unqualified names in statements of the connection are those of the file. */
int store_file_use(const struct store_file *f, struct database *db, duckdb_connection connection,
		   struct error *e);

/* Attaches the file, which is made if `is_written`, and reads its progress. */
int store_file_attach(struct store_file *f, bool is_written, struct database *db,
		      duckdb_connection connection, struct error *e);

/*
 * Between transactions: gives wanted keys their columns, if the file has few spans. Other files can
 * be used meanwhile.
 */
int store_file_grow(struct store_file *f, struct database *db, duckdb_connection connection,
		    struct error *e);

/* The file has these columns: this is committed. */
void store_file_layout(struct store_file *f, const struct layout *layout);

/* Detaches it. The connection uses no file then. */
void store_file_detach(struct store_file *f, struct database *db, duckdb_connection connection);

/*
 * Makes its schema, or brings it to this version. A file that is made goes on where `before` ended,
 * which may be NULL. The connection uses the file.
 */
int store_file_schema(struct store_file *f, const struct store_file *before, struct database *db,
		      duckdb_connection connection, struct error *e);

/* Writes the numbers of `f` into its table progress. The connection uses the file. */
int store_file_progress_write(const struct store_file *f, struct database *db,
			      duckdb_connection connection, struct error *e);

/* Reads the filter, or makes it of the spans, unless it is there. The connection uses the file. */
int store_file_filter_load(struct store_file *f, struct database *db, duckdb_connection connection,
			   struct error *e);

/*
 * Whether spans of the file may begin in the range, or no more than `around_ns` beside it; 0: no
 * bound. False for one that is not open.
 */
bool store_file_is_in(const struct store_file *f, uint64_t from_ns, uint64_t to_ns,
		      uint64_t around_ns);

/* Bytes on the disk: of the file and of its write-ahead log; and of the log alone. */
uint64_t store_file_bytes(const struct store_file *f);
uint64_t store_file_wal_bytes(const struct store_file *f);

/* Removes it from the disk. 0 or a negative errno. */
int store_file_remove(const struct store_file *f);

/* NULL is allowed. */
void store_file_free(struct store_file *f);

void store_files_free(struct store_files *files);

#endif
