/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of elf_tls_read() and elf_go_read() for one ELF file, shared by their files: reader.c
 * reads bytes, tls.c reads the headers, symbol.c looks for the variable, tls_access.c for the
 * relocation through which code reaches it, and go.c for what Go's linker wrote. No other file
 * includes this header.
 */
#ifndef ELF_READER_H
#define ELF_READER_H

#include <elf.h>

#include "elf/tls.h"

/* Bytes of symbols or relocations that are read at once: a multiple of the size of either. */
#define ELF_BATCH_BYTES 24576

/* The entries of the dynamic section that are used here. Addresses are linked ones. */
struct elf_dynamic {
	uint64_t symbols, strings, strings_size;
	uint64_t gnu_hash, sysv_hash;
	uint64_t rela, rela_size, jmprel, jmprel_size, pltrel;
	uint64_t flags_1;
};

struct elf_reader {
	const struct elf_source *source;
	const char *name;
	uint64_t budget; /* bytes that may still be read */
	Elf64_Ehdr header;
	Elf64_Phdr tls, dynamic_header, interpreter;
	uint64_t header_address; /* linked address of the ELF header */
	struct elf_dynamic dynamic;
	struct elf_tls *facts;
	uint64_t index; /* of the variable in the dynamic symbol table; 0: it is not in it */
	bool is_executable;
};

/* Read len bytes, at an offset of the source or at a linked address. 0 or a negative errno. */
int elf_read(struct elf_reader *reader, uint64_t at, void *to, size_t len);
int elf_read_address(struct elf_reader *reader, uint64_t address, void *to, size_t len);

/*
 * Reads the headers: sets header, tls, dynamic_header, interpreter, header_address and the segments
 * of facts. 0, or a negative errno: -ENOEXEC if it is no ELF file for this machine.
 */
int elf_headers_read(struct elf_reader *reader);

/* Sets dynamic. 0 or a negative errno. */
int elf_dynamic_read(struct elf_reader *reader);

/*
 * Looks for the variable in the symbol tables and sets facts->symbol and index. 1: found; 0: the
 * file does not define it; or a negative errno.
 */
int elf_symbol_find(struct elf_reader *reader);

/*
 * For the symbol that was found: sets facts->way, and the fields that the way uses. 0 or a negative
 * errno.
 */
int elf_way_find(struct elf_reader *reader);

/* Whether the symbol that was found lies in the block of thread-local variables. */
bool elf_symbol_fits(const struct elf_reader *reader);

/* Sets facts->tp_offset of a variable of the main executable. 0 or -ENOEXEC. */
int elf_executable_offset(struct elf_reader *reader);

#endif
