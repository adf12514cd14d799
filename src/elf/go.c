/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's linker writes a section .go.buildinfo of data, aligned to 16 bytes:
 *
 *   offset size
 *        0   14  "\xff Go buildinf:"
 *       14    1  size of a pointer
 *       15    1  flags: 1 big endian, 2 the texts follow
 *       32       since Go 1.18: length of the version as a varint, the version; more
 */
#include "elf/go.h"

#include <errno.h>
#include <string.h>

#include "elf/reader.h"

#define MAGIC "\xff Go buildinf:"
#define MAGIC_BYTES 14
#define ALIGN 16
#define SECTIONS_MAX 512
#define SEARCH_BYTES 65536 /* from the begin of a segment, of a file without sections */
#define FLAG_BIG_ENDIAN 1
#define FLAG_TEXTS 2
#define INFO_LEAST 32	      /* bytes; before Go 1.18 there are no more */
#define CODE_BYTES (8u << 20) /* that are searched in a stripped program */
#define G_LOAD_BYTES 11	      /* of the instructions that load g */
#define G_LOADS_LEAST 3
/* Bytes of thread-local variables: there is no other than the pointer to g. */
#define G_IS_ALONE 8

struct build_info {
	char magic[MAGIC_BYTES];
	uint8_t pointer_bytes, flags;
	uint8_t pad[16];
	uint8_t text_bytes; /* a varint; versions are shorter than 128 bytes */
	char text[ELF_GO_VERSION_BYTES - 1];
};
_Static_assert(sizeof(struct build_info) == 64, "build info");

/* ---- where it is ---- */

static bool is_build_info(const void *at)
{
	return memcmp(at, MAGIC, MAGIC_BYTES) == 0;
}

/* 1: it is the section; 0: it is not, or cannot be read. */
static int section_look(struct elf_reader *reader, const Elf64_Shdr *section)
{
	char begin[MAGIC_BYTES];

	if (section->sh_type != SHT_PROGBITS || section->sh_addralign != ALIGN ||
	    section->sh_size < INFO_LEAST || !(section->sh_flags & SHF_ALLOC))
		return 0;
	if (elf_read(reader, section->sh_offset, begin, sizeof(begin)))
		return 0;
	return is_build_info(begin);
}

/* Finds the section; *bytes: its size. 1 or 0. */
static int sections_search(struct elf_reader *reader, uint64_t *at, uint64_t *bytes)
{
	const Elf64_Ehdr *header = &reader->header;
	Elf64_Shdr section;
	int found = 0;

	for (unsigned int i = 0; i < header->e_shnum && i < SECTIONS_MAX && !found; i++) {
		if (header->e_shoff > UINT64_MAX - i * sizeof(section) ||
		    elf_read(reader, header->e_shoff + i * sizeof(section), &section,
			     sizeof(section)))
			return 0;
		found = section_look(reader, &section);
	}
	if (found) {
		*at = section.sh_offset;
		*bytes = section.sh_size;
	}
	return found;
}

/* Looks in the first bytes of a segment, given by its linked address. */
static int segment_search(struct elf_reader *reader, const struct elf_tls_segment *segment,
			  uint64_t *at)
{
	char batch[4096];
	uint64_t bytes = segment->size < SEARCH_BYTES ? segment->size : SEARCH_BYTES;

	for (uint64_t done = 0; done + sizeof(batch) <= bytes; done += sizeof(batch)) {
		if (elf_read_address(reader, segment->address + done, batch, sizeof(batch)))
			return 0;
		for (size_t i = 0; i < sizeof(batch); i += ALIGN)
			if (is_build_info(batch + i)) {
				*at = segment->address + done + i;
				return 1;
			}
	}
	return 0;
}

/* Reads the build info. 1: there is one; 0: none. */
static int build_info_read(struct elf_reader *reader, struct build_info *info)
{
	const Elf64_Ehdr *header = &reader->header;
	const struct elf_tls *facts = reader->facts;
	uint64_t at, bytes;

	memset(info, 0, sizeof(*info));
	if (!reader->source->in_memory && header->e_shoff &&
	    header->e_shentsize == sizeof(Elf64_Shdr))
		return sections_search(reader, &at, &bytes) &&
		       !elf_read(reader, at, info, bytes < sizeof(*info) ? bytes : sizeof(*info));
	for (unsigned int i = 0; i < facts->segments; i++)
		if (segment_search(reader, &facts->segment[i], &at))
			return !elf_read_address(reader, at, info, sizeof(*info));
	return 0;
}

/* ---- the version ---- */

/* Offsets in struct g (runtime/runtime2.go) on 64-bit machines, by the first version that has them.
 */
static const struct g_layout {
	uint8_t minor; /* of Go 1.x */
	uint16_t goid, maker;
} g_layouts[] = {
	{13, 152, 0},
	{21, 152, 272},
	{23, 160, 280}, /* with syscallbp */
	{25, 152, 272}, /* without gobuf.ret */
	{26, 152, 280}, /* with secret */
	{ELF_GO_LAST + 1, 0, 0},
};

static void version_take(struct elf_go *go, const struct build_info *info)
{
	size_t bytes = info->text_bytes < sizeof(info->text) ? info->text_bytes
							     : sizeof(info->text);

	for (size_t i = 0; i < bytes && info->text[i] > ' ' && info->text[i] <= '~'; i++)
		go->version[i] = info->text[i];
}

