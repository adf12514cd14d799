/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of elf_tls.h share: one ELF file that is being read.
 * elf_tls.c reads its headers, elf_symbol.c looks for the variable, elf_way.c
 * for how it is reached.
 */
#ifndef ELF_READER_H
#define ELF_READER_H

#include <elf.h>

#include "elf/tls.h"

/* A multiple of the sizes of symbols and relocations, of which so many are read at once. */
#define ELF_BATCH_BYTES 24576

/* The dynamic section, as far as it matters here; addresses are linked ones. */
struct elf_dynamic {
	uint64_t symbols, strings, strings_size;
	uint64_t gnu_hash, sysv_hash;
	uint64_t rela, rela_size, jmprel, jmprel_size, pltrel;
	uint64_t flags_1;
};

struct elf_reader {
	const struct elf_source *source;
	const char *name;
	uint64_t budget;
	Elf64_Ehdr header;
	Elf64_Phdr tls, dynamic_header, interpreter;
	uint64_t header_address; /* linked address of the ELF header */
	struct elf_dynamic dynamic;
	struct elf_tls *facts;
	uint64_t index; /* of the variable in the dynamic symbols, 0 if it is not there */
	bool is_executable;
};

/* Reads len bytes at an offset of the source, or at a linked address: 0 or a negative errno. */
int elf_read(struct elf_reader *reader, uint64_t at, void *to, size_t len);
int elf_read_address(struct elf_reader *reader, uint64_t address, void *to, size_t len);

/* Sets facts->symbol and index: 1 found, 0 not defined here, or a negative errno. */
int elf_symbol_find(struct elf_reader *reader);

/* Sets facts->way and what belongs to it, for the symbol that was found: 0 or a negative errno. */
int elf_way_find(struct elf_reader *reader);

#endif
