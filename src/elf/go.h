/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an executable says of the Go runtime in it: its version, and where the runtime tells which
 * goroutine runs on a thread.
 *
 * Go keeps a pointer to the struct g of the goroutine in a thread-local variable. Two of its fields
 * are the number of the goroutine and that of the one that made it. Where they stand depends on the
 * version of Go, which the linker writes into each program (debug/buildinfo), stripped or not.
 *
 * The input is hostile, as in elf/tls.h, and the work is bounded likewise.
 */
#ifndef ELF_GO_H
#define ELF_GO_H

#include <stdint.h>

#include "elf/source.h"

#define ELF_GO_VERSION_BYTES 32
#define ELF_GO_FIRST 13 /* the fields are known of Go 1.13 ... */
#define ELF_GO_LAST 27	/* ... to 1.27 */

enum elf_go_is {
	ELF_GO_NONE = 0,     /* no program in Go */
	ELF_GO_LOCATED = 1,  /* its goroutines can be read */
	ELF_GO_UNVERSED = 2, /* not of this version */
	ELF_GO_UNPLACED = 3, /* its thread-local variable is not found: stripped, and with C code */
};

struct elf_go {
	uint8_t is;			    /* enum elf_go_is */
	char version[ELF_GO_VERSION_BYTES]; /* "go1.26.1", cut; "" if not known. Printable ASCII */
	int32_t g_at;			    /* from the thread pointer to the pointer to g */
	uint16_t goid, maker; /* fields of g, in bytes from its begin; maker 0: it has none */
};

/*
 * Reads what the file says, as the main executable of a process. The file of a library may say the
 * same, but its variable is elsewhere in each process.
 *
 * Returns 0, also if it is no program in Go; -ENOEXEC if the file is damaged or is no ELF file for
 * this machine; or another negative errno. `go` is untouched on failure. Several threads may call
 * this at once on different sources.
 */
int elf_go_read(const struct elf_source *source, struct elf_go *go);

#endif
