/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a store and the views over them, for reading beside a process that writes. */
#ifndef STORE_SQL_FILES_H
#define STORE_SQL_FILES_H

#include "store/file.h"
#include "store/sql.h"

struct sql_files {
	struct database db;
	duckdb_connection connection;
	struct store_files files; /* those that are attached */
	char *copies;		  /* a directory of copies; NULL: there is none */
	const struct sql_taker *taker;
};

/* Opens all files that can be read, and makes the views. Close it also on failure. */
int sql_files_open(struct sql_files *files, const char *dir, const struct sql_taker *taker,
		   struct error *e);
void sql_files_close(struct sql_files *files);

#endif
