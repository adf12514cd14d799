/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where the threads of one process keep their OpenTelemetry context.
 *
 * Capture finds it (src/capture/context/locate.h) and kernel programs follow
 * it: from a thread's thread pointer to `otel_thread_ctx_v1`, an 8-byte pointer
 * to the thread's record (struct otel_record), NULL if no span is active.
 *
 * Static: the variable stands at thread pointer + tp_offset. Dynamic:
 *
 *   dtv = *(u64 *)(thread pointer + dtv_at)
 *   give up unless module <= *(u64 *)(dtv + count_at)
 *   entry = *(u64 *)(dtv + module * entry_bytes)
 *   give up if entry is 0 or ~0: the thread has not touched the variable yet
 *   the variable stands at entry + var_offset
 *
 * This header includes nothing but the record's integer types.
 */
#ifndef BPF_CONTEXT_LOCATION_H
#define BPF_CONTEXT_LOCATION_H

#include "record/record.h"

struct context_location {
	u8 known; /* 0: nothing was found, the rest is 0 */
	u8 dynamic;
	signed char dtv_at;   /* from the thread pointer to the pointer to the dtv */
	signed char count_at; /* from the dtv to the number of its entries */
	u8 entry_bytes;	      /* of one entry of the dtv */
	u8 flags;	      /* CONTEXT_* */
	u8 pad[2];
	s64 tp_offset;	/* static: 0 is legal on aarch64 */
	u64 module;	/* dynamic: 1..65535 */
	u64 var_offset; /* dynamic */
};

/* The writer is libfathom: its sampled flag counts. */
#define CONTEXT_FATHOM 1
/*
 * Where another process that ran the same program had it; nobody has looked at this one yet. So
 * what stands there may be anything: a record is believed if all of it is as it must be.
 */
#define CONTEXT_ASSUMED 2

/* What tells an executed file from any other: another content is another program. */
struct context_program {
	u64 inode, bytes;
	s64 changed_s; /* time of the last change of its status */
	u32 changed_ns;
	u32 device; /* as the kernel numbers it */
};

/* What a process executed last. */
struct context_executed {
	struct context_program program;
	u64 time_ns;			 /* which exec it was */
	struct context_location assumed; /* from then on; known = 0: nothing was */
};

/* The record, as every conforming writer lays it out; only `valid` == 1 counts. */
struct otel_record {
	u8 trace[16];
	u8 span[8];
	u8 valid;
	u8 trace_flags; /* 1: sampled */
	u16 attributes_bytes;
} __attribute__((packed));

_Static_assert(sizeof(struct context_location) == 32, "context_location");
_Static_assert(sizeof(struct context_program) == 32, "context_program");
_Static_assert(sizeof(struct context_executed) == 72, "context_executed");
_Static_assert(sizeof(struct otel_record) == 28, "otel_record");

#endif
