/* SPDX-License-Identifier: Apache-2.0 */
/* What all queries need: a connection, and conditions. */
#include <errno.h>
#include <string.h>

#include "store/internal.h"

int asking_begin(struct asking *a, struct store *s, struct error *e)
{
	int err;

	*a = (struct asking){.store = s};
	pthread_rwlock_rdlock(&s->opening);
	err = database_connect(&s->db, &a->connection, e);
	if (err)
		return err;
	a->budget.connection = a->connection;
	budget_enter(&s->budget, &a->budget, s->options.query_ns);
	return 0;
}

int asking_end(struct asking *a, int err, struct error *e)
{
	if (a->connection) {
		budget_leave(&a->store->budget, &a->budget);
		a->store->db.api.disconnect(&a->connection);
	}
	pthread_rwlock_unlock(&a->store->opening);
	if ((err != -EIO && err != -ETIMEDOUT) || !asking_is_over(a))
		return err;
	error_clear(e);
	return error_say(e, ETIMEDOUT,
			 "the query takes longer than %.3g s: ask for less, such as a shorter time",
			 (double)a->store->options.query_ns / 1e9);
}

const char *text_keep(struct pool *pool, struct stored_text text)
{
	char *copy = pool_alloc(pool, text.bytes + 1, 1);

	if (copy && text.bytes)
		memcpy(copy, text.data, text.bytes);
	return copy;
}

void text_condition(struct statement *s, const char *sql, const char *text)
{
	if (!text)
		return;
	statement_add(s, sql);
	statement_bind_text(s, text, strlen(text));
}

void number_condition(struct statement *s, const char *sql, uint64_t number)
{
	if (!number)
		return;
	statement_add(s, sql);
	statement_bind_number(s, number);
}
