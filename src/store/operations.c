/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "store/internal.h"

/* The key of an operation: service and name, each with its NUL, and the kind. */
static void key_make(struct bytes *key, struct stored_text service, struct stored_text name,
		     uint8_t kind)
{
	bytes_put(key, service.data, service.bytes);
	bytes_put_u8(key, 0);
	bytes_put(key, name.data, name.bytes);
	bytes_put_u8(key, 0);
	bytes_put_u8(key, kind);
}

/* Counts an operation of the service. */
static int service_count(struct store *s, struct stored_text service)
{
	uintptr_t count = (uintptr_t)bytes_map_get(&s->services, service.data, service.bytes);

	return bytes_map_put(&s->services, service.data, service.bytes, (void *)(count + 1));
}

/* A program with an id in each name must not hide the services that come after it. */
static bool is_listed(const struct store *s, struct stored_text service)
{
	uintptr_t count = (uintptr_t)bytes_map_get(&s->services, service.data, service.bytes);

	if (!count)
		return s->services.count < STORE_SERVICES_MAX;
	return count < STORE_SERVICE_OPERATIONS_MAX && s->operations.count < STORE_OPERATIONS_MAX;
}

static struct stored_text text_of(const char *text)
{
	return (struct stored_text){text, strlen(text)};
}

static int known_add(void *arg, const struct row *row)
{
	struct store *s = arg;
	struct bytes key = {0};
	struct stored_text service, name;
	int err;

	service.data = row_text(row, 0, &service.bytes);
	name.data = row_text(row, 1, &name.bytes);
	key_make(&key, service, name, row_small(row, 2));
	err = key.failed ? -ENOMEM : bytes_map_put(&s->operations, key.data, key.count, PRESENT);
	err = err ? err : service_count(s, service);
	bytes_free(&key);
	return err;
}

int operations_load(struct store *s, struct error *e)
{
	const struct row_taker taker = {known_add, s, 3};

	bytes_map_free(&s->operations);
	bytes_map_free(&s->services);
	return sql_run(&s->db, s->writer, "SELECT DISTINCT service, name, kind FROM operations",
		       &taker, e);
}

static int row_insert(struct store *s, const struct received_span *span, struct error *e)
{
	const char *service = span->resource->service;
	struct statement insert = {0};
	int err;

	statement_add(&insert, "INSERT INTO operations VALUES (?, ?, ?)");
	statement_bind_text(&insert, service, strlen(service));
	statement_bind_text(&insert, span->name, strlen(span->name));
	statement_bind_number(&insert, span->kind);
	err = statement_run(&s->db, s->writer, &insert, NULL, e);
	statement_free(&insert);
	return err;
}

static int key_add(struct store *s, const struct received_span *span, const struct bytes *key,
		   struct error *e)
{
	struct stored_text service = text_of(span->resource->service);
	int err;

	if (!is_listed(s, service)) {
		__atomic_fetch_add(&s->unlisted_spans, 1, __ATOMIC_RELAXED);
		return 0;
	}
	err = row_insert(s, span, e);
	if (err)
		return err;
	err = bytes_map_put(&s->operations, key->data, key->count, PRESENT);
	err = err ? err : service_count(s, service);
	return err ? error_set(e, ENOMEM, "cannot store a span") : 0;
}

int operation_add(struct store *s, const struct received_span *span, struct error *e)
{
	struct bytes key = {0};
	int err = 0;

	key_make(&key, text_of(span->resource->service), text_of(span->name), span->kind);
	if (key.failed)
		err = error_set(e, ENOMEM, "cannot store a span");
	else if (!bytes_map_get(&s->operations, key.data, key.count))
		err = key_add(s, span, &key, e);
	bytes_free(&key);
	return err;
}
