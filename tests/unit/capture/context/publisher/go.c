/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a program look like one in Go, whose main thread runs goroutine 4711, made by goroutine 42.
 * Its other threads run none. VERSION: of Go, as its linker writes it.
 */
#include <stdint.h>

#ifndef VERSION
#define VERSION "go1.26.1"
#endif

/* As of Go 1.26. */
static struct {
	unsigned char before[152];
	uint64_t goid;
	unsigned char between[120];
	uint64_t parent_goid;
} goroutine = {.goid = 4711, .parent_goid = 42};

extern __thread void *runtime_tlsg __asm__("runtime.tlsg");
__thread void *runtime_tlsg;

__attribute__((section(".go.buildinfo"), aligned(16), used)) static const struct {
	char magic[14];
	unsigned char pointer_bytes, flags;
	unsigned char pad[16];
	unsigned char bytes;
	char version[31];
} build_info = {{'\xff', ' ', 'G', 'o', ' ', 'b', 'u', 'i', 'l', 'd', 'i', 'n', 'f', ':'},
		8,
		2,
		{0},
		sizeof(VERSION) - 1,
		VERSION};

__attribute__((constructor)) static void goroutine_run(void)
{
	runtime_tlsg = &goroutine;
}
