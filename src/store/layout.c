/* SPDX-License-Identifier: Apache-2.0 */
#include "store/layout.h"

#include <string.h>

#include "store/columns.h"

static void column_note(struct layout *l, const char *name, size_t bytes)
{
	static const char first_part[] = "user_ns";

	if (bytes == strlen(first_part) && memcmp(name, first_part, bytes) == 0)
		l->first_part = l->columns;
	for (int i = 0; i < TYPED_PLACES; i++) {
		const char *typed = typed_column(i);

		if (bytes == strlen(typed) && memcmp(name, typed, bytes) == 0)
			l->typed[i] = (uint8_t)l->columns;
	}
	l->columns++;
}

static int column_take(void *arg, const struct row *row)
{
	size_t bytes;
	const char *name = row_text(row, 0, &bytes);

	column_note(arg, name, bytes);
	return 0;
}

int layout_load(struct layout *l, struct database *db, duckdb_connection connection,
		struct error *e)
{
	const struct row_taker taker = {column_take, l, 1};

	*l = (struct layout){0};
	return sql_run(db, connection, "SELECT name FROM pragma_table_info('spans') ORDER BY cid",
		       &taker, e);
}

int layout_add_parts(struct layout *l, struct database *db, duckdb_connection connection,
		     struct error *e)
{
#define P(part, value, what) "ALTER TABLE spans ADD COLUMN " #part "_ns UBIGINT DEFAULT 0;"
	int err = sql_run(db, connection, SPLIT_PARTS(P), NULL, e);
#undef P

	if (err)
		return err;
	l->first_part = l->columns;
	l->columns += SPLIT_PARTS_COUNT;
	return 0;
}

int layout_add_typed(struct layout *l, int place, struct database *db, duckdb_connection connection,
		     struct error *e)
{
	struct statement alter = {0};
	int err;

	statement_add(&alter, "ALTER TABLE spans ADD COLUMN ");
	statement_add(&alter, typed_column(place));
	statement_add(&alter, place < TYPED_TEXTS ? " VARCHAR DEFAULT ''" : " UBIGINT DEFAULT 0");
	err = statement_run(db, connection, &alter, NULL, e);
	statement_free(&alter);
	if (!err)
		l->typed[place] = (uint8_t)l->columns++;
	return err;
}
