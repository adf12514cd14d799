/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenTelemetry process context, with which a process describes itself (OTEP 4719).
 *
 * A mapping named OTEL_CTX has a header with the address of a protobuf message in the memory of the
 * process. The process may change both while they are read, and may write anything: lengths are
 * bounded, long texts are cut, and unknown fields are skipped.
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
#define PROCESS_CONTEXT_KEY_BYTES 8192 /* of all keys together; further keys are dropped */

/* The format of thread contexts, as threadlocal.schema_version names it. */
enum process_schema {
	SCHEMA_ABSENT = 0,    /* not given: counts as SCHEMA_TLS */
	SCHEMA_TLS = 1,	      /* tlsdesc_v1_dev, tlsdesc_v1, tls_v1 */
	SCHEMA_NODEJS = 2,    /* nodejs_v1_dev */
	SCHEMA_GO_LABELS = 3, /* go_pprof_labels_v1 */
	SCHEMA_UNKNOWN = 4,
};

/* Texts are as the process wrote them, not checked to be UTF-8, cut to fit, NUL-terminated. */
struct process_context {
	u64 published_ns;  /* CLOCK_BOOTTIME; each update has another value */
	u8 schema;	   /* enum process_schema */
	u8 is_fathom;	   /* telemetry.sdk.name is fathom */
	u16 keys;	   /* number of keys of attributes in thread contexts */
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
 * Reads the context of a process. Returns 1 and the context; 0 if it publishes none; -EAGAIN if it
 * was being changed at each try; -EPROTO if it is malformed or too long; or another negative errno.
 * `out` is untouched unless the result is 1. Several threads may call this at once.
 */
int process_context_read(pid_t pid, struct process_context *out, struct error *e);

/*
 * Decodes the protobuf message of `len` bytes. 0 with published_ns = 0, or -EPROTO if it is
 * malformed, and `out` is untouched.
 */
int process_context_decode(const void *payload, size_t len, struct process_context *out);

/* Returns the name of key `index`, NULL if the process gave none. */
const char *process_context_key(const struct process_context *context, unsigned int index);

/* Whether a name in /proc/PID/maps is that of the mapping of a process context. */
bool process_context_is_mapping(const char *name);

#endif
