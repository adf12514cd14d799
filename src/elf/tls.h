/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a thread-local variable in an ELF file.
 *
 * The facts belong to the file and hold for every process that maps it, so a caller reads them
 * once and keeps them. The dynamic loader of each process writes the variable's place into one or
 * two words (the "slot" below); capture/context/locate.h reads these words.
 *
 * The input is hostile: any program may map any file. Every number is checked before it is used,
 * and the work per file is bounded (ELF_TLS_BUDGET_BYTES).
 */
#ifndef ELF_TLS_H
#define ELF_TLS_H

#include <stdint.h>

#include "elf/source.h"

#define ELF_TLS_SEGMENTS 16 /* loadable segments that are kept; the others are ignored */
#define ELF_TLS_BUDGET_BYTES (256u << 20) /* at most so much is read of one file */

/* The TLS access model of the variable: the first of these for which the file has a relocation. */
enum elf_tls_way {
	ELF_TLS_NONE = 0,	/* the file does not define the variable, or no way leads to it */
	ELF_TLS_TPOFF = 1,	/* the slot holds the offset from the thread pointer */
	ELF_TLS_DESCRIPTOR = 2, /* the slot is a TLS descriptor of two words */
	ELF_TLS_MODULE = 3,	/* the slot is {module, offset} */
	ELF_TLS_EXECUTABLE = 4, /* main executable: tp_offset is the same in every process */
};

struct elf_tls_segment {
	uint64_t offset, address, size;
};

struct elf_tls {
	uint8_t way;	     /* enum elf_tls_way */
	uint8_t with_symbol; /* the relocation names the variable's symbol */
	uint8_t fixed;	     /* ET_EXEC: the file is loaded at its linked addresses */
	uint8_t musl;	     /* the program's interpreter is musl's loader */
	uint8_t lazy_table;  /* 1 if lazy_begin..lazy_end is set */
	uint16_t machine;    /* EM_* */
	uint16_t segments;
	uint64_t slot;		       /* linked address of the slot */
	uint64_t symbol;	       /* offset of the variable in its TLS segment */
	uint64_t beyond;	       /* bytes from the descriptor's target to the variable */
	int64_t tp_offset;	       /* from the thread pointer; for ELF_TLS_EXECUTABLE */
	uint64_t lazy_begin, lazy_end; /* linked addresses of the PLT's relocations */
	struct elf_tls_segment segment[ELF_TLS_SEGMENTS];
};

/*
 * Reads the facts about the 8-byte thread-local variable `name`.
 *
 * Returns 0, also if the file does not define the variable (`way` is ELF_TLS_NONE then); -ENOEXEC
 * if the file is damaged or is no ELF file for this machine; another negative errno if it cannot be
 * read. `facts` is untouched on failure. Several threads may call this at once on different
 * sources.
 */
int elf_tls_read(const struct elf_source *source, const char *name, struct elf_tls *facts);

/*
 * Computes the load bias, an address in the process minus the linked address, from one mapping of
 * the file. The mapping starts at address `start` and shows the file from byte `offset`. Returns 0,
 * or -ENOENT if no loadable segment can be mapped that way.
 */
int elf_tls_bias(const struct elf_tls *facts, uint64_t start, uint64_t offset, uint64_t *bias);

#endif
