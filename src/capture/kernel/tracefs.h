/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's list of tracepoints. If tracefs is not mounted, it is mounted without a place in any
 * directory, so nothing is left behind. Any thread may call these functions.
 */
#ifndef CAPTURE_KERNEL_TRACEFS_H
#define CAPTURE_KERNEL_TRACEFS_H

#include <stddef.h>

#include "base/error.h"
#include "base/vec.h"

/* Returns a descriptor of the directory `events`, the caller's, or a negative errno. */
int tracefs_open(struct error *e);

struct tracefs_names {
	VEC(char *) list; /* "subsystem:name", sorted; owned */
	bool closed;	  /* some events may not be read */
};

/*
 * Lists the events to which programs can be attached. 0 or a negative errno; call
 * tracefs_names_free() in either case.
 */
int tracefs_list(int events, struct tracefs_names *names);
void tracefs_names_free(struct tracefs_names *names);

/* Reads a file ("id", "format") of an event as a string, cut at `size`. 0 or a negative errno. */
int tracefs_read(int events, const char *name, const char *file, char *buffer, size_t size);

/* Writes names that are similar to `wanted`, separated by commas; "" if there are none. */
void tracefs_near(const struct tracefs_names *names, const char *wanted, char *buffer, size_t size);

#endif
