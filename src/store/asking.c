/* SPDX-License-Identifier: Apache-2.0 */
/* What all queries need: a connection, and conditions. */
#include <string.h>

#include "store/internal.h"

int asking_begin(struct asking *a, struct store *s, struct error *e)
{
	*a = (struct asking){.store = s};
	pthread_rwlock_rdlock(&s->opening);
	return database_connect(&s->db, &a->connection, e);
}

void asking_end(struct asking *a)
{
	if (a->connection)
		a->store->db.api.disconnect(&a->connection);
	pthread_rwlock_unlock(&a->store->opening);
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
