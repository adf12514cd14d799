/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the running kernel, from /proc/kallsyms. They are read once, while the privilege
 * for it is there. Their names are recorded, since stacks may be shown later on another host.
 */
#ifndef CAPTURE_STACK_KERNEL_SYMBOLS_H
#define CAPTURE_STACK_KERNEL_SYMBOLS_H

#include <stdint.h>

struct kernel_symbols;

struct kernel_function {
	uint64_t begin, end; /* linked addresses, see kernel_symbols_linked() */
	const char *name;    /* owned by the table, like the module */
	const char *module;  /* "[kernel]", or a module like "[xfs]" */
	uint32_t number;     /* index in the table */
};

/*
 * Reads a file in the format of /proc/kallsyms. NULL with errno on failure: ENODATA if it shows no
 * addresses. The table takes about 5 MB.
 */
struct kernel_symbols *kernel_symbols_read(const char *path);
void kernel_symbols_free(struct kernel_symbols *symbols);

/*
 * Subtracts the offset at which the kernel was loaded at boot (KASLR). It is a secret of the host
 * and must not be in a recording.
 */
uint64_t kernel_symbols_linked(const struct kernel_symbols *symbols, uint64_t address);

/* Finds the function that contains an address of the running kernel. 0 or -ENOENT. */
int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			struct kernel_function *function);

/* How many functions the table has. */
uint32_t kernel_symbols_count(const struct kernel_symbols *symbols);

#endif
