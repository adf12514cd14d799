/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapping begins with
 *
 *   offset size
 *        0    8  "OTEL_CTX"
 *        8    4  version, 2
 *       12    4  payload size
 *       16    8  published at, CLOCK_BOOTTIME ns; 0 while it is being changed
 *       24    8  address of the payload
 *
 * in host byte order. A payload is valid if the time is the same, and not 0, before and after it
 * was read.
 */
#include "capture/context/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/protobuf.h"
#include "proc/maps.h"

#define SIGNATURE "OTEL_CTX"
#define VERSION 2
#define MAPPINGS_MAX 4 /* mappings of that name in one process */
#define TRIES 5
#define TRY_AGAIN_NS 100000

struct header {
	char signature[8];
	u32 version, payload_bytes;
	u64 published_ns, payload;
};
_Static_assert(sizeof(struct header) == 32, "header of a process context");

/* ---- the message ---- */

static void text_keep(char *to, size_t size, struct protobuf_bytes text)
{
	size_t len = text.len < size - 1 ? text.len : size - 1;

	memcpy(to, text.data, len);
	to[len] = '\0';
}

static bool text_is(struct protobuf_bytes text, const char *wanted)
{
	return text.len == strlen(wanted) && !memcmp(text.data, wanted, text.len);
}

static enum process_schema schema_parse(struct protobuf_bytes name)
{
	static const struct {
		const char *name;
		enum process_schema schema;
	} known[] = {
		{"tlsdesc_v1_dev", SCHEMA_TLS},
		{"tls_v1", SCHEMA_TLS},
		{"tlsdesc_v1", SCHEMA_TLS},
		{"nodejs_v1_dev", SCHEMA_NODEJS},
		{"go_pprof_labels_v1", SCHEMA_GO_LABELS},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (text_is(name, known[i].name))
			return known[i].schema;
	return SCHEMA_UNKNOWN;
}

struct decode {
	struct process_context *out;
	size_t key_bytes;
};

static void string_keep(struct process_context *out, struct protobuf_bytes key,
			struct protobuf_bytes value)
{
	const struct {
		const char *key;
		char *to;
		size_t size;
	} wanted[] = {
		{"service.name", out->service, sizeof(out->service)},
		{"service.version", out->service_version, sizeof(out->service_version)},
		{"service.instance.id", out->service_instance, sizeof(out->service_instance)},
		{"telemetry.sdk.name", out->sdk, sizeof(out->sdk)},
		{"telemetry.sdk.language", out->language, sizeof(out->language)},
		{"threadlocal.schema_version", out->schema_name, sizeof(out->schema_name)},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (text_is(key, wanted[i].key))
			text_keep(wanted[i].to, wanted[i].size, value);
	if (text_is(key, "threadlocal.schema_version"))
		out->schema = schema_parse(value);
	if (text_is(key, "telemetry.sdk.name"))
		out->is_fathom = text_is(value, "fathom");
}

/* Keeps a name of the key map. A name with a NUL inside ends there. */
static void key_keep(struct decode *decode, struct protobuf_bytes name)
{
	struct process_context *out = decode->out;

	if (out->keys == PROCESS_CONTEXT_KEYS_MAX ||
	    name.len >= sizeof(out->key_text) - decode->key_bytes)
		return;
	out->key_at[out->keys++] = (u16)decode->key_bytes;
	text_keep(out->key_text + decode->key_bytes, name.len + 1, name);
	decode->key_bytes += name.len + 1;
}

/* ArrayValue { repeated AnyValue values = 1 }, AnyValue { string_value = 1 } */
static int key_map_decode(struct decode *decode, struct protobuf_bytes array)
{
	struct protobuf_field value, text;
	int more;

	decode->out->keys = 0;
	decode->key_bytes = 0;
	while ((more = protobuf_next(&array, &value)) > 0) {
		struct protobuf_bytes name = {"", 0};

		if (value.number != 1 || value.type != PROTOBUF_BYTES)
			continue;
		while ((more = protobuf_next(&value.bytes, &text)) > 0)
			if (text.number == 1 && text.type == PROTOBUF_BYTES)
				name = text.bytes;
		if (more < 0)
			return more;
		key_keep(decode, name);
	}
	return more;
}

static int value_decode(struct decode *decode, struct protobuf_bytes key,
			struct protobuf_bytes value)
{
	struct protobuf_field field;
	int more, err;

