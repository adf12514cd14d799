/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions, and how they keep their stack, from the files that were
 * mapped when a stack was recorded. A file counts only if it has the identity
 * of the one that was mapped (capture/file_identity.h): another build would give wrong names.
 *
 * Files are read through elfutils: symbol tables, those in debug files found
 * by build id or debuglink, and .gnu_debugdata. Not thread-safe.
 */
#ifndef SYMBOL_SYMBOLIZER_H
#define SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>

struct symbolizer;

/* A byte of a file. */
struct symbol_place {
	const char *path;
	const char *identity; /* "": not known, so nothing is found */
	uint64_t offset;
};

struct symbol {
	const char *name; /* until the symbolizer looks for another one */
	uint64_t offset;  /* of the place in it */
};

/* How a function of x86-64 keeps its frame at some place. */
struct symbol_frame {
	bool by_pointer; /* the frame pointer points into it */
	int64_t size;	 /* else: the caller's stack begins so many bytes above the stack pointer */
	bool pointer_kept; /* the frame pointer is the caller's */
	bool outermost;	   /* nobody called it */
};

/* NULL if memory ran out. */
struct symbolizer *symbolizer_new(void);
void symbolizer_free(struct symbolizer *s);

/* 0, -ENOENT if it is not known, or -ENOMEM. */
int symbolizer_find(struct symbolizer *s, const struct symbol_place *place, struct symbol *symbol);
int symbolizer_frame(struct symbolizer *s, const struct symbol_place *place,
		     struct symbol_frame *frame);

#endif
