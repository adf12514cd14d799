/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of resources and scopes, which many spans share: spans have their numbers.
 *
 * The map of known texts is a cache. A text that fell out of it is stored once more.
 */
#include <errno.h>

#include "store/internal.h"
#include "store/span_text.h"

#define KNOWN_BYTES_MAX ((size_t)16 << 20)

static int last_take(void *arg, const struct row *row)
{
	*(uint64_t *)arg = row_number(row, 0);
	return 0;
}

static void known_forget(struct store *s)
{
	bytes_map_free(&s->texts);
	s->texts_bytes = 0;
}

int texts_load(struct store *s, struct error *e)
{
	const struct row_taker taker = {last_take, &s->last_text, 1};

	known_forget(s);
	return sql_run(&s->db, s->writer, "SELECT coalesce(max(id), 0)::UBIGINT FROM texts", &taker,
		       e);
}

static int number_of(struct store *s, uint64_t *number, struct error *e)
{
	const struct bytes *text = &s->text;
	const void *known = bytes_map_get(&s->texts, text->data, text->count);
	int err;

	if (known) {
		*number = (uintptr_t)known;
		return 0;
	}
	err = appending_text(&s->appending, s->last_text + 1, text, e);
	if (err)
		return err;
	*number = ++s->last_text;
	if (s->texts_bytes + text->count > KNOWN_BYTES_MAX)
		known_forget(s);
	if (!bytes_map_put(&s->texts, text->data, text->count, (void *)(uintptr_t)*number))
		s->texts_bytes += text->count;
	return 0;
}

int texts_add(struct store *s, const struct received_span *span, struct error *e)
{
	struct appending *a = &s->appending;
	int err = 0;

	if (a->resource_of != span->resource) {
		a->resource_of = NULL;
		err = resource_text(&s->text, span->resource);
		err = err ? error_set(e, err, "cannot store a span")
			  : number_of(s, &a->resource, e);
		if (!err)
			a->resource_of = span->resource;
	}
	if (!err && a->scope_of != span->scope) {
		a->scope_of = NULL;
		err = scope_text(&s->text, span->scope);
		err = err ? error_set(e, err, "cannot store a span") : number_of(s, &a->scope, e);
		if (!err)
			a->scope_of = span->scope;
	}
	return err;
}
