/* SPDX-License-Identifier: Apache-2.0 */
#include "store/known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/store.h"

#define TURN_NS UINT64_C(300000000000)
#define MARK_MASK KNOWN_MARK_MASK
#define SERVICES_MAX UINT16_MAX

struct known_span {
	uint64_t key, parent_key;
	uint64_t begin_ns, duration_ns;
	uint32_t stands_for;
	uint16_t service;
	bool is_error;
	bool is_called; /* if the parent is known, it may be in another service */
};

struct waiting {
	struct waiting *next;
	uint64_t begin_ns, duration_ns;
	uint32_t stands_for;
	uint16_t service;
	bool is_error;
};

static uint64_t key_of(struct trace_id trace, uint64_t span_id, bool shared)
{
	return hash_pair(hash_pair(trace.high, trace.low), span_id ^ (shared ? UINT64_MAX : 0));
}

/*
 * A context is no version of the received span with its ids, and no parent: the received span is.
 * So it has a key of its own.
 */
static uint64_t key_told(const struct received_span *span, const struct told *told)
{
	uint64_t key = key_of(span->trace, span->span_id, span->shared);

	return told->is_context ? hash_pair(key, 1) : key;
}

/* The other half of a shared span, or the parent. */
static uint64_t key_of_parent(const struct received_span *span)
{
	return key_of(span->trace, span->shared ? span->span_id : span->parent_id, false);
}

/* Tells apart spans with the same ids; 0: all versions of a span. */
static uint64_t mark_of(const struct received_span *span, const struct told *told, uint16_t service)
{
	uint64_t what = (uint64_t)service << 8 | span->kind;

	return told->version ? 0 : hash_pair(span->begin_ns, what) % MARK_MASK + 1;
}

static uint64_t id_of(uint64_t key, uint64_t mark)
{
	uint64_t id = (key & ~MARK_MASK) | mark;

	return id ? id : 1;
}

/* Finds an id in all sets. False: there is none. */
static bool known_find(const struct known *k, uint64_t id, uint64_t mask, uint16_t *service)
{
	size_t place = known_ids_find(&k->fresh, id, mask);
	const struct known_ids *set = &k->fresh;

	for (size_t i = 0; !place && i < KNOWN_AGES; i++) {
		set = &k->ages[i];
		place = known_ids_find(set, id, mask);
	}
	if (place)
		*service = set->services[place - 1];
	return place;
}

/* The number of a service, which is made; 0 if there are too many, it is too long, or no memory. */
static uint16_t service_number(struct known *k, const char *name)
{
	uintptr_t number = (uintptr_t)bytes_map_get(&k->services, name, strlen(name));
	char *copy;

	if (number || k->names.count >= SERVICES_MAX || strlen(name) > STORE_LISTED_NAME_BYTES)
		return (uint16_t)number;
	copy = strdup(name);
	if (!copy || vec_push(&k->names, copy)) {
		free(copy);
		return 0;
	}
	number = k->names.count;
	if (bytes_map_put(&k->services, name, strlen(name), (void *)number))
		return 0;
	return (uint16_t)number;
}

static const struct known_version *version_find(const struct known *k, uint64_t key)
{
	const struct known_version *version = map_get(&k->fresh_versions, key);

	for (size_t i = 0; !version && i < 2; i++)
		version = map_get(&k->versions[i], key);
	return version;
}

static int span_note(struct known *k, const struct received_span *span, const struct told *told,
		     uint64_t id, uint16_t service)
{
	struct known_span note = {.key = key_of(span->trace, span->span_id, span->shared),
				  .parent_key = key_of_parent(span),
				  .begin_ns = span->begin_ns,
				  .duration_ns = received_duration_ns(span),
				  .stands_for = told->stands_for,
				  .service = service,
				  .is_error = span->status == RECEIVED_ERROR,
				  .is_called = span->shared || (span->parent_id &&
								(span->kind == RECEIVED_SERVER ||
								 span->kind == RECEIVED_CONSUMER))};
	int err = known_ids_add(&k->fresh, id, service);

	return err ? err : vec_push(&k->spans, note);
}

int known_ask(struct known *k, const struct received_span *span, const struct told *told,
	      struct known_version *old)
{
	uint64_t key = key_told(span, told);
	uint16_t service = service_number(k, span->resource->service), was;
	uint64_t id = id_of(key, mark_of(span, told, service));
	const struct known_version *version = told->version ? version_find(k, key) : NULL;
	int err;

	if (version && version->version >= told->version)
		return KNOWN_REPEAT;
	if (version) {
		*old = *version;
		return KNOWN_REPLACE;
	}
	if (known_find(k, id, UINT64_MAX, &was))
		return told->version ? KNOWN_UNSURE : KNOWN_REPEAT;
	err = told->is_context || told->call_counted ? known_ids_add(&k->fresh, id, service)
						     : span_note(k, span, told, id, service);
	return err ? err : KNOWN_NEW;
}

bool known_has_older(const struct known *k, const struct received_span *span,
		     const struct told *told)
{
	uint64_t key = key_of(span->trace, span->span_id, span->shared);
	uint16_t service;

	return told->version && (known_find(k, id_of(key, 0), UINT64_MAX, &service) ||
				 known_find(k, id_of(hash_pair(key, 1), 0), UINT64_MAX, &service));
}

int known_version_put(struct known *k, const struct received_span *span, const struct told *told,
		      uint64_t operation)
{
	uint64_t key = key_told(span, told);
	struct known_version *version = map_get(&k->fresh_versions, key);

	if (!version) {
		version = malloc(sizeof(*version));
		if (!version || map_put(&k->fresh_versions, key, version)) {
			free(version);
			return -ENOMEM;
		}
	}
	*version = (struct known_version){told->version,
					  operation,
					  span->begin_ns,
					  received_duration_ns(span),
					  span->status == RECEIVED_ERROR,
					  told->measured,
					  told->time,
					  told->stands_for};
	return 0;
}

