/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk made of a part of another, cut at an instant or at a time for each CPU. */
#ifndef TESTS_RECUT_H
#define TESTS_RECUT_H

#include "chunk/chunk.h"

#define RECUT_CPUS 4

/* By CPU modulo RECUT_CPUS; records of programs are of the last one. */
struct recut_range {
	uint64_t from_ns[RECUT_CPUS];
	uint64_t to_ns[RECUT_CPUS];
};

/* Writes what lies in the range as a chunk of its own. `info` may be NULL. */
int recut(const char *path, const struct chunk_writer_options *options,
	  const struct recut_range *range, struct chunk_info *info, struct error *e);

#endif
