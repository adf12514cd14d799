/* SPDX-License-Identifier: Apache-2.0 */
/* For threads that no C library made: a context's record (OTEP 4947), and calls to the kernel. */
#ifndef TESTS_E2E_CONTEXTS_BARE_H
#define TESTS_E2E_CONTEXTS_BARE_H

#include <stdint.h>

struct record {
	char trace[16], span[8];
	uint8_t valid, flags;
	uint16_t attributes_bytes;
} __attribute__((packed, aligned(2)));

/* errno may be another thread's, and so may be the stack protector's word. */
static inline long call(long nr, long a, long b)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
