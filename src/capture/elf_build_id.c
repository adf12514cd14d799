/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/elf_build_id.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define HEADERS_MAX 512
#define NOTES_MAX 64 /* in one segment */
#define NAME_BYTES 4 /* of "GNU", with its NUL */

struct note {
	Elf64_Nhdr header;
	char name[NAME_BYTES];
};

/* Notes are padded to the alignment of their segment: 4, or 8 if it says so. */
static uint64_t padded(uint64_t bytes, uint64_t align)
{
	return (bytes + align - 1) / align * align;
}

/* The build id among the notes of one segment, as elf_build_id_read() has it. */
static int notes_read(const struct elf_source *source, const Elf64_Phdr *segment, uint8_t *id)
{
	uint64_t align = segment->p_align == 8 ? 8 : 4, at = segment->p_offset;
	uint64_t left = segment->p_filesz;

	for (int i = 0; i < NOTES_MAX && left >= sizeof(struct note); i++) {
		struct note note;
		uint64_t name, bytes;
		int err = source->read(source, at, &note, sizeof(note));

		if (err)
			return err;
		name = padded(sizeof(note.header) + (uint64_t)note.header.n_namesz, align);
		bytes = name + padded(note.header.n_descsz, align);
		if (note.header.n_type == NT_GNU_BUILD_ID &&
		    note.header.n_namesz == sizeof(note.name) && !memcmp(note.name, "GNU", 4)) {
			if (!note.header.n_descsz || note.header.n_descsz > ELF_BUILD_ID_MAX)
				return -ENOEXEC;
			err = source->read(source, at + name, id, note.header.n_descsz);
			return err ? err : (int)note.header.n_descsz;
		}
		if (bytes > left || bytes > UINT64_MAX - at)
			break;
		at += bytes;
		left -= bytes;
	}
	return 0;
}

int elf_build_id_read(const struct elf_source *source, uint8_t id[ELF_BUILD_ID_MAX])
{
	Elf64_Ehdr header;
	int found = source->read(source, 0, &header, sizeof(header));

	if (found)
		return found;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > HEADERS_MAX)
		return -ENOEXEC;
	for (unsigned int i = 0; i < header.e_phnum && !found; i++) {
		Elf64_Phdr segment;
		uint8_t there[ELF_BUILD_ID_MAX];

		if (header.e_phoff > UINT64_MAX - i * sizeof(segment))
			return -ENOEXEC;
		found = source->read(source, header.e_phoff + i * sizeof(segment), &segment,
				     sizeof(segment));
		if (!found && segment.p_type == PT_NOTE)
			found = notes_read(source, &segment, there);
		if (found > 0)
			memcpy(id, there, (size_t)found);
	}
	return found;
}
