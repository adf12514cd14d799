/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process says about itself: the OpenTelemetry process context.
 *
 * It stands in a mapping named OTEL_CTX: a header that says where a protobuf
 * message lies in the process's memory. The process may change either while
 * they are read and may write anything: lengths are bounded, what is too long
 * is cut, and what is not understood is skipped.
 */
#ifndef CAPTURE_CONTEXT_PROCESS_H
#define CAPTURE_CONTEXT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/record.h"

#define PROCESS_CONTEXT_PAYLOAD_MAX (256u << 10) /* a longer payload is refused */
#define PROCESS_CONTEXT_KEYS_MAX 256
#define PROCESS_CONTEXT_KEY_BYTES 8192 /* of all keys; those behind are dropped */

/* threadlocal.schema_version: how the records of the threads are to be read. */
enum process_schema {
	SCHEMA_ABSENT = 0,    /* not said: read as TLS */
	SCHEMA_TLS = 1,	      /* tlsdesc_v1_dev, tlsdesc_v1, tls_v1 */
	SCHEMA_NODEJS = 2,    /* nodejs_v1_dev */
	SCHEMA_GO_LABELS = 3, /* go_pprof_labels_v1 */
	SCHEMA_UNKNOWN = 4,
};

/* Texts are UTF-8 as the process gave them (not checked), cut to fit, NUL-terminated. */
struct process_context {
	u64 published_ns;  /* CLOCK_BOOTTIME; differs after each update */
	u8 schema;	   /* enum process_schema */
	u8 is_fathom;	   /* telemetry.sdk.name is fathom */
	u16 keys;	   /* attributes of thread records, by index */
	char service[128]; /* service.name */
	char service_version[64];
	char service_instance[128]; /* service.instance.id */
	char sdk[64];		    /* telemetry.sdk.name */
	char language[32];	    /* telemetry.sdk.language */
	char schema_name[48];
	u16 key_at[PROCESS_CONTEXT_KEYS_MAX];	  /* begin in key_text */
	char key_text[PROCESS_CONTEXT_KEY_BYTES]; /* NUL after each */
};

/*
 * Reads the context of a process. Returns 1 and the context, 0 if it publishes
 * none, -EAGAIN if it was being written all the time, -EPROTO if it is
 * malformed or too long, or another negative errno. `out` is untouched unless 1.
 * Threads may call it at once.
 */
int process_context_read(pid_t pid, struct process_context *out, struct error *e);

/*
 * Decodes the payload alone: 0, or -EPROTO if it is malformed. `out` is
 * untouched on failure; published_ns becomes 0.
 */
int process_context_decode(const void *payload, size_t len, struct process_context *out);

/* The name of key `index`, NULL if the process named none. */
const char *process_context_key(const struct process_context *context, unsigned int index);

/* True for the name under which a process context is mapped, as in /proc/PID/maps. */
bool process_context_is_mapping(const char *name);

#endif
