/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and counts. */
#include <errno.h>
#include <string.h>

#include "store/internal.h"

struct listing {
	struct pool *pool;
	struct store_operations *out;
};

static int operation_take(void *arg, const struct row *row)
{
	struct listing *listing = arg;
	struct store_operation operation = {.service = text_keep(listing->pool, row_stored(row, 0)),
					    .name = text_keep(listing->pool, row_stored(row, 1)),
					    .kind = row_small(row, 2)};

	if (!operation.service || !operation.name)
		return -ENOMEM;
	return vec_push(listing->out, operation);
}

/* The operations of all files; false: there is no file. */
static bool list_build(const struct asking *a, struct statement *statement)
{
	const char *between = "";

	statement_add(statement, "SELECT DISTINCT service, name, kind FROM (");
	for (size_t i = 0; i < a->files.count; i++) {
		char name[FILE_NAME_BYTES];

		if (a->files.data[i]->is_lost) /* since a moment ago */
			continue;
		store_file_name(name, a->files.data[i]);
		statement_add(statement, between);
		statement_add(statement, "FROM ");
		statement_add(statement, name);
		statement_add(statement, ".operations");
		between = " UNION ALL ";
	}
	statement_add(statement, ") WHERE kind <> 255");
	return *between;
}

static int list_ask(struct listing *listing, const char *service, struct asking *a, struct error *e)
{
	const struct row_taker taker = {operation_take, listing, 3};
	struct statement statement = {0};
	bool any = list_build(a, &statement);
	int err = 0;

	text_condition(&statement, " AND service = ?", service);
	statement_add(&statement, " ORDER BY service, name, kind");
	if (any)
		err = statement_ask(&a->store->db, a->connection, &statement, &taker, e);
	statement_free(&statement);
	return err;
}

/* Asks each file alone, so that one whose bytes are wrong is known. */
static int damaged_find(struct asking *a, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < a->files.count && !err; i++) {
		struct statement statement = {0};
		struct asking one = *a;

		one.files.data = &a->files.data[i];
		one.files.count = 1;
		if (list_build(&one, &statement))
			err = statement_ask(&a->store->db, a->connection, &statement, NULL, e);
		statement_free(&statement);
		err = asking_go_on(a, a->files.data[i], err, e);
	}
	return err;
}

int store_list(struct store *s, const char *service, struct pool *pool,
	       struct store_operations *out, struct error *e)
{
	struct listing listing = {pool, out};
	size_t before = out->count;
	struct asking asking;
	int err = asking_begin(&asking, s, e);

	err = err ? err : list_ask(&listing, service, &asking, e);
	if (err == -EIO && files_is_damage(e->text, s->dir)) {
		error_clear(e);
		out->count = before;
		err = damaged_find(&asking, e);
		err = err ? err : list_ask(&listing, service, &asking, e);
	}
	return asking_end(&asking, err, e);
}

const char *store_lost_why(const struct store *s)
{
	return s->lost_why;
}

int store_count(struct store *s, struct store_counts *out, struct error *e)
{
	struct store_counts counts = {0};
	bool is_closed;

	pthread_rwlock_rdlock(&s->opening);
	pthread_mutex_lock(&s->files_lock);
	counts.files = s->files.count;
	for (size_t i = 0; i < s->files.count; i++) {
		const struct store_file *f = s->files.data[i];

		counts.bytes += store_file_bytes(f);
		counts.lost_files += f->is_lost;
		if (f->is_lost)
			continue;
		counts.spans += __atomic_load_n(&f->spans, __ATOMIC_RELAXED);
		counts.kernel_spans += __atomic_load_n(&f->kernel, __ATOMIC_RELAXED);
	}
	memcpy(counts.lost_why, s->lost_why, sizeof(counts.lost_why));
	is_closed = !s->db.handle;
	pthread_mutex_unlock(&s->files_lock);
	pthread_rwlock_unlock(&s->opening);
	if (is_closed)
		return error_say(e, EIO, "the store is closed after a failure");
	counts.dropped = __atomic_load_n(&s->dropped_spans, __ATOMIC_RELAXED);
	counts.unlisted_spans = __atomic_load_n(&s->unlisted_spans, __ATOMIC_RELAXED);
	counts.repeats = __atomic_load_n(&s->repeats, __ATOMIC_RELAXED);
	counts.replaced = __atomic_load_n(&s->replaced, __ATOMIC_RELAXED);
	*out = counts;
	return 0;
}
