/* SPDX-License-Identifier: Apache-2.0 */
/* A look at the file in which a process names its code. It belongs to the thread that looks. */
#ifndef CAPTURE_STACK_JIT_LOOK_H
#define CAPTURE_STACK_JIT_LOOK_H

#include "base/vec.h"
#include "capture/stack/jit_file.h"
#include "proc/perf_map.h"

struct ask {
	u64 address;
	u64 time_ns; /* of the first stack with it */
};

/* What the file says of an address. */
struct found {
	u64 begin, end;
	u16 bytes; /* of the name; 0: nothing was found */
	char name[PERF_MAP_NAME_MAX];
};

struct look {
	u32 pid;
	bool search, changed;
	int err;
	struct jit_file file;
	VEC(struct ask) asks;	/* by address */
	VEC(u64) addresses;	/* the same addresses */
	struct found **results; /* by ask; NULL: none */
};

/* Finds the file, and reads it if it can have an answer. */
void look_do(struct look *l);

/* Frees what the look holds, but for its file. */
void look_free(struct look *l);

#endif
