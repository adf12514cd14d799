/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the relocation through which code reaches a thread-local variable. */
#include <errno.h>

#include "elf/reader.h"

#define TLS_BLOCK_MAX_BYTES (1ull << 40)

static enum elf_tls_way relocation_way(uint32_t type)
{
#if defined(__x86_64__)
	switch (type) {
	case R_X86_64_TPOFF64:
		return ELF_TLS_TPOFF;
	case R_X86_64_TLSDESC:
		return ELF_TLS_DESCRIPTOR;
	case R_X86_64_DTPMOD64:
		return ELF_TLS_MODULE;
	}
#else
	switch (type) {
	case R_AARCH64_TLS_TPREL:
		return ELF_TLS_TPOFF;
	case R_AARCH64_TLSDESC:
		return ELF_TLS_DESCRIPTOR;
	case R_AARCH64_TLS_DTPMOD:
		return ELF_TLS_MODULE;
	}
#endif
	return ELF_TLS_NONE;
}

/*
 * Whether the relocation can be used to reach the variable. *beyond gets the distance in bytes from
 * what the relocation resolves to.
 */
static bool relocation_serves(const struct elf_reader *reader, const Elf64_Rela *rela,
			      enum elf_tls_way way, uint64_t *beyond)
{
	uint64_t symbol = ELF64_R_SYM(rela->r_info);
	uint64_t addend = (uint64_t)rela->r_addend;

	*beyond = 0;
	if (symbol)
		return symbol == reader->index && !addend;
	if (way == ELF_TLS_TPOFF)
		return addend == reader->facts->symbol;
	if (way == ELF_TLS_DESCRIPTOR) {
		*beyond = reader->facts->symbol - addend;
		return addend <= reader->facts->symbol;
	}
	return true;
}

static void relocation_take(struct elf_reader *reader, const Elf64_Rela *rela)
{
	struct elf_tls *facts = reader->facts;
	enum elf_tls_way way = relocation_way(ELF64_R_TYPE(rela->r_info));
	bool with_symbol = ELF64_R_SYM(rela->r_info) != 0;
	uint64_t beyond;

	if (way == ELF_TLS_NONE || !relocation_serves(reader, rela, way, &beyond))
		return;
	if (facts->way != ELF_TLS_NONE) {
		if (way > facts->way || (way == facts->way && facts->with_symbol))
			return;
		if (way == facts->way && !with_symbol && beyond >= facts->beyond)
			return;
	}
	facts->way = way;
	facts->with_symbol = with_symbol;
	facts->slot = rela->r_offset;
	facts->beyond = beyond;
}

static int relocations_read(struct elf_reader *reader, uint64_t at, uint64_t size)
{
	Elf64_Rela batch[ELF_BATCH_BYTES / sizeof(Elf64_Rela)];
	uint64_t left = size / sizeof(Elf64_Rela);

	while (at && left) {
		size_t count = sizeof(batch) / sizeof(batch[0]);
		int err;

		if (count > left)
			count = left;
		err = elf_read_address(reader, at, batch, count * sizeof(Elf64_Rela));
		if (err)
			return err;
		for (size_t i = 0; i < count; i++)
			relocation_take(reader, &batch[i]);
		left -= count;
		at += count * sizeof(Elf64_Rela);
	}
	return 0;
}

/*
 * On x86-64 the executable's TLS block ends at the thread pointer; on aarch64 it begins two words
 * behind it. If the linked begin of the block is not aligned, the loader keeps its remainder modulo
 * the alignment.
 */
int elf_executable_offset(struct elf_reader *reader)
{
	struct elf_tls *facts = reader->facts;
	uint64_t align = reader->tls.p_align ? reader->tls.p_align : 1;
	uint64_t size = reader->tls.p_memsz;
	uint64_t skew = reader->tls.p_vaddr & (align - 1);

	if ((align & (align - 1)) || align > TLS_BLOCK_MAX_BYTES || size > TLS_BLOCK_MAX_BYTES)
		return -ENOEXEC;
#if defined(__x86_64__)
	size += (-(size + skew)) & (align - 1);
	facts->tp_offset = (int64_t)facts->symbol - (int64_t)size;
#else
	size = (16 + align - 1) & ~(align - 1);
	facts->tp_offset = (int64_t)(size + skew + facts->symbol);
#endif
	return 0;
}

bool elf_symbol_fits(const struct elf_reader *reader)
{
	const struct elf_tls *facts = reader->facts;

	return facts->symbol <= reader->tls.p_memsz && reader->tls.p_memsz - facts->symbol >= 8;
}

int elf_way_find(struct elf_reader *reader)
{
	struct elf_dynamic *dynamic = &reader->dynamic;
	struct elf_tls *facts = reader->facts;
	int err;

	if (!elf_symbol_fits(reader))
		return -ENOEXEC;
	err = relocations_read(reader, dynamic->rela, dynamic->rela_size);
	if (!err)
		err = relocations_read(reader, dynamic->jmprel, dynamic->jmprel_size);
	if (err)
		return err;
	if (dynamic->jmprel && dynamic->jmprel_size) {
		facts->lazy_table = 1;
		facts->lazy_begin = dynamic->jmprel;
		facts->lazy_end = dynamic->jmprel + dynamic->jmprel_size;
	}
	if (facts->way != ELF_TLS_NONE || !reader->is_executable)
		return 0;
	err = elf_executable_offset(reader);
	if (!err)
		facts->way = ELF_TLS_EXECUTABLE;
	return err;
}
