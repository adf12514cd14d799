/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
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
static bool has_room(const struct store *s, struct stored_text service)
{
	uintptr_t count = (uintptr_t)bytes_map_get(&s->services, service.data, service.bytes);

	if (!count)
		return s->services.count < STORE_SERVICES_MAX;
	return count < STORE_SERVICE_OPERATIONS_MAX && s->operations.count < STORE_OPERATIONS_MAX;
}

/* Whether an operation that the file does not have, and whose key is the text of the store, may be
 * listed. */
static bool may_be_listed(struct store *s, struct stored_text service, struct stored_text name)
{
	bool is_new_service;

	if (!has_room(s, service) || service.bytes > STORE_LISTED_NAME_BYTES ||
	    name.bytes > STORE_LISTED_NAME_BYTES)
		return false;
	if (bytes_map_get(&s->operations_before, s->text.data, s->text.count))
		return true;
	is_new_service = !bytes_map_get(&s->services, service.data, service.bytes);
	return new_names_take(&s->new_names, is_new_service, clock_now_ns());
}

static struct stored_text text_of(const char *text)
{
	return (struct stored_text){text, strlen(text)};
}

static int known_put(struct store *s, const struct bytes *key, uint64_t number)
{
	return bytes_map_put(&s->operations, key->data, key->count, (void *)(uintptr_t)number);
}

static int known_add(void *arg, const struct row *row)
{
	struct store *s = arg;
	struct stored_text service = row_stored(row, 0);
	uint64_t number = row_number(row, 3);
	int err;

	s->text.count = 0;
	key_make(&s->text, service, row_stored(row, 1), row_small(row, 2));
	err = s->text.failed ? -ENOMEM : known_put(s, &s->text, number);
	if (number > s->last_operation)
		s->last_operation = number;
	if (row_small(row, 2) == KIND_EDGE) {
		s->edges++;
		return err;
	}
	return err ? err : service_count(s, service);
}

void operations_turn(struct store *s)
{
	bytes_map_free(&s->operations_before);
	s->operations_before = s->operations;
	s->operations = (struct bytes_map){0};
}

int operations_load(struct store *s, struct error *e)
{
	const struct row_taker taker = {known_add, s, 4};

	bytes_map_free(&s->operations);
	bytes_map_free(&s->services);
	s->last_operation = s->edges = 0;
	return sql_run(&s->db, s->writer,
		       "SELECT service, name, kind, min(id) FROM operations GROUP BY ALL", &taker,
		       e);
}

static int row_insert(struct store *s, struct stored_text service, struct stored_text name,
		      uint8_t kind, struct error *e)
{
	struct statement insert = {0};
	int err;

	statement_add(&insert,
		      "INSERT INTO operations(service, name, kind, id) VALUES (?, ?, ?, ?)");
	statement_bind_text(&insert, service.data, service.bytes);
	statement_bind_text(&insert, name.data, name.bytes);
	statement_bind_number(&insert, kind);
	statement_bind_number(&insert, s->last_operation + 1);
	err = statement_run(&s->db, s->writer, &insert, NULL, e);
	statement_free(&insert);
	return err;
}

/* Adds the operation whose key is the text of the store. */
static int key_add(struct store *s, struct stored_text service, struct stored_text name,
		   uint8_t kind, struct error *e)
{
	int err = row_insert(s, service, name, kind, e);

	if (err)
		return err;
	err = known_put(s, &s->text, ++s->last_operation);
	if (kind == KIND_EDGE)
		s->edges++;
	else
		err = err ? err : service_count(s, service);
	return err ? error_set(e, ENOMEM, "cannot store a span") : 0;
}

uint64_t operation_find(struct store *s, struct stored_text service, struct stored_text name,
			uint8_t kind)
{
	s->text.count = 0;
	key_make(&s->text, service, name, kind);
	if (s->text.failed)
		return 0;
	return (uintptr_t)bytes_map_get(&s->operations, s->text.data, s->text.count);
}

int operation_add(struct store *s, const struct received_span *span, uint64_t *number,
		  struct error *e)
{
	struct stored_text service = text_of(span->resource->service), name = text_of(span->name);
	uint64_t known = operation_find(s, service, name, span->kind);
	int err = 0;

	if (!known && !s->text.failed && !may_be_listed(s, service, name)) {
		__atomic_fetch_add(&s->unlisted_spans, 1, __ATOMIC_RELAXED);
		if (!bytes_map_get(&s->services, service.data, service.bytes))
			service = text_of(STORE_OTHER);
		name = text_of(STORE_OTHER);
		known = operation_find(s, service, name, span->kind);
	}
	if (s->text.failed)
		return error_set(e, ENOMEM, "cannot store a span");
	if (!known)
		err = key_add(s, service, name, span->kind, e);
	if (!err)
		*number = known ? known : s->last_operation;
	return err;
}

int edge_add(struct store *s, const char *parent, const char *child, uint64_t *number,
	     struct error *e)
{
	uint64_t known = operation_find(s, text_of(parent), text_of(child), KIND_EDGE);
	int err = 0;

	if (s->text.failed)
		return error_set(e, ENOMEM, "cannot store a call");
	if (!known && s->edges < EDGES_MAX) {
		err = key_add(s, text_of(parent), text_of(child), KIND_EDGE, e);
		known = s->last_operation;
	}
	if (!err)
		*number = known;
	return err;
}