static int call_tell(const struct known *k, uint16_t parent, const struct waiting *child,
		     int (*take)(void *arg, const struct known_call *call), void *arg)
{
	struct known_call call = {.begin_ns = child->begin_ns,
				  .duration_ns = child->duration_ns,
				  .stands_for = child->stands_for,
				  .is_error = child->is_error};

	if (!parent || !child->service || parent == child->service)
		return 0;
	call.parent = k->names.data[parent - 1];
	call.child = k->names.data[child->service - 1];
	return take(arg, &call);
}

static void list_free(struct waiting *list)
{
	while (list) {
		struct waiting *next = list->next;

		free(list);
		list = next;
	}
}

static int waiting_add(struct known *k, uint64_t parent_key, const struct waiting *child)
{
	struct waiting *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *child;
	copy->next = map_get(&k->waiting[0], parent_key);
	if (map_put(&k->waiting[0], parent_key, copy) == 0)
		return 0;
	free(copy);
	return -ENOMEM;
}

static int span_calls(struct known *k, const struct known_span *span,
		      int (*take)(void *arg, const struct known_call *call), void *arg)
{
	const struct waiting child = {.begin_ns = span->begin_ns,
				      .duration_ns = span->duration_ns,
				      .stands_for = span->stands_for,
				      .service = span->service,
				      .is_error = span->is_error};
	uint16_t parent;
	int err = 0;

	if (span->is_called) {
		if (known_find(k, id_of(span->parent_key, 0), ~MARK_MASK, &parent))
			err = call_tell(k, parent, &child, take, arg);
		else
			err = waiting_add(k, span->parent_key, &child);
	}
	for (size_t i = 0; i < 2 && !err; i++) {
		struct waiting *list = map_remove(&k->waiting[i], span->key);

		for (struct waiting *at = list; at && !err; at = at->next)
			err = call_tell(k, span->service, at, take, arg);
		list_free(list);
	}
	return err;
}

int known_calls(struct known *k, int (*take)(void *arg, const struct known_call *call), void *arg)
{
	int err = 0;

	for (size_t i = 0; i < k->spans.count && !err; i++)
		err = span_calls(k, &k->spans.data[i], take, arg);
	return err;
}

static void waiting_free(struct map *m)
{
	struct map_entry entry;

	for (size_t at = 0; map_next(m, &at, &entry);)
		list_free(entry.value);
	map_free(m);
}

static void versions_free(struct map *m)
{
	struct map_entry entry;

	for (size_t at = 0; map_next(m, &at, &entry);)
		free(entry.value);
	map_free(m);
}

/* Begins an age. */
static void ages_turn(struct known *k)
{
	known_ids_free(&k->ages[KNOWN_AGES - 1]);
	memmove(k->ages + 1, k->ages, (KNOWN_AGES - 1) * sizeof(*k->ages));
	k->ages[0] = (struct known_ids){0};
	k->turn_ns = clock_now_ns() + TURN_NS;
	k->turns++;
}

/* Forgets the older half of two maps. */
static void pair_turn(struct map pair[2], void (*drop)(struct map *m))
{
	drop(&pair[1]);
	pair[1] = pair[0];
	pair[0] = (struct map){0};
}

static void versions_move(struct known *k)
{
	struct map_entry entry;

	for (size_t at = 0; map_next(&k->fresh_versions, &at, &entry);) {
		for (size_t i = 0; i < 2; i++)
			free(map_remove(&k->versions[i], entry.key));
		if (map_put(&k->versions[0], entry.key, entry.value))
			free(entry.value);
	}
	map_free(&k->fresh_versions);
}

static void ids_move(struct known *k)
{
	const struct known_ids *fresh = &k->fresh;

	for (size_t i = 0; i < fresh->capacity; i++) {
		/* without memory a repeat is stored, and shown once */
		if (fresh->data[i] &&
		    known_ids_add(&k->ages[0], fresh->data[i], fresh->services[i]))
			break;
	}
	known_ids_free(&k->fresh);
}

void known_committed(struct known *k)
{
	bool is_time = clock_now_ns() >= k->turn_ns, is_third = is_time && k->turns % 3 == 0;

	if (is_third || k->versions[0].count + k->fresh_versions.count > KNOWN_VERSIONS_MAX)
		pair_turn(k->versions, versions_free);
	if (is_third || k->waiting[0].count > KNOWN_WAITING_MAX)
		pair_turn(k->waiting, waiting_free);
	if (is_time || k->ages[0].count + k->fresh.count > KNOWN_SPANS_MAX)
		ages_turn(k);
	versions_move(k);
	ids_move(k);
	k->spans.count = 0;
}

void known_abandoned(struct known *k)
{
	versions_free(&k->fresh_versions);
	known_ids_free(&k->fresh);
	k->spans.count = 0;
	/* some of those that wait are of spans that come again */
	for (size_t i = 0; i < 2; i++)
		waiting_free(&k->waiting[i]);
}

void known_versions_forget(struct known *k)
{
	for (size_t i = 0; i < 2; i++)
		versions_free(&k->versions[i]);
}

void known_free(struct known *k)
{
	known_abandoned(k);
	known_versions_forget(k);
	for (size_t i = 0; i < KNOWN_AGES; i++)
		known_ids_free(&k->ages[i]);
	vec_free(&k->spans);
	bytes_map_free(&k->services);
	for (size_t i = 0; i < k->names.count; i++)
		free((void *)k->names.data[i]);
	vec_free(&k->names);
}
