/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/claims.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "serve/claim.h"
#include "serve/contained.h"
#include "serve/entry.h"
#include "store/store.h"

#define PID_MAX (1 << 22)
#define WAIT_NS UINT64_C(250000000) /* for one sender */
#define WAIT_MAX_NS UINT64_C(1000000000)
#define WAIT_SHARE 10 /* one part of the time in so many */

/* What is known of the process of a resource. */
struct origin {
	uint32_t pid; /* 0: why says why */
	uint8_t flags;
	const char *why;
};

struct claims {
	struct senders *senders;
	int fd;
	uint64_t from_position;
	char host[256];
	VEC(struct origin) origins; /* of the batch */
	struct map places;	    /* a resource -> 1 + its place in `origins` */
	struct contained contained;
	struct bytes message;
	uint64_t wait_ns, waited_ns; /* how long it may wait for senders; since when that is so */
	atomic_uint_fast64_t no_pid, other_host, left_out;
};

/* ---- attributes ---- */

static const struct attribute *attribute_of(const struct received_list *list, const char *key)
{
	for (size_t i = list->count; i-- > 0;) { /* given again: the last one counts */
		if (strcmp(list->data[i].key, key) == 0)
			return &list->data[i];
	}
	return NULL;
}

static const char *text_of(const struct received_list *list, const char *key)
{
	const struct attribute *a = attribute_of(list, key);

	return a && a->type == VALUE_STRING ? a->string : "";
}

static uint32_t number_of(const struct received_list *list, const char *key)
{
	const struct attribute *a = attribute_of(list, key);

	return a && a->type == VALUE_INTEGER && a->integer > 0 && a->integer <= PID_MAX
		       ? (uint32_t)a->integer
		       : 0;
}

/* ---- the process of a resource ---- */

/* Programs that send on what others made. */
static bool is_forwarder(const struct sender_info *who)
{
	static const char *const programs[] = {
		"otelcol",    "jaeger",	  "alloy", "grafana-agent", "vector",
		"fluent-bit", "telegraf", "tempo", "datadog-agent", "zipkin"};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		if (strncmp(who->program, programs[i], strlen(programs[i])) == 0)
			return true;
	}
	return false;
}

static bool process_is_there(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return access(path, F_OK) == 0;
}

static bool is_container_name(const char *host)
{
	return strspn(host, "0123456789abcdef") >= CONTAINED_DIGITS_MIN;
}

/* Of this host, as far as the resource tells: it names none, this one, or a container. */
static bool host_fits(const struct claims *c, const struct received_list *resource)
{
	const char *host = text_of(resource, "host.name");

	return !*host || strcmp(host, c->host) == 0 || is_container_name(host);
}

static bool sent_it_itself(const struct sender_info *who, const struct received_list *resource)
{
	uint32_t pid = number_of(resource, "process.pid");

	if (!who->pid || is_forwarder(who))
		return false;
	if (pid)
		return pid == who->pid || pid == contained_number(who->pid);
	return who->services_count < 2;
}

/* Threads of these languages are those of the kernel, and a span stays on one. */
static uint8_t language_flags(const char *language)
{
	if (strcmp(language, "nodejs") == 0)
		return CLAIM_ON_MAIN;
	return strcmp(language, "python") == 0 || strcmp(language, "ruby") == 0 ||
			       strcmp(language, "php") == 0
		       ? CLAIM_IS_BOUND
		       : 0;
}

/* The process with the number of the resource, in its container or else on this host; 0: none. */
static uint32_t process_named(struct claims *c, const struct received_list *resource)
{
	const char *host = text_of(resource, "host.name");
	const char *container = text_of(resource, "container.id");
	uint32_t pid = number_of(resource, "process.pid");

	if (!*container && is_container_name(host))
		container = host;
	if (pid && *container)
		return contained_find(&c->contained, container, pid);
	return pid && *host && strcmp(host, c->host) == 0 && process_is_there(pid) ? pid : 0;
}

static void origin_find(struct claims *c, const struct sender_info *who,
			const struct received_resource *of, struct origin *o)
{
	const struct received_list *resource = &of->attributes;

	if (!host_fits(c, resource)) {
		o->why = "other host";
	} else if (sent_it_itself(who, resource)) {
		o->pid = who->pid;
		o->flags = CLAIM_BY_CONNECTION;
	} else {
		o->pid = process_named(c, resource);
		if (!o->pid)
			o->why = who->is_local ? "no pid" : "other host";
	}
	o->flags |= language_flags(text_of(resource, "telemetry.sdk.language"));
}

static const struct origin *origin_known(const struct claims *c,
					 const struct received_resource *resource)
{
	uintptr_t place = (uintptr_t)map_get(&c->places, (uintptr_t)resource);

	return place ? &c->origins.data[place - 1] : NULL;
}

