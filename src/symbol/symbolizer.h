/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and stack layouts of functions, from the files that were mapped when a stack was
 * recorded. A file is used only if it has the identity of the mapped file
 * (elf/identity.h): another build would give wrong names.
 *
 * elfutils reads the files: their symbol tables, those of debug files found by
 * build id or debuglink, and .gnu_debugdata. Not thread-safe.
 */
#ifndef SYMBOL_SYMBOLIZER_H
#define SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>

struct symbolizer;

/* A place in a file. */
struct symbol_place {
	const char *path;
	const char *identity; /* "": unknown, so that nothing is found */
	uint64_t offset;
};

struct symbol {
	const char *name; /* borrowed, until the next call of symbolizer_find() */
	uint64_t offset;  /* of the place in the function */
};

/* The stack frame of a function of x86-64 at a place in its code. */
struct symbol_frame {
	bool by_pointer;   /* the frame pointer points to the frame */
	int64_t size;	   /* otherwise: bytes from the stack pointer to the caller's frame */
	bool pointer_kept; /* the frame pointer is still the caller's */
	bool outermost;	   /* the function has no caller */
};

/* NULL if out of memory. */
struct symbolizer *symbolizer_new(void);
void symbolizer_free(struct symbolizer *s);

/* Find the function, or its frame, at a place. 0, -ENOENT if it is unknown, or -ENOMEM. */
int symbolizer_find(struct symbolizer *s, const struct symbol_place *place, struct symbol *symbol);
int symbolizer_frame(struct symbolizer *s, const struct symbol_place *place,
		     struct symbol_frame *frame);

#endif
