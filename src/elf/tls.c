/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/tls.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elf/reader.h"

#ifndef DF_1_PIE
#define DF_1_PIE 0x08000000
#endif

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "thread-local variables of other processes: this machine is not supported"
#endif

#define PAGE_MASK 4095ull /* for 4 KiB, the smallest page size */
#define PROGRAM_HEADERS_MAX 512
#define DYNAMIC_ENTRIES_MAX 1024

static int header_check(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOEXEC;
	if (header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != MACHINE)
		return -ENOEXEC;
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return -ENOEXEC;
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > PROGRAM_HEADERS_MAX)
		return -ENOEXEC;
	return 0;
}

static void segment_add(struct elf_reader *reader, const Elf64_Phdr *program)
{
	struct elf_tls *facts = reader->facts;

	if (facts->segments == ELF_TLS_SEGMENTS || !program->p_filesz)
		return;
	if (program->p_vaddr > UINT64_MAX - program->p_filesz ||
	    program->p_offset > UINT64_MAX - program->p_filesz)
		return;
	if ((program->p_vaddr & PAGE_MASK) != (program->p_offset & PAGE_MASK))
		return;
	if (!facts->segments)
		reader->header_address = program->p_vaddr - program->p_offset;
	facts->segment[facts->segments++] = (struct elf_tls_segment){.offset = program->p_offset,
								     .address = program->p_vaddr,
								     .size = program->p_filesz};
}

int elf_headers_read(struct elf_reader *reader)
{
	int err = elf_read(reader, 0, &reader->header, sizeof(reader->header));

	if (!err)
		err = header_check(&reader->header);
	for (unsigned int i = 0; !err && i < reader->header.e_phnum; i++) {
		Elf64_Phdr program;

		err = elf_read(reader, reader->header.e_phoff + i * sizeof(program), &program,
			       sizeof(program));
		if (err)
			break;
		if (program.p_type == PT_LOAD)
			segment_add(reader, &program);
		else if (program.p_type == PT_TLS)
			reader->tls = program;
		else if (program.p_type == PT_DYNAMIC)
			reader->dynamic_header = program;
		else if (program.p_type == PT_INTERP)
			reader->interpreter = program;
	}
	if (!err && !reader->facts->segments)
		err = -ENOEXEC;
	return err;
}

static void interpreter_read(struct elf_reader *reader)
{
	char path[128] = "";
	size_t len = reader->interpreter.p_filesz;

	if (!len || len >= sizeof(path))
		return;
	if (!elf_read_address(reader, reader->interpreter.p_vaddr, path, len))
		reader->facts->musl = strstr(path, "/ld-musl-") != NULL;
}

/*
 * Turns an address of the dynamic section into a linked one. In a loaded image the loader may have
 * added the load bias to it.
 */
static uint64_t dynamic_address(const struct elf_reader *reader, uint64_t value)
{
	uint64_t bias;

	if (!reader->source->in_memory)
		return value;
	bias = reader->source->image - reader->header_address;
	return bias && value >= bias ? value - bias : value;
}

static void dynamic_keep(struct elf_reader *reader, const Elf64_Dyn *entry)
{
	const struct {
		int64_t tag;
		uint64_t *to;
		bool is_address;
	} wanted[] = {
		{DT_SYMTAB, &reader->dynamic.symbols, true},
		{DT_STRTAB, &reader->dynamic.strings, true},
		{DT_STRSZ, &reader->dynamic.strings_size, false},
		{DT_GNU_HASH, &reader->dynamic.gnu_hash, true},
		{DT_HASH, &reader->dynamic.sysv_hash, true},
		{DT_RELA, &reader->dynamic.rela, true},
		{DT_RELASZ, &reader->dynamic.rela_size, false},
		{DT_JMPREL, &reader->dynamic.jmprel, true},
		{DT_PLTRELSZ, &reader->dynamic.jmprel_size, false},
		{DT_PLTREL, &reader->dynamic.pltrel, false},
		{DT_FLAGS_1, &reader->dynamic.flags_1, false},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (entry->d_tag == wanted[i].tag)
			*wanted[i].to = wanted[i].is_address
						? dynamic_address(reader, entry->d_un.d_ptr)
						: entry->d_un.d_val;
}

int elf_dynamic_read(struct elf_reader *reader)
{
	uint64_t count = reader->dynamic_header.p_filesz / sizeof(Elf64_Dyn);

	if (count > DYNAMIC_ENTRIES_MAX)
		count = DYNAMIC_ENTRIES_MAX;
	for (uint64_t i = 0; i < count; i++) {
		Elf64_Dyn entry;
		int err = elf_read_address(reader,
					   reader->dynamic_header.p_vaddr + i * sizeof(entry),
					   &entry, sizeof(entry));

		if (err)
			return err;
		if (entry.d_tag == DT_NULL)
			break;
		dynamic_keep(reader, &entry);
	}
	if (reader->dynamic.pltrel != DT_RELA)
		reader->dynamic.jmprel_size = 0;
	return 0;
}

static int facts_read(struct elf_reader *reader)
{
	int err = elf_headers_read(reader);

	if (err)
		return err;
	reader->facts->machine = reader->header.e_machine;
	reader->facts->fixed = reader->header.e_type == ET_EXEC;
	interpreter_read(reader);
	if (!reader->tls.p_memsz)
		return 0; /* most files have no thread-local variables */
	err = elf_dynamic_read(reader);
	if (err)
		return err;
	reader->is_executable = reader->facts->fixed || (reader->dynamic.flags_1 & DF_1_PIE);
	err = elf_symbol_find(reader);
	if (err <= 0)
		return err;
	return elf_way_find(reader);
}

int elf_tls_read(const struct elf_source *source, const char *name, struct elf_tls *facts)
{
	struct elf_tls found = {0};
	struct elf_reader reader = {
		.source = source, .name = name, .budget = ELF_TLS_BUDGET_BYTES, .facts = &found};
	int err = facts_read(&reader);

	if (err)
		return err;
	*facts = found;
	return 0;
}

int elf_tls_bias(const struct elf_tls *facts, uint64_t start, uint64_t offset, uint64_t *bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (unsigned int i = 0; i < facts->segments; i++) {
		const struct elf_tls_segment *segment = &facts->segment[i];
		uint64_t first = segment->offset & -page;

		if (offset < first || offset >= segment->offset + segment->size)
			continue;
		*bias = start - ((segment->address & -page) + (offset - first));
		return 0;
	}
	return -ENOENT;
}