/* NULL: no memory. */
static const struct origin *origin_of(struct claims *c, uint16_t connection,
				      const struct received_resource *resource)
{
	const struct origin *known = origin_known(c, resource);
	struct sender_info who = {.is_local = true};
	struct origin origin = {0};

	if (known)
		return known;
	senders_find(c->senders, connection, &who);
	origin_find(c, &who, resource, &origin);
	if (vec_push(&c->origins, origin) ||
	    map_put(&c->places, (uintptr_t)resource, (void *)(uintptr_t)c->origins.count))
		return NULL;
	return &c->origins.data[c->origins.count - 1];
}

/*
 * Waits for a sender that is still looked for, as it is when the first request of a connection was
 * just taken. Many such connections must not hold up the loader.
 */
static void sender_await(struct claims *c, uint16_t connection)
{
	uint64_t now_ns = clock_now_ns(), took_ns;

	c->wait_ns += (now_ns - c->waited_ns) / WAIT_SHARE;
	c->wait_ns = c->wait_ns < WAIT_MAX_NS ? c->wait_ns : WAIT_MAX_NS;
	c->waited_ns = now_ns;
	senders_await(c->senders, connection, c->wait_ns < WAIT_NS ? c->wait_ns : WAIT_NS);
	took_ns = clock_now_ns() - now_ns;
	c->wait_ns -= took_ns < c->wait_ns ? took_ns : c->wait_ns;
}

/* ---- marks ---- */

static int span_mark(struct received_span *span, const char *why, struct pool *pool)
{
	size_t count = span->attributes.count;
	struct attribute *list = pool_alloc(pool, count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	if (count)
		memcpy(list, span->attributes.data, count * sizeof(*list));
	list[count] = (struct attribute){.key = "fathom.join", .type = VALUE_STRING, .string = why};
	span->attributes.data = list;
	span->attributes.count = count + 1;
	return 0;
}

int claims_mark(struct claims *c, const struct log_entry *entry, struct received_batch *batch,
		struct pool *pool)
{
	uint16_t connection;
	int err = 0;

	if (!c)
		return 0;
	c->origins.count = 0;
	map_free(&c->places);
	connection = entry->begin >= c->from_position ? entry_connection(entry->data, entry->bytes)
						      : 0;
	if (connection)
		sender_await(c, connection);
	for (size_t i = 0; connection && i < batch->count && !err; i++) {
		const struct origin *o = origin_of(c, connection, batch->data[i].resource);

		if (!o)
			return -ENOMEM;
		if (o->why)
			err = span_mark(&batch->data[i], o->why, pool);
	}
	return err;
}

/* ---- claims ---- */

static void message_send(struct claims *c, size_t spans)
{
	if (c->message.failed) {
		bytes_free(&c->message);
		c->message.failed = false;
		atomic_fetch_add(&c->left_out, spans);
	} else if (c->message.count && send(c->fd, c->message.data, c->message.count,
					    MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		atomic_fetch_add(&c->left_out, spans);
	}
	c->message.count = 0;
}

static void span_claim(struct claims *c, const struct origin *o, const struct received_span *span)
{
	const struct claim claim = {
		.trace = span->trace,
		.span_id = span->span_id,
		.parent_id = span->parent_id,
		.begin_ns = span->begin_ns,
		.end_ns = span->end_ns,
		.pid = o->pid,
		.tid = number_of(&span->attributes, "thread.id"),
		.kind = span->kind,
		.flags = (uint8_t)(o->flags |
				   (span->status == RECEIVED_ERROR ? CLAIM_IS_ERROR : 0)),
		.service = span->resource->service,
		.name = span->name,
		.thread = text_of(&span->attributes, "thread.name")};

	claim_put(&c->message, &claim);
}

void claims_send(struct claims *c, const struct received_batch *batch, const uint8_t *fates)
{
	size_t spans = 0;

	for (size_t i = 0; c && c->origins.count && i < batch->count; i++) {
		const struct origin *o = origin_known(c, batch->data[i].resource);

		if (!o || fates[i] != STORE_ADDED)
			continue;
		if (!o->pid) {
			atomic_fetch_add(
				strcmp(o->why, "no pid") == 0 ? &c->no_pid : &c->other_host, 1);
			continue;
		}
		span_claim(c, o, &batch->data[i]);
		spans++;
		if (c->message.count < CLAIM_MESSAGE_BYTES)
			continue;
		message_send(c, spans);
		spans = 0;
	}
	if (spans)
		message_send(c, spans);
}

/* ---- begin and end ---- */

int claims_open(struct senders *senders, int fd, uint64_t from_position, struct claims **out)
{
	struct claims *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->senders = senders;
	c->fd = fd;
	c->from_position = from_position;
	c->wait_ns = WAIT_MAX_NS;
	c->waited_ns = clock_now_ns();
	gethostname(c->host, sizeof(c->host) - 1);
	*out = c;
	return 0;
}

void claims_close(struct claims *c)
{
	if (!c)
		return;
	vec_free(&c->origins);
	map_free(&c->places);
	contained_free(&c->contained);
	bytes_free(&c->message);
	free(c);
}

struct claims_counts claims_counts(struct claims *c)
{
	if (!c)
		return (struct claims_counts){0};
	return (struct claims_counts){atomic_load(&c->no_pid), atomic_load(&c->other_host),
				      atomic_load(&c->left_out)};
}