/* The number behind "go1."; 0: it has another form, like those between two versions. */
static unsigned int version_minor(const char *version)
{
	unsigned int minor = 0;

	if (strncmp(version, "go1.", 4) != 0)
		return 0;
	for (version += 4; *version >= '0' && *version <= '9' && minor < 1000; version++)
		minor = 10 * minor + (unsigned int)(*version - '0');
	return minor;
}

static bool layout_find(struct elf_go *go, unsigned int minor)
{
	size_t i = 0;

	if (minor < ELF_GO_FIRST || minor > ELF_GO_LAST)
		return false;
	while (g_layouts[i + 1].minor <= minor)
		i++;
	go->goid = g_layouts[i].goid;
	go->maker = g_layouts[i].maker;
	return true;
}

static bool version_find(struct elf_go *go, const struct build_info *info)
{
	if (info->pointer_bytes && (info->pointer_bytes != 8 || info->flags & FLAG_BIG_ENDIAN))
		return false;
	if (!(info->flags & FLAG_TEXTS)) /* before Go 1.18 */
		return layout_find(go, ELF_GO_FIRST);
	version_take(go, info);
	return layout_find(go, version_minor(go->version));
}

/* ---- the thread-local variable ---- */

#if defined(__x86_64__)
/*
 * Go keeps the pointer to g in register r14, too (since 1.17), and loads it from the variable where
 * C code calls Go. C code has little use for such instructions.
 */
static const struct g_load {
	uint8_t begin[5], begin_bytes; /* then the offset, 4 bytes */
	uint8_t end[4], end_bytes;
} g_loads[] = {
	{{0x64, 0x4c, 0x8b, 0x34, 0x25}, 5, {0}, 0}, /* mov %fs:OFFSET,%r14 */
	{{0x49, 0xc7, 0xc6},
	 3,
	 {0x64, 0x4d, 0x8b, 0x36},
	 4}, /* mov $OFFSET,%r14; mov %fs:(%r14),%r14 */
};

/* The offset in the instructions at `code`; 0: they are others. */
static int32_t g_loaded(const uint8_t *code)
{
	for (size_t i = 0; i < sizeof(g_loads) / sizeof(g_loads[0]); i++) {
		const struct g_load *load = &g_loads[i];
		const uint8_t *end = code + load->begin_bytes + sizeof(int32_t);
		int32_t offset;

		if (memcmp(code, load->begin, load->begin_bytes) != 0 ||
		    memcmp(end, load->end, load->end_bytes) != 0)
			continue;
		memcpy(&offset, code + load->begin_bytes, sizeof(offset));
		return offset < 0 && offset % 8 == 0 ? offset : 0;
	}
	return 0;
}

/* The segment with the first instruction of the program; NULL: none. */
static const struct elf_tls_segment *code_segment(const struct elf_reader *reader)
{
	uint64_t entry = reader->header.e_entry;

	for (unsigned int i = 0; i < reader->facts->segments; i++) {
		const struct elf_tls_segment *segment = &reader->facts->segment[i];

		if (entry >= segment->address && entry - segment->address < segment->size)
			return segment;
	}
	return NULL;
}

/* Looks in the code of a stripped program: whether all that load g have one offset. */
static bool g_search(struct elf_reader *reader, struct elf_go *go)
{
	const struct elf_tls_segment *segment = code_segment(reader);
	uint8_t batch[8192 + G_LOAD_BYTES];
	uint64_t bytes = segment ? segment->size : 0;
	unsigned int count = 0;
	int32_t all = 0;

	if (bytes > CODE_BYTES)
		bytes = CODE_BYTES;
	for (uint64_t done = 0; done + sizeof(batch) <= bytes;
	     done += sizeof(batch) - G_LOAD_BYTES) {
		if (elf_read_address(reader, segment->address + done, batch, sizeof(batch)))
			return false;
		for (size_t i = 0; i < sizeof(batch) - G_LOAD_BYTES; i++) {
			int32_t offset = g_loaded(batch + i);

			if (offset && all && offset != all)
				return false;
			all = offset ? offset : all;
			count += offset != 0;
		}
	}
	go->g_at = all;
	return count >= G_LOADS_LEAST;
}

/* The linker puts the variable into the block of the executable, which ends at the thread pointer.
 */
static bool g_find(struct elf_reader *reader, struct elf_go *go)
{
	struct elf_tls *facts = reader->facts;

	go->g_at = -G_IS_ALONE;
	if (reader->tls.p_memsz <= G_IS_ALONE)
		return true;
	if (elf_dynamic_read(reader) || elf_symbol_find(reader) <= 0)
		return g_search(reader, go);
	if (!elf_symbol_fits(reader) || elf_executable_offset(reader) ||
	    facts->tp_offset < INT32_MIN || facts->tp_offset >= 0)
		return false;
	go->g_at = (int32_t)facts->tp_offset;
	return true;
}
#else
static bool g_find(struct elf_reader *reader, struct elf_go *go)
{
	return false; /* Go keeps g in a register, and kernel programs do not know where */
}
#endif

int elf_go_read(const struct elf_source *source, struct elf_go *go)
{
	struct elf_tls facts = {0};
	struct elf_reader reader = {.source = source,
				    .name = "runtime.tlsg",
				    .budget = ELF_TLS_BUDGET_BYTES,
				    .facts = &facts};
	struct build_info info;
	struct elf_go found = {0};
	int err = elf_headers_read(&reader);

	if (err)
		return err;
	if (build_info_read(&reader, &info)) {
		found.is = !version_find(&found, &info) ? ELF_GO_UNVERSED
			   : !g_find(&reader, &found)	? ELF_GO_UNPLACED
							: ELF_GO_LOCATED;
	}
	*go = found;
	return 0;
}
