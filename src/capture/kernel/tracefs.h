/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's list of tracepoints. Where tracefs is not mounted it is opened
 * without a place in any directory: nothing is left behind. For any thread.
 */
#ifndef CAPTURE_KERNEL_TRACEFS_H
#define CAPTURE_KERNEL_TRACEFS_H

#include <stddef.h>

#include "base/error.h"
#include "base/vec.h"

/* A descriptor of its directory `events`, the caller's, or a negative errno. */
int tracefs_open(struct error *e);

struct tracefs_names {
	VEC(char *) list; /* "subsystem:name", sorted; owned */
	bool closed;	  /* there are some that may not be read */
};

/* All events that programs can be attached to. 0 or a negative errno; free in any case. */
int tracefs_list(int events, struct tracefs_names *names);
void tracefs_names_free(struct tracefs_names *names);

/* Reads a file ("id", "format") of an event: NUL-terminated, cut at `size`. */
int tracefs_read(int events, const char *name, const char *file, char *buffer, size_t size);

/* Writes names that `wanted` may have been meant for, separated by commas; "" if none is near. */
void tracefs_near(const struct tracefs_names *names, const char *wanted, char *buffer, size_t size);

#endif
