/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/build_id.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HEADERS_MAX 512
#define NOTES_MAX 64  /* in one segment or section */
#define NAME_BYTES 4  /* "GNU" and "Go", padded with NULs */
#define GNU_ID_MAX 32 /* bytes */
#define GO_BUILD_ID 4 /* the type of Go's note */
#define GO_PREFIX "go:"
#define GO_PARTS 4
#define GO_PART_MIN 16 /* characters; Go writes 20 */
#define GO_ID_MAX 96

_Static_assert(2 * GNU_ID_MAX < ELF_BUILD_ID_TEXT, "there is room for GNU's");
_Static_assert(sizeof(GO_PREFIX) + GO_ID_MAX <= ELF_BUILD_ID_TEXT, "there is room for Go's");

struct note {
	Elf64_Nhdr header;
	char name[NAME_BYTES];
};

/* A range of the file that holds notes. */
struct place {
	uint64_t at, bytes, align;
};

/* The build ids that were found so far. */
struct ids {
	uint8_t gnu[GNU_ID_MAX];
	uint32_t gnu_bytes; /* 0: none */
	char go[GO_ID_MAX + 1];
};

/* Notes are padded to the alignment of their segment: 4, or 8 if it says so. */
static uint64_t padded(uint64_t bytes, uint64_t align)
{
	return (bytes + align - 1) / align * align;
}

static int gnu_read(const struct elf_source *source, uint64_t at, uint32_t bytes, struct ids *ids)
{
	int err;

	if (!bytes || bytes > sizeof(ids->gnu))
		return -ENOEXEC;
	err = source->read(source, at, ids->gnu, bytes);
	if (!err)
		ids->gnu_bytes = bytes;
	return err;
}

/*
 * Whether the text is an id that Go's toolchain made: four hashes of the inputs and the output of
 * the build. A custom link step may put any text there, also the same text into every program.
 */
static bool go_is_id(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_";

	for (int part = 1;; part++) {
		size_t length = strspn(text, letters);

		text += length;
		if (length < GO_PART_MIN || part == GO_PARTS)
			return length >= GO_PART_MIN && !*text;
		if (*text++ != '/')
			return false;
	}
}

/* Reads a Go build id. A text of another form is ignored. 0 or a negative errno. */
static int go_read(const struct elf_source *source, uint64_t at, uint32_t bytes, struct ids *ids)
{
	char text[GO_ID_MAX + 1] = "";
	int err;

	if (bytes > GO_ID_MAX)
		return 0;
	err = source->read(source, at, text, bytes);
	if (!err && strlen(text) == bytes && go_is_id(text))
		memcpy(ids->go, text, sizeof(text));
	return err;
}

static bool note_is(const struct note *note, uint32_t type, const char name[NAME_BYTES])
{
	return note->header.n_type == type && note->header.n_namesz == NAME_BYTES &&
	       !memcmp(note->name, name, NAME_BYTES);
}

/* Reads notes until a GNU build id is found. 0 or a negative errno. */
static int notes_read(const struct elf_source *source, struct place place, struct ids *ids)
{
	uint64_t align = place.align == 8 ? 8 : 4, at = place.at, left = place.bytes;
	int err = 0;

	for (int i = 0; i < NOTES_MAX && left >= sizeof(struct note) && !ids->gnu_bytes; i++) {
		struct note note;
		uint64_t name, bytes;

		err = source->read(source, at, &note, sizeof(note));
		if (err)
			return err;
		name = padded(sizeof(note.header) + (uint64_t)note.header.n_namesz, align);
		bytes = name + padded(note.header.n_descsz, align);
		if (note_is(&note, NT_GNU_BUILD_ID, "GNU"))
			err = gnu_read(source, at + name, note.header.n_descsz, ids);
		else if (note_is(&note, GO_BUILD_ID, "Go\0") && !ids->go[0])
			err = go_read(source, at + name, note.header.n_descsz, ids);
		if (err || bytes > left || bytes > UINT64_MAX - at)
			break;
		at += bytes;
		left -= bytes;
	}
	return err;
}

static int segments_read(const struct elf_source *source, const Elf64_Ehdr *header, struct ids *ids)
{
	Elf64_Phdr segment;
	int err = 0;

	for (unsigned int i = 0; i < header->e_phnum && !err && !ids->gnu_bytes; i++) {
		if (header->e_phoff > UINT64_MAX - i * sizeof(segment))
			return -ENOEXEC;
		err = source->read(source, header->e_phoff + i * sizeof(segment), &segment,
				   sizeof(segment));
		if (!err && segment.p_type == PT_NOTE)
			err = notes_read(
				source,
				(struct place){segment.p_offset, segment.p_filesz, segment.p_align},
				ids);
	}
	return err;
}

/* Reads the notes of sections. A file without sections, or with too many, counts as without id. */
static int sections_read(const struct elf_source *source, const Elf64_Ehdr *header, struct ids *ids)
{
	Elf64_Shdr section;
	int err = 0;

	if (!header->e_shoff || header->e_shentsize != sizeof(section) ||
	    header->e_shnum > HEADERS_MAX)
		return 0;
	for (unsigned int i = 0; i < header->e_shnum && !err && !ids->gnu_bytes; i++) {
		if (header->e_shoff > UINT64_MAX - i * sizeof(section))
			return -ENOEXEC;
		err = source->read(source, header->e_shoff + i * sizeof(section), &section,
				   sizeof(section));
		if (!err && section.sh_type == SHT_NOTE)
			err = notes_read(source,
					 (struct place){section.sh_offset, section.sh_size,
							section.sh_addralign},
					 ids);
	}
	return err;
}

static int ids_write(const struct ids *ids, char text[ELF_BUILD_ID_TEXT])
{
	if (!ids->gnu_bytes)
		return ids->go[0] ? sprintf(text, GO_PREFIX "%s", ids->go) : 0;
	for (uint32_t i = 0; i < ids->gnu_bytes; i++)
		sprintf(text + 2 * i, "%02x", ids->gnu[i]);
	return (int)(2 * ids->gnu_bytes);
}

int elf_build_id_read(const struct elf_source *source, char text[ELF_BUILD_ID_TEXT])
{
	Elf64_Ehdr header;
	struct ids ids = {0};
	int err = source->read(source, 0, &header, sizeof(header));

	if (err)
		return err;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > HEADERS_MAX)
		return -ENOEXEC;
	err = segments_read(source, &header, &ids);
	if (!err && !ids.gnu_bytes)
		err = sections_read(source, &header, &ids);
	return err ? err : ids_write(&ids, text);
}
