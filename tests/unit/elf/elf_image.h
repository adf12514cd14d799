/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small ELF file that defines the context's variable, made by hand: tests put into it what no
 * linker here does. Its one segment begins at address 0, so addresses are offsets.
 */
#ifndef TESTS_UNIT_ELF_ELF_IMAGE_H
#define TESTS_UNIT_ELF_ELF_IMAGE_H

#include <elf.h>
#include <stddef.h>

#include "capture/context/locate.h"
#include "elf/tls.h"
#include "tests/unit/check.h"

#ifndef DF_1_PIE
#define DF_1_PIE 0x08000000
#endif
#if defined(__x86_64__)
#define IMAGE_MACHINE EM_X86_64
#define IMAGE_TPOFF R_X86_64_TPOFF64
#define IMAGE_DESCRIPTOR R_X86_64_TLSDESC
#define IMAGE_MODULE R_X86_64_DTPMOD64
#else
#define IMAGE_MACHINE EM_AARCH64
#define IMAGE_TPOFF R_AARCH64_TLS_TPREL
#define IMAGE_DESCRIPTOR R_AARCH64_TLSDESC
#define IMAGE_MODULE R_AARCH64_TLS_DTPMOD
#endif

#define IMAGE_VALUE 16	 /* of the variable */
#define IMAGE_OTHER 1	 /* index of a symbol that is not the variable's */
#define IMAGE_VARIABLE 2 /* index of the variable's */

struct elf_image {
	Elf64_Ehdr header;
	struct {
		Elf64_Phdr load, dynamic, tls;
	} programs;
	struct {
		Elf64_Dyn symbols, strings, strings_bytes, hash, rela, rela_bytes, jmprel,
			jmprel_bytes, pltrel, flags_1, end;
	} dynamic;
	struct {
		uint32_t buckets, chains, bucket[1], chain[3];
	} hash;
	Elf64_Sym symbols[3];
	Elf64_Rela rela[3], jmprel[1];
	struct {
		Elf64_Shdr symbols, strings;
	} sections; /* left out of the header: see elf_image_hide() */
	char strings[32];
};

#define IMAGE_AT(member) offsetof(struct elf_image, member)
#define IMAGE_BYTES(member) sizeof(((struct elf_image *)NULL)->member)

static inline struct elf_image elf_image_make(void)
{
	Elf64_Sym other = {
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS), .st_shndx = 1, .st_size = 8};
	struct elf_image image = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = IMAGE_MACHINE,
			   .e_phoff = IMAGE_AT(programs),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 3,
			   .e_shentsize = sizeof(Elf64_Shdr)},
		.programs = {.load = {.p_type = PT_LOAD,
				      .p_filesz = sizeof(image),
				      .p_memsz = sizeof(image)},
			     .dynamic = {.p_type = PT_DYNAMIC,
					 .p_vaddr = IMAGE_AT(dynamic),
					 .p_filesz = IMAGE_BYTES(dynamic)},
			     .tls = {.p_type = PT_TLS, .p_memsz = 64, .p_align = 16}},
		.dynamic = {.symbols = {DT_SYMTAB, {IMAGE_AT(symbols)}},
			    .strings = {DT_STRTAB, {IMAGE_AT(strings)}},
			    .strings_bytes = {DT_STRSZ, {IMAGE_BYTES(strings)}},
			    .hash = {DT_HASH, {IMAGE_AT(hash)}},
			    .rela = {DT_RELA, {IMAGE_AT(rela)}},
			    .rela_bytes = {DT_RELASZ, {IMAGE_BYTES(rela)}},
			    .jmprel = {DT_JMPREL, {IMAGE_AT(jmprel)}},
			    .jmprel_bytes = {DT_PLTRELSZ, {IMAGE_BYTES(jmprel)}},
			    .pltrel = {DT_PLTREL, {DT_RELA}},
			    .flags_1 = {DT_FLAGS_1, {0}}},
		.hash = {1, 3, {1}, {0, 2, 0}}, /* all in one chain */
		.symbols = {{0}, other, other},
		.sections = {.symbols = {.sh_type = SHT_SYMTAB,
					 .sh_offset = IMAGE_AT(symbols),
					 .sh_size = IMAGE_BYTES(symbols),
					 .sh_link = 1,
					 .sh_entsize = sizeof(Elf64_Sym)},
			     .strings = {.sh_type = SHT_STRTAB,
					 .sh_offset = IMAGE_AT(strings),
					 .sh_size = IMAGE_BYTES(strings)}},
		.strings = "\0" CONTEXT_VARIABLE,
	};

	image.symbols[IMAGE_VARIABLE].st_name = 1;
	image.symbols[IMAGE_VARIABLE].st_value = IMAGE_VALUE;
	return image;
}

/* The symbols are no dynamic ones any more. */
static inline void elf_image_hide(struct elf_image *image)
{
	image->dynamic.symbols.d_tag = image->dynamic.hash.d_tag = DT_DEBUG;
	image->header.e_shoff = IMAGE_AT(sections);
	image->header.e_shnum = 2;
}

static inline Elf64_Rela elf_image_rela(uint64_t slot, uint32_t type, uint64_t symbol,
					int64_t addend)
{
	return (Elf64_Rela){slot, ELF64_R_INFO(symbol, type), addend};
}

static inline struct elf_tls elf_image_read(const struct elf_image *image)
{
	struct elf_source source = elf_source_buffer(image, sizeof(*image));
	struct elf_tls facts;

	CHECK_EQ(elf_tls_read(&source, CONTEXT_VARIABLE, &facts), 0);
	return facts;
}

#endif
