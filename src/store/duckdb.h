/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of DuckDB's C API that the store uses. The library is opened while the program runs, so
 * that everything else works without it. These functions are stable since DuckDB 1.2; the structs
 * that are passed by value have the layout of duckdb.h.
 */
#ifndef STORE_DUCKDB_H
#define STORE_DUCKDB_H

#include <stdint.h>

#include "base/error.h"

typedef uint64_t duckdb_count;
typedef int duckdb_state; /* 0: it worked */
/* handles; each is NULL or is given back by its function */
typedef struct duckdb_database_handle *duckdb_database;
typedef struct duckdb_connection_handle *duckdb_connection;
typedef struct duckdb_config_handle *duckdb_config;
typedef struct duckdb_statement_handle *duckdb_statement;
typedef struct duckdb_appender_handle *duckdb_appender;
typedef struct duckdb_chunk_handle *duckdb_chunk;
typedef struct duckdb_vector_handle *duckdb_vector;
typedef struct duckdb_type_handle *duckdb_type;

struct duckdb_id {
	uint64_t low, high;
};

struct duckdb_result {
	duckdb_count old[3];
	void *old_columns;
	char *old_error;
	void *internal;
};

/* A text in a vector: up to 12 bytes stand in it, longer ones elsewhere. */
struct duckdb_text {
	uint32_t length;
	union {
		char inlined[12];
		struct {
			char prefix[4];
			const char *data;
		} __attribute__((packed));
	};
};

_Static_assert(sizeof(struct duckdb_text) == 16, "as in duckdb.h");

enum { /* of logical types */
       DUCKDB_UTINYINT = 6,
       DUCKDB_UBIGINT = 9,
       DUCKDB_VARCHAR = 17,
       DUCKDB_BLOB = 18,
       DUCKDB_UHUGEINT = 32,
};

#define DUCKDB_FUNCTIONS(F)                                                                        \
	F(const char *, library_version, (void))                                                   \
	F(duckdb_state, create_config, (duckdb_config *))                                          \
	F(duckdb_state, set_config, (duckdb_config, const char *name, const char *value))          \
	F(void, destroy_config, (duckdb_config *))                                                 \
	F(duckdb_state, open_ext,                                                                  \
	  (const char *path, duckdb_database *, duckdb_config, char **why))                        \
	F(void, close, (duckdb_database *))                                                        \
	F(duckdb_state, connect, (duckdb_database, duckdb_connection *))                           \
	F(void, disconnect, (duckdb_connection *))                                                 \
	F(void, interrupt, (duckdb_connection))                                                    \
	F(duckdb_state, query, (duckdb_connection, const char *sql, struct duckdb_result *))       \
	F(void, destroy_result, (struct duckdb_result *))                                          \
	F(const char *, result_error, (struct duckdb_result *))                                    \
	F(duckdb_chunk, fetch_chunk, (struct duckdb_result))                                       \
	F(duckdb_state, prepare, (duckdb_connection, const char *sql, duckdb_statement *))         \
	F(const char *, prepare_error, (duckdb_statement))                                         \
	F(void, destroy_prepare, (duckdb_statement *))                                             \
	F(duckdb_state, bind_uint64, (duckdb_statement, duckdb_count i, uint64_t))                 \
	F(duckdb_state, bind_uhugeint, (duckdb_statement, duckdb_count i, struct duckdb_id))       \
	F(duckdb_state, bind_varchar_length,                                                       \
	  (duckdb_statement, duckdb_count i, const char *, duckdb_count bytes))                    \
	F(duckdb_state, execute_prepared, (duckdb_statement, struct duckdb_result *))              \
	F(duckdb_state, execute_prepared_streaming, (duckdb_statement, struct duckdb_result *))    \
	F(duckdb_type, create_logical_type, (int))                                                 \
	F(void, destroy_logical_type, (duckdb_type *))                                             \
	F(duckdb_chunk, create_data_chunk, (duckdb_type *, duckdb_count columns))                  \
	F(void, destroy_data_chunk, (duckdb_chunk *))                                              \
	F(void, data_chunk_reset, (duckdb_chunk))                                                  \
	F(duckdb_vector, data_chunk_get_vector, (duckdb_chunk, duckdb_count column))               \
	F(duckdb_count, data_chunk_get_size, (duckdb_chunk))                                       \
	F(void, data_chunk_set_size, (duckdb_chunk, duckdb_count rows))                            \
	F(void *, vector_get_data, (duckdb_vector))                                                \
	F(uint64_t *, vector_get_validity, (duckdb_vector))                                        \
	F(void, vector_assign_string_element_len,                                                  \
	  (duckdb_vector, duckdb_count row, const char *, duckdb_count bytes))                     \
	F(duckdb_state, appender_create,                                                           \
	  (duckdb_connection, const char *schema, const char *table, duckdb_appender *))           \
	F(const char *, appender_error, (duckdb_appender))                                         \
	F(duckdb_state, append_data_chunk, (duckdb_appender, duckdb_chunk))                        \
	F(duckdb_state, appender_flush, (duckdb_appender))                                         \
	F(duckdb_state, appender_destroy, (duckdb_appender *))                                     \
	F(void, free, (void *))

struct duckdb {
	void *library;
#define F(type, name, arguments) type(*name) arguments;
	DUCKDB_FUNCTIONS(F)
#undef F
};

/*
 * Opens the library: `path`, or, if that is NULL, FATHOM_DUCKDB of the environment,
 * ../lib/fathom/libduckdb.so beside the program's folder, or what the loader finds.
 * -ELIBACC with a cause that says how to get it; -ENOSYS if it is too old.
 */
int duckdb_load(struct duckdb *api, const char *path, struct error *e);
void duckdb_unload(struct duckdb *api);

#endif