	while ((more = protobuf_next(&value, &field)) > 0) {
		if (field.type != PROTOBUF_BYTES)
			continue;
		if (field.number == 1)
			string_keep(decode->out, key, field.bytes);
		if (field.number == 5 && text_is(key, "threadlocal.attribute_key_map")) {
			err = key_map_decode(decode, field.bytes);
			if (err)
				return err;
		}
	}
	return more;
}

/* KeyValue { key = 1; AnyValue value = 2 } */
static int attribute_decode(struct decode *decode, struct protobuf_bytes message)
{
	struct protobuf_bytes key = {"", 0}, value = {"", 0};
	struct protobuf_field field;
	int more;

	while ((more = protobuf_next(&message, &field)) > 0) {
		if (field.type != PROTOBUF_BYTES)
			continue;
		if (field.number == 1)
			key = field.bytes;
		if (field.number == 2)
			value = field.bytes;
	}
	return more < 0 ? more : value_decode(decode, key, value);
}

/* Decodes the attributes in field `number` of a message. */
static int attributes_decode(struct decode *decode, struct protobuf_bytes message,
			     unsigned int number)
{
	struct protobuf_field field;
	int more, err;

	while ((more = protobuf_next(&message, &field)) > 0) {
		if (field.number != number || field.type != PROTOBUF_BYTES)
			continue;
		err = attribute_decode(decode, field.bytes);
		if (err)
			return err;
	}
	return more;
}

/* ProcessContext { Resource resource = 1; repeated KeyValue attributes = 2 } */
int process_context_decode(const void *payload, size_t len, struct process_context *out)
{
	struct protobuf_bytes message = {payload, len}, rest = message;
	struct process_context found = {0};
	struct decode decode = {.out = &found};
	struct protobuf_field field;
	int more, err;

	while ((more = protobuf_next(&rest, &field)) > 0) {
		if (field.number != 1 || field.type != PROTOBUF_BYTES)
			continue;
		err = attributes_decode(&decode, field.bytes, 1);
		if (err)
			return err;
	}
	if (!more)
		more = attributes_decode(&decode, message, 2);
	if (more < 0)
		return more;
	*out = found;
	return 0;
}

const char *process_context_key(const struct process_context *context, unsigned int index)
{
	return index < context->keys ? context->key_text + context->key_at[index] : NULL;
}

/* ---- the mapping ---- */

bool process_context_is_mapping(const char *name)
{
	static const char *const names[] = {"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
					    "/memfd:OTEL_CTX"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(name, names[i], len) &&
		    (!name[len] || !strcmp(name + len, " (deleted)")))
			return true;
	}
	return false;
}

struct search {
	pid_t pid;
	struct process_context *out;
	unsigned int looked; /* of reads at mappings of the right name */
	int result;
};

/* 1: read; 0: no context; -EAGAIN: it is being changed; or another negative errno. */
static int context_read_once(pid_t pid, u64 at, void *payload, struct process_context *out)
{
	struct header header, again;
	int err = context_memory_read(pid, at, &header, sizeof(header));

	if (err)
		return err;
	if (memcmp(header.signature, SIGNATURE, sizeof(header.signature)) != 0 ||
	    header.version != VERSION)
		return 0;
	if (!header.published_ns)
		return -EAGAIN;
	if (header.payload_bytes > PROCESS_CONTEXT_PAYLOAD_MAX)
		return -EPROTO;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	err = context_memory_read(pid, header.payload, payload, header.payload_bytes);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (context_memory_read(pid, at, &again, sizeof(again)) ||
	    memcmp(&header, &again, sizeof(header)) != 0)
		return -EAGAIN; /* a change explains an error of the copy, too */
	if (!err)
		err = process_context_decode(payload, header.payload_bytes, out);
	if (err)
		return err;
	out->published_ns = header.published_ns;
	return 1;
}

static int mapping_read(void *arg, const struct context_map *map)
{
	struct search *search = arg;
	void *payload;

	if (map->executable || !process_context_is_mapping(map->name) ||
	    map->end - map->start < sizeof(struct header))
		return 0;
	if (++search->looked > MAPPINGS_MAX)
		return 1;
	payload = malloc(PROCESS_CONTEXT_PAYLOAD_MAX);
	if (!payload)
		return -ENOMEM;
	for (int i = 0; i < TRIES; i++) {
		struct timespec pause = {.tv_nsec = TRY_AGAIN_NS << i};

		search->result = context_read_once(search->pid, map->start, payload, search->out);
		if (search->result != -EAGAIN)
			break;
		nanosleep(&pause, NULL);
	}
	free(payload);
	return search->result > 0;
}

int process_context_read(pid_t pid, struct process_context *out, struct error *e)
{
	struct search search = {.pid = context_maps_thread(pid), .out = out};
	int err = context_maps_walk(search.pid, mapping_read, &search);

	if (err >= 0)
		err = search.result;
	if (err < 0)
		return error_set(e, err, "cannot read the process context of process %d", pid);
	return err;
}
