/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The location at which the threads of a process keep their OpenTelemetry context, and at which
 * they tell which light thread runs on them.
 *
 * Capture finds it (src/capture/context/locate.h), and kernel programs follow it: from the thread
 * pointer to the variable `otel_thread_ctx_v1`. That is a pointer of 8 bytes to the thread's record
 * (struct otel_record), NULL if no span is active.
 *
 * Static: the variable is at thread pointer + tp_offset. Dynamic:
 *
 *   dtv = *(u64 *)(thread pointer + dtv_at)
 *   give up unless module <= *(u64 *)(dtv + count_at)
 *   entry = *(u64 *)(dtv + module * entry_bytes)
 *   give up if entry is 0 or ~0: the thread has not touched the variable yet
 *   the variable is at entry + var_offset
 *
 * Light threads (record/record.h, bytes.light): a pointer at thread pointer + light.at leads to
 * what the program's runtime keeps of the light thread that runs now: in Go the struct g. Two
 * numbers of 8 bytes stand there, its own and that of the light thread that made it. Capture finds
 * these places by the version of the runtime (src/elf/go.h). They are the same in all processes of
 * a program.
 *
 * This header includes nothing but the record's integer types.
 */
#ifndef BPF_CONTEXT_LOCATION_H
#define BPF_CONTEXT_LOCATION_H

#include "record/record.h"

/* Where the light thread is told that runs on a thread. */
struct light_location {
	s32 at;	       /* from the thread pointer to the pointer */
	u16 id, maker; /* from there to the numbers; id 0: none are told; maker 0: it is not told */
};

struct context_location {
	u8 known; /* 0: no context was found, and all other fields but `light` are 0 */
	u8 dynamic;
	signed char dtv_at;   /* from the thread pointer to the pointer to the dtv */
	signed char count_at; /* from the dtv to the number of its entries */
	u8 entry_bytes;	      /* of one entry of the dtv */
	u8 flags;	      /* CONTEXT_* */
	u8 pad[2];
	s64 tp_offset;	/* static: 0 is legal on aarch64 */
	u64 module;	/* dynamic: 1..65535 */
	u64 var_offset; /* dynamic */
	struct light_location light;
};

/* Whether it tells anything. */
static inline int context_location_tells(const struct context_location *location)
{
	return location->known || location->light.id;
}

/* The writer is libfathom: only spans with the sampled flag count. */
#define CONTEXT_FATHOM 1
/*
 * The location is that of another process of the same program; capture has not looked at this
 * process yet. The memory there may be anything, so a record only counts if all of it is plausible.
 */
#define CONTEXT_ASSUMED 2

/* Identifies an executed file. A file with other contents is another program. */
struct context_program {
	u64 inode, bytes;
	s64 changed_s; /* time of the last change of its status (ctime) */
	u32 changed_ns;
	u32 device; /* as the kernel numbers it */
};

/* The last exec of a process. */
struct context_executed {
	struct context_program program;
	u64 time_ns;			 /* of the exec, which it identifies */
	struct context_location assumed; /* the location from then on; known = 0: none */
};

/* The record in the layout of OTEP 4947. It only counts if `valid` is 1. */
struct otel_record {
	u8 trace[16];
	u8 span[8];
	u8 valid;
	u8 trace_flags; /* 1: sampled */
	u16 attributes_bytes;
} __attribute__((packed));

_Static_assert(sizeof(struct context_location) == 40, "context_location");
_Static_assert(sizeof(struct context_program) == 32, "context_program");
_Static_assert(sizeof(struct context_executed) == 80, "context_executed");
_Static_assert(sizeof(struct otel_record) == 28, "otel_record");

#endif
