/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for a thread-local variable in the symbol tables of an ELF file. */
#include <errno.h>
#include <string.h>

#include "elf/reader.h"

#define HASH_STEPS_MAX 4096
#define NAME_CANDIDATES_MAX 4096
#define SECTIONS_MAX 65536u

static bool symbol_fits(const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_TLS && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_size == sizeof(uint64_t);
}

/* Whether the dynamic symbol of this index is the variable: 1, 0, or a negative errno. */
static int dynamic_symbol_is(struct elf_reader *reader, uint64_t index)
{
	char name[128];
	Elf64_Sym symbol;
	size_t len = strlen(reader->name) + 1;
	int err = elf_read_address(reader, reader->dynamic.symbols + index * sizeof(symbol),
				   &symbol, sizeof(symbol));

	if (err)
		return err;
	if (!symbol_fits(&symbol) || len > sizeof(name))
		return 0;
	if (symbol.st_name > reader->dynamic.strings_size ||
	    len > reader->dynamic.strings_size - symbol.st_name)
		return 0;
	err = elf_read_address(reader, reader->dynamic.strings + symbol.st_name, name, len);
	if (err)
		return err;
	if (memcmp(name, reader->name, len) != 0)
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

static int gnu_hash_find(struct elf_reader *reader)
{
	struct {
		uint32_t buckets, first, bloom_words, bloom_shift;
	} table;
	uint64_t at = reader->dynamic.gnu_hash;
	uint32_t hash = gnu_hash(reader->name);
	uint32_t index, value;
	uint64_t chains;
	int err = elf_read_address(reader, at, &table, sizeof(table));

	if (err || !table.buckets)
		return err;
	at += sizeof(table) + 8ull * table.bloom_words;
	chains = at + 4ull * table.buckets;
	err = elf_read_address(reader, at + 4ull * (hash % table.buckets), &index, sizeof(index));
	if (err || index < table.first)
		return err;
	for (int i = 0; i < HASH_STEPS_MAX; i++, index++) {
		err = elf_read_address(reader, chains + 4ull * (index - table.first), &value,
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

static int sysv_hash_find(struct elf_reader *reader)
{
	struct {
		uint32_t buckets, chains;
	} table;
	uint64_t at = reader->dynamic.sysv_hash;
	uint32_t index;
	int err = elf_read_address(reader, at, &table, sizeof(table));

	if (err || !table.buckets)
		return err;
	at += sizeof(table);
	err = elf_read_address(reader, at + 4ull * (sysv_hash(reader->name) % table.buckets),
			       &index, sizeof(index));
	at += 4ull * table.buckets;
	for (int i = 0; !err && index && index < table.chains && i < HASH_STEPS_MAX; i++) {
		err = dynamic_symbol_is(reader, index);
		if (err)
			return err;
		err = elf_read_address(reader, at + 4ull * index, &index, sizeof(index));
	}
	return err;
}

static int section_read(struct elf_reader *reader, uint64_t index, Elf64_Shdr *section)
{
	if (index >= SECTIONS_MAX || reader->header.e_shentsize != sizeof(*section))
		return -ENOEXEC;
	return elf_read(reader, reader->header.e_shoff + index * sizeof(*section), section,
			sizeof(*section));
}

/* Looks for the variable among `count` symbols. 1: found; 0: not found; or a negative errno. */
static int symbols_search(struct elf_reader *reader, const Elf64_Sym *symbols, size_t count,
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
		if (elf_read(reader, strings->sh_offset + symbols[i].st_name, name, len))
			continue;
		if (memcmp(name, reader->name, len) != 0)
			continue;
		reader->facts->symbol = symbols[i].st_value;
		return 1;
	}
	return 0;
}

static int section_search(struct elf_reader *reader, const Elf64_Shdr *table,
			  const Elf64_Shdr *strings)
{
	Elf64_Sym symbols[ELF_BATCH_BYTES / sizeof(Elf64_Sym)];
	unsigned int candidates = 0;
	uint64_t left = table->sh_size / sizeof(Elf64_Sym);
	uint64_t at = table->sh_offset;

	while (left) {
		size_t count = sizeof(symbols) / sizeof(symbols[0]);
		int err;

		if (count > left)
			count = left;
		err = elf_read(reader, at, symbols, count * sizeof(Elf64_Sym));
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
 * Searches the full symbol table. Static programs and hidden variables have no dynamic symbol; they
 * are found here, unless the file was stripped.
 */
static int symtab_find(struct elf_reader *reader)
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

int elf_symbol_find(struct elf_reader *reader)
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
