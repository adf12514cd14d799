/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the running kernel, from /proc/kallsyms: read once, while
 * there is the privilege, since a stack is shown by others, elsewhere, later.
 */
#ifndef CAPTURE_STACK_KERNEL_SYMBOLS_H
#define CAPTURE_STACK_KERNEL_SYMBOLS_H

#include <stdint.h>

struct kernel_symbols;

struct kernel_function {
	uint64_t begin, end; /* addresses as they were linked, as kernel_symbols_linked() has it */
	const char *name;    /* belong to the table */
	const char *module;  /* "[kernel]", or of a module "[xfs]" */
	uint32_t number;     /* its place in the table */
};

/*
 * Reads a file in the format of /proc/kallsyms. NULL with errno if that fails,
 * ENODATA if it shows no addresses. About 5 MB.
 */
struct kernel_symbols *kernel_symbols_read(const char *path);
void kernel_symbols_free(struct kernel_symbols *symbols);

/*
 * An address without the offset at which the kernel was put at boot, which is
 * nobody's business who reads a recording.
 */
uint64_t kernel_symbols_linked(const struct kernel_symbols *symbols, uint64_t address);

/* The function that an address of the running kernel lies in: 0, or -ENOENT. */
int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			struct kernel_function *function);

/* How many rows the table has. */
uint32_t kernel_symbols_count(const struct kernel_symbols *symbols);

#endif
