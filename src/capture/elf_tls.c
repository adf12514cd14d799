/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/elf_tls.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

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

#define PAGE_MASK 4095ull
#define PROGRAM_HEADERS_MAX 512
#define DYNAMIC_ENTRIES_MAX 1024
#define HASH_STEPS_MAX 4096
#define NAME_CANDIDATES_MAX 4096
#define SECTIONS_MAX 65536u
#define BATCH_BYTES 24576 /* a multiple of the sizes of symbols and relocations */
#define TLS_BLOCK_MAX_BYTES (1ull << 40)

/* The dynamic section, as far as it matters here; addresses are linked ones. */
struct dynamic {
	uint64_t symbols, strings, strings_size;
	uint64_t gnu_hash, sysv_hash;
	uint64_t rela, rela_size, jmprel, jmprel_size, pltrel;
	uint64_t flags_1;
};

struct reader {
	const struct elf_source *source;
	const char *name;
	uint64_t budget;
	Elf64_Ehdr header;
	Elf64_Phdr tls, dynamic_header, interpreter;
	uint64_t header_address; /* linked address of the ELF header */
	struct dynamic dynamic;
	struct elf_tls *facts;
	uint64_t index; /* of the variable in the dynamic symbols, 0 if it is not there */
	bool is_executable;
};

/* ---- sources ---- */

static bool range_fits(const struct elf_source *source, uint64_t at, size_t len)
{
	return at <= source->size && len <= source->size - at;
}

static int file_read(const struct elf_source *source, uint64_t at, void *to, size_t len)
{
	size_t done = 0;

	if (!range_fits(source, at, len))
		return -ENOEXEC;
	while (done < len) {
		ssize_t n = pread(source->fd, (char *)to + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOEXEC;
		done += (size_t)n;
	}
	return 0;
}

static int buffer_read(const struct elf_source *source, uint64_t at, void *to, size_t len)
{
	if (!range_fits(source, at, len))
		return -ENOEXEC;
	memcpy(to, (const char *)source->data + at, len);
	return 0;
}

static int memory_read(const struct elf_source *source, uint64_t at, void *to, size_t len)
{
	struct iovec local = {to, len};
	struct iovec remote = {(void *)(uintptr_t)(source->image + at), len};
	ssize_t n;

	if (!range_fits(source, at, len))
		return -ENOEXEC;
	n = process_vm_readv(source->pid, &local, 1, &remote, 1, 0);
	if (n < 0)
		return errno == EFAULT ? -ENOEXEC : -errno;
	return (size_t)n == len ? 0 : -ENOEXEC;
}

struct elf_source elf_source_file(int fd, uint64_t size_bytes)
{
	return (struct elf_source){.read = file_read, .size = size_bytes, .fd = fd};
}

struct elf_source elf_source_buffer(const void *data, size_t size_bytes)
{
	return (struct elf_source){.read = buffer_read, .size = size_bytes, .data = data};
}

struct elf_source elf_source_memory(pid_t pid, uint64_t image)
{
	return (struct elf_source){.read = memory_read,
				   .size = UINT64_MAX - image,
				   .in_memory = true,
				   .image = image,
				   .pid = pid};
}

static int read_at(struct reader *reader, uint64_t at, void *to, size_t len)
{
	if (len > reader->budget)
		return -ENOEXEC;
	reader->budget -= len;
	return reader->source->read(reader->source, at, to, len);
}

/* Where the byte of a linked address stands in the source. */
static int offset_of(const struct reader *reader, uint64_t address, uint64_t *offset)
{
	const struct elf_tls *facts = reader->facts;

	for (unsigned int i = 0; i < facts->segments; i++) {
		const struct elf_tls_segment *segment = &facts->segment[i];

		if (address < segment->address || address - segment->address >= segment->size)
			continue;
		*offset = reader->source->in_memory
				  ? address - reader->header_address
				  : segment->offset + (address - segment->address);
		return 0;
	}
	return -ENOEXEC;
}

static int read_address(struct reader *reader, uint64_t address, void *to, size_t len)
{
	uint64_t offset;
	int err = offset_of(reader, address, &offset);

	return err ? err : read_at(reader, offset, to, len);
}

/* ---- headers ---- */

static int header_check(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOEXEC;
	if (header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != MACHINE)
		return -ENOEXEC;
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return -ENOEXEC;
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > PROGRAM_HEADERS_MAX)
		return -ENOEXEC;
	return 0;
}

static void segment_add(struct reader *reader, const Elf64_Phdr *program)
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

