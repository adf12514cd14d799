/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL over a store, for questions that nobody foresaw. It reads only. The views are:
 *
 *   spans       trace_id, span_id, parent_id, begin, begin_ns, duration_ns, service, name, kind,
 *               status, attributes, resource, scope, rest, version, and user_ns, ... of the split:
 *               each span once, in its highest version; texts in JSON are those of span_text.h
 *   operations  service, name, kind
 *   sums        begin, begin_ns, step_ns, service, operation, kind, error, part, count, total_ns,
 *               max_ns: in steps of ten seconds; `part` is 'duration' or a part of the split
 *   calls       begin, begin_ns, step_ns, parent, child, error, count, total_ns
 *
 * Names of views and columns stay.
 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A value as text; NULL: none. */
struct sql_value {
	const char *text; /* not ended with NUL */
	size_t bytes;
};

struct sql_taker {
	/* Names and types of the columns, before the rows. 0, or a negative errno, which ends it.
	 */
	int (*columns)(void *arg, const char *const *names, const char *const *types, size_t count);
	int (*row)(void *arg, const struct sql_value *values, size_t count);
	/* A file is left out, since it cannot be read. */
	void (*warn)(void *arg, const char *text);
	void *arg;
	/* The newest file is copied into that directory, which may take a while. NULL: not told. */
	void (*copies)(void *arg, uint64_t bytes, const char *where);
};

/*
 * Answers a SELECT over the files in the directory. The file that a running fathom writes is copied
 * first, into TMPDIR (/var/tmp, /tmp), since DuckDB locks it against other processes. It is left
 * out if there is no room for it. -ENOENT if there is no file; -ELIBACC if there is no library;
 * -EIO with DuckDB's words.
 */
int store_sql(const char *dir, const char *sql, const struct sql_taker *taker, struct error *e);

#endif
