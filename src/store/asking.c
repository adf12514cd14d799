/* SPDX-License-Identifier: Apache-2.0 */
/* What all queries need: a connection, files that stay, and conditions. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/internal.h"

static bool file_may_have(const struct store_file *f, const struct store_ids *ids)
{
	for (size_t i = 0; i < ids->count; i++) {
		if (trace_filter_may_have(&f->filter, ids->data[i]))
			return true;
	}
	return false;
}

int asking_choose(const struct asking *a, const struct store_file *f, const struct store_ids *ids,
		  struct store_ids *out)
{
	int err = 0;

	out->count = 0;
	pthread_mutex_lock(&a->store->files_lock);
	for (size_t i = 0; i < ids->count && !err; i++) {
		if (trace_filter_may_have(&f->filter, ids->data[i]))
			err = vec_push(out, ids->data[i]);
	}
	pthread_mutex_unlock(&a->store->files_lock);
	return err;
}

static bool is_asked(const struct store_file *f, const struct asked *asked)
{
	if (asked->with_kernel && !__atomic_load_n(&f->kernel, __ATOMIC_RELAXED))
		return false;
	if (asked->ids && !file_may_have(f, asked->ids))
		return false;
	if (!asked->from_ns && !asked->to_ns)
		return !f->is_lost;
	return store_file_is_in(f, asked->from_ns, asked->to_ns, asked->around_ns);
}

/* Until files_unpin() none of them goes. */
static int files_pin(struct asking *a, const struct asked *asked)
{
	struct store *s = a->store;
	int err = 0;

	pthread_mutex_lock(&s->files_lock);
	for (size_t i = 0; i < s->files.count && !err; i++) {
		struct store_file *f = s->files.data[i];

		if (f->is_lost || !is_asked(f, asked))
			continue;
		err = vec_push(&a->files, f);
		if (!err)
			f->pins++;
	}
	pthread_mutex_unlock(&s->files_lock);
	return err;
}

static void files_unpin(struct asking *a)
{
	pthread_mutex_lock(&a->store->files_lock);
	for (size_t i = 0; i < a->files.count; i++)
		a->files.data[i]->pins--;
	pthread_mutex_unlock(&a->store->files_lock);
	vec_free(&a->files);
}

/* The time of a query. */
static uint64_t time_left(const struct store *s, const struct asked *asked)
{
	uint64_t now_ns = clock_now_ns(), left_ns = s->options.query_ns;

	if (!asked->until_ns || (asked->until_ns > now_ns && asked->until_ns - now_ns > left_ns))
		return left_ns;
	return asked->until_ns > now_ns ? asked->until_ns - now_ns : 0;
}

int asking_begin_for(struct asking *a, struct store *s, const struct asked *asked, struct error *e)
{
	int err;

	*a = (struct asking){.store = s};
	pthread_rwlock_rdlock(&s->opening);
	err = files_pin(a, asked);
	if (err)
		return error_set(e, err, "cannot ask the store");
	err = database_connect(&s->db, &a->connection, e);
	if (err)
		return err;
	a->budget.connection = a->connection;
	budget_enter(&s->budget, &a->budget, time_left(s, asked));
	return asking_is_over(a) ? -ETIMEDOUT : 0;
}

int asking_begin(struct asking *a, struct store *s, struct error *e)
{
	return asking_begin_for(a, s, &(struct asked){0}, e);
}

int asking_go_on(struct asking *a, struct store_file *f, int err, struct error *e)
{
	if (err != -EIO || !e || asking_is_over(a) || !files_is_damage(e->text, a->store->dir))
		return err;
	files_lose(a->store, f, e->text);
	error_clear(e);
	return 0;
}

int asking_end(struct asking *a, int err, struct error *e)
{
	if (a->connection) {
		budget_leave(&a->store->budget, &a->budget);
		a->store->db.api.disconnect(&a->connection);
	}
	files_unpin(a); /* when nothing of the connection has them open */
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