static int headers_read(struct reader *reader)
{
	int err = read_at(reader, 0, &reader->header, sizeof(reader->header));

	if (!err)
		err = header_check(&reader->header);
	for (unsigned int i = 0; !err && i < reader->header.e_phnum; i++) {
		Elf64_Phdr program;

		err = read_at(reader, reader->header.e_phoff + i * sizeof(program), &program,
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

static void interpreter_read(struct reader *reader)
{
	char path[128] = "";
	size_t len = reader->interpreter.p_filesz;

	if (!len || len >= sizeof(path))
		return;
	if (!read_address(reader, reader->interpreter.p_vaddr, path, len))
		reader->facts->musl = strstr(path, "/ld-musl-") != NULL;
}

/* A loader may have replaced the linked addresses in a loaded image. */
static uint64_t dynamic_address(const struct reader *reader, uint64_t value)
{
	uint64_t bias;

	if (!reader->source->in_memory)
		return value;
	bias = reader->source->image - reader->header_address;
	return bias && value >= bias ? value - bias : value;
}

static void dynamic_keep(struct reader *reader, const Elf64_Dyn *entry)
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

static int dynamic_read(struct reader *reader)
{
	uint64_t count = reader->dynamic_header.p_filesz / sizeof(Elf64_Dyn);

	if (count > DYNAMIC_ENTRIES_MAX)
		count = DYNAMIC_ENTRIES_MAX;
	for (uint64_t i = 0; i < count; i++) {
		Elf64_Dyn entry;
		int err = read_address(reader, reader->dynamic_header.p_vaddr + i * sizeof(entry),
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

/* ---- the symbol ---- */

static bool symbol_fits(const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_TLS && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_size == sizeof(uint64_t);
}

/* 1: this dynamic symbol is the variable; 0: it is not. */
static int dynamic_symbol_is(struct reader *reader, uint64_t index)
{
	char name[128];
	Elf64_Sym symbol;
	size_t len = strlen(reader->name) + 1;
	int err = read_address(reader, reader->dynamic.symbols + index * sizeof(symbol), &symbol,
			       sizeof(symbol));

	if (err)
		return err;
	if (!symbol_fits(&symbol) || len > sizeof(name))
		return 0;
	if (symbol.st_name > reader->dynamic.strings_size ||
	    len > reader->dynamic.strings_size - symbol.st_name)
		return 0;
	err = read_address(reader, reader->dynamic.strings + symbol.st_name, name, len);
	if (err)
		return err;
	if (memcmp(name, reader->name, len))
		return 0;
	reader->index = index;
	reader->facts->symbol = symbol.st_value;
	return 1;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static int gnu_hash_find(struct reader *reader)
{
	struct {
		uint32_t buckets, first, bloom_words, bloom_shift;
	} table;
	uint64_t at = reader->dynamic.gnu_hash;
	uint32_t hash = gnu_hash(reader->name);
	uint32_t index, value;
	uint64_t chains;
	int err = read_address(reader, at, &table, sizeof(table));

	if (err || !table.buckets)
		return err;
	at += sizeof(table) + 8ull * table.bloom_words;
	chains = at + 4ull * table.buckets;
	err = read_address(reader, at + 4ull * (hash % table.buckets), &index, sizeof(index));
	if (err || index < table.first)
		return err;
	for (int i = 0; i < HASH_STEPS_MAX; i++, index++) {
		err = read_address(reader, chains + 4ull * (index - table.first), &value,
				   sizeof(value));
		if (err)
			return err;
		if ((value | 1) == (hash | 1)) {
			err = dynamic_symbol_is(reader, index);
			if (err)
				return err;
		}
		if (value & 1)
			break;
	}
	return 0;
}

static uint32_t sysv_hash(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		uint32_t high;

		hash = (hash << 4) + (unsigned char)*name;
		high = hash & 0xf0000000;
		hash ^= high >> 24;
		hash &= ~high;
	}
	return hash;
}

static int sysv_hash_find(struct reader *reader)
{
	struct {
		uint32_t buckets, chains;
	} table;
	uint64_t at = reader->dynamic.sysv_hash;
	uint32_t index;
	int err = read_address(reader, at, &table, sizeof(table));

	if (err || !table.buckets)
		return err;
	at += sizeof(table);
	err = read_address(reader, at + 4ull * (sysv_hash(reader->name) % table.buckets), &index,
			   sizeof(index));
	at += 4ull * table.buckets;
	for (int i = 0; !err && index && index < table.chains && i < HASH_STEPS_MAX; i++) {
		err = dynamic_symbol_is(reader, index);
		if (err)
			return err;
		err = read_address(reader, at + 4ull * index, &index, sizeof(index));
	}
	return err;
}

static int section_read(struct reader *reader, uint64_t index, Elf64_Shdr *section)
{
	if (index >= SECTIONS_MAX || reader->header.e_shentsize != sizeof(*section))
		return -ENOEXEC;
	return read_at(reader, reader->header.e_shoff + index * sizeof(*section), section,
		       sizeof(*section));
}

/* 1: one of `count` symbols is the variable. */
static int symbols_search(struct reader *reader, const Elf64_Sym *symbols, size_t count,
			  const Elf64_Shdr *strings, unsigned int *candidates)
{
	size_t len = strlen(reader->name) + 1;
	char name[128];

	for (size_t i = 0; i < count; i++) {
		if (!symbol_fits(&symbols[i]) || len > sizeof(name))
			continue;
		if (++*candidates > NAME_CANDIDATES_MAX)
			return -ENOEXEC;
		if (symbols[i].st_name > strings->sh_size ||
		    len > strings->sh_size - symbols[i].st_name)
			continue;
		if (read_at(reader, strings->sh_offset + symbols[i].st_name, name, len))
			continue;
		if (memcmp(name, reader->name, len))
			continue;
		reader->facts->symbol = symbols[i].st_value;
		return 1;
	}
	return 0;
}

static int section_search(struct reader *reader, const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
	Elf64_Sym symbols[BATCH_BYTES / sizeof(Elf64_Sym)];
	unsigned int candidates = 0;
	uint64_t left = table->sh_size / sizeof(Elf64_Sym);
	uint64_t at = table->sh_offset;

	while (left) {
		size_t count = sizeof(symbols) / sizeof(symbols[0]);
		int err;

		if (count > left)
			count = left;
		err = read_at(reader, at, symbols, count * sizeof(Elf64_Sym));
		if (!err)
			err = symbols_search(reader, symbols, count, strings, &candidates);
		if (err)
			return err;
		left -= count;
		at += count * sizeof(Elf64_Sym);
	}
	return 0;
}

/*
 * Without a dynamic symbol: the full table, which static programs and hidden
 * variables have, unless the file was stripped.
 */
static int symtab_find(struct reader *reader)
{
	Elf64_Shdr section, strings;

	if (reader->source->in_memory || !reader->header.e_shoff)
		return 0;
	for (unsigned int i = 0; i < reader->header.e_shnum; i++) {
		if (section_read(reader, i, &section))
			return 0;
		if (section.sh_type != SHT_SYMTAB || section.sh_entsize != sizeof(Elf64_Sym))
			continue;
		if (section_read(reader, section.sh_link, &strings))
			return 0;
		return section_search(reader, &section, &strings);
	}
	return 0;
}

/* 1: found, 0: the file does not define the variable. */
static int symbol_find(struct reader *reader)
{
	int found = 0;

	if (reader->dynamic.symbols && reader->dynamic.gnu_hash)
		found = gnu_hash_find(reader);
	else if (reader->dynamic.symbols && reader->dynamic.sysv_hash)
		found = sysv_hash_find(reader);
	if (found <= 0)
		found = symtab_find(reader);
	return found;
}

/* ---- the relocation ---- */

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

/* Does this relocation serve the variable, and how far behind it does that stand? */
static bool relocation_serves(const struct reader *reader, const Elf64_Rela *rela,
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

static void relocation_take(struct reader *reader, const Elf64_Rela *rela)
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

static int relocations_read(struct reader *reader, uint64_t at, uint64_t size)
{
	Elf64_Rela batch[BATCH_BYTES / sizeof(Elf64_Rela)];
	uint64_t left = size / sizeof(Elf64_Rela);

	while (at && left) {
		size_t count = sizeof(batch) / sizeof(batch[0]);
		int err;

		if (count > left)
			count = left;
		err = read_address(reader, at, batch, count * sizeof(Elf64_Rela));
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
 * The main executable's block ends at the thread pointer (x86-64), or begins
 * behind the two words there (aarch64). A block whose begin is not a multiple
 * of its alignment is placed so that its addresses keep their remainder.
 */
static int executable_offset(struct reader *reader)
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
	facts->way = ELF_TLS_EXECUTABLE;
	return 0;
}

static int way_find(struct reader *reader)
{
	struct dynamic *dynamic = &reader->dynamic;
	struct elf_tls *facts = reader->facts;
	int err;

	if (facts->symbol > reader->tls.p_memsz || reader->tls.p_memsz - facts->symbol < 8)
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
	if (facts->way == ELF_TLS_NONE && reader->is_executable)
		return executable_offset(reader);
	return 0;
}

static int facts_read(struct reader *reader)
{
	int err = headers_read(reader);

	if (err)
		return err;
	reader->facts->machine = reader->header.e_machine;
	reader->facts->fixed = reader->header.e_type == ET_EXEC;
	interpreter_read(reader);
	if (!reader->tls.p_memsz)
		return 0; /* nothing thread-local: most files end here */
	err = dynamic_read(reader);
	if (err)
		return err;
	reader->is_executable = reader->facts->fixed || (reader->dynamic.flags_1 & DF_1_PIE);
	err = symbol_find(reader);
	if (err <= 0)
		return err;
	return way_find(reader);
}

int elf_tls_read(const struct elf_source *source, const char *name, struct elf_tls *facts)
{
	struct elf_tls found = {0};
	struct reader reader = {
		.source = source, .name = name, .budget = ELF_TLS_BUDGET_BYTES, .facts = &found};
	int err = facts_read(&reader);

	if (err)
		return err;
	*facts = found;
	return 0;
}

int elf_tls_bias(const struct elf_tls *facts, uint64_t start, uint64_t offset, uint64_t *bias)
{
	for (unsigned int i = 0; i < facts->segments; i++) {
		const struct elf_tls_segment *segment = &facts->segment[i];
		uint64_t first = segment->offset & ~PAGE_MASK;

		if (offset < first || offset >= segment->offset + segment->size)
			continue;
		*bias = start - ((segment->address & ~PAGE_MASK) + (offset - first));
		return 0;
	}
	return -ENOENT;
}
