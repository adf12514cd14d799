/* SPDX-License-Identifier: Apache-2.0 */
/* Build ids of files made here: whole, damaged, and those that only pretend. */
#include "elf/build_id.h"

#include <elf.h>
#include <errno.h>

#include "tests/unit/check.h"

#define ID "abcd000000000000000000000000000000000000"
#define GO_ID "x7vx0ueVRI9__a62tdNW/ZHTjUwtsNPxOPU8-ZS-p/-M-NGF_-8MD3tEv2KsBG/nMpzmaW5pqxVWrscnZwm"

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[3];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint32_t words[1];
	} other;
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[20];
	} note;
	struct {
		Elf64_Nhdr header;
		char name[4];
		char id[84];
	} go;
};

static struct image image_make(void)
{
	struct image m = {
		.header = {.e_type = ET_DYN,
			   .e_phoff = offsetof(struct image, segments),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2},
		.segments = {{.p_type = PT_LOAD},
			     {.p_type = PT_NOTE,
			      .p_align = 4,
			      .p_offset = offsetof(struct image, other),
			      .p_filesz = sizeof(m.other) + sizeof(m.note)}},
		.other = {{4, 4, NT_GNU_ABI_TAG}, "GNU", {1}},
		.note = {{4, 20, NT_GNU_BUILD_ID}, "GNU", {0xab, 0xcd}},
	};

	memcpy(m.header.e_ident, ELFMAG, SELFMAG);
	m.header.e_ident[EI_CLASS] = ELFCLASS64;
	m.header.e_ident[EI_DATA] = ELFDATA2LSB;
	return m;
}

/* As in Go: its own id is in a loaded segment, GNU's only in a section. */
static struct image image_of_go(void)
{
	struct image m = image_make();

	m.header.e_shoff = offsetof(struct image, sections);
	m.header.e_shentsize = sizeof(Elf64_Shdr);
	m.header.e_shnum = 3;
	m.segments[1].p_offset = offsetof(struct image, go);
	m.segments[1].p_filesz = sizeof(m.go);
	m.sections[1] = (Elf64_Shdr){.sh_type = SHT_NOTE,
				     .sh_addralign = 4,
				     .sh_offset = offsetof(struct image, go),
				     .sh_size = sizeof(m.go)};
	m.sections[2] = (Elf64_Shdr){.sh_type = SHT_NOTE,
				     .sh_addralign = 4,
				     .sh_offset = offsetof(struct image, other),
				     .sh_size = sizeof(m.other) + sizeof(m.note)};
	m.go.header = (Elf64_Nhdr){4, 83, 4};
	memcpy(m.go.name, "Go\0", 4);
	memcpy(m.go.id, GO_ID, sizeof(GO_ID));
	return m;
}

/* Only Go's own. */
static struct image image_of_older_go(void)
{
	struct image m = image_of_go();

	m.sections[2].sh_type = SHT_PROGBITS;
	return m;
}

static int read_it(const struct image *m, size_t bytes, char text[ELF_BUILD_ID_TEXT])
{
	struct elf_source source = elf_source_buffer(m, bytes);

	memset(text, 0, ELF_BUILD_ID_TEXT);
	text[0] = '?';
	return elf_build_id_read(&source, text);
}

TEST(is_found_behind_other_notes)
{
	struct image m = image_make();
	char id[ELF_BUILD_ID_TEXT];

	CHECK_EQ(read_it(&m, sizeof(m), id), 40);
	CHECK_STR(id, ID);
}

TEST(is_found_in_a_section_that_is_not_loaded)
{
	struct image m = image_of_go();
	char id[ELF_BUILD_ID_TEXT];

	CHECK_EQ(read_it(&m, sizeof(m), id), 40);
	CHECK_STR(id, ID);
	m.segments[1].p_type = PT_NULL; /* nothing is loaded */
	CHECK_EQ(read_it(&m, sizeof(m), id), 40);
	m.header.e_phnum = 0;
	CHECK_EQ(read_it(&m, sizeof(m), id), 40);
	CHECK_STR(id, ID);
	m.header.e_shnum = 2; /* it is not among them */
	CHECK_EQ(read_it(&m, sizeof(m), id), 3 + 83);
}

/* Loaded notes come first, as in older recordings. */
TEST(what_is_loaded_goes_before_sections)
{
	struct image m = image_of_go();
	char id[ELF_BUILD_ID_TEXT];

	m.segments[1].p_offset = offsetof(struct image, other);
	m.segments[1].p_filesz = sizeof(m.other) + sizeof(m.note);
	m.sections[2].sh_offset = 1ull << 60; /* is not looked at */
	CHECK_EQ(read_it(&m, sizeof(m), id), 40);
	CHECK_STR(id, ID);
}

TEST(gos_own_where_gnus_is_missing)
{
	struct image m = image_of_older_go();
	char id[ELF_BUILD_ID_TEXT];

	CHECK_EQ(read_it(&m, sizeof(m), id), 3 + 83);
	CHECK_STR(id, "go:" GO_ID);
	m.segments[1].p_type = PT_NULL; /* in a section only */
	CHECK_EQ(read_it(&m, sizeof(m), id), 3 + 83);
	CHECK_STR(id, "go:" GO_ID);
	m = image_of_older_go(); /* in one segment, Go's first */
	m.header.e_shnum = 0;
	m.segments[0] = m.segments[1];
	m.segments[1] = image_make().segments[1];
	CHECK_EQ(read_it(&m, sizeof(m), id), 40);
	CHECK_STR(id, ID);
}

/* Builds that are not told apart by it, and what is no text. */
TEST(a_go_id_that_says_nothing_is_none)
{
	static const char *const others[] = {
		"",
		"redacted",
		"redacted/redacted/redacted/redacted",
		"x7vx0ueVRI9__a62tdNW/ZHTjUwtsNPxOPU8-ZS-p/-M-NGF_-8MD3tEv2KsBG",
		"x7vx0ueVRI9__a62tdNW/ZHTjUwtsNPxOPU8-ZS-p/-M-NGF_-8MD3tEv2KsBG/",
		"x7vx0ueVRI9__a62tdNW/ZHTjUwtsNPxOPU8-ZS-p/-M-NGF_-8MD3tEv2KsBG/short",
		"x7vx0ueVRI9__a62tdNW/ZHTjUwtsNPxOPU8-ZS-p/-M-NGF_-8MD3tEv2KsBG/"
		"nMpzmaW5pqxVWrs:nZwm",
		GO_ID "/",
	};
	struct image m = image_of_older_go();
	char id[ELF_BUILD_ID_TEXT];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		memset(m.go.id, 0, sizeof(m.go.id));
		memcpy(m.go.id, others[i], strlen(others[i]));
		m.go.header.n_descsz = (uint32_t)strlen(others[i]);
		CHECK_EQ(read_it(&m, sizeof(m), id), 0);
		CHECK_STR(id, "?");
	}
	m = image_of_older_go();
	m.go.id[40] = '\0';
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
	m = image_of_older_go();
	m.go.header.n_descsz = 0xfffffff0;
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
	m = image_of_older_go();
	m.go.name[2] = '!';
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
}

TEST(a_file_without_one_is_no_error)
{
	struct image m = image_make();
	char id[ELF_BUILD_ID_TEXT];

	m.note.header.n_type = NT_GNU_ABI_TAG;
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
	m = image_make();
	memcpy(m.note.name, "ABC", 4);
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
	m = image_make();
	m.segments[1].p_type = PT_NULL;
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
	CHECK_STR(id, "?");
}

TEST(damage_is_refused)
{
	struct image m = image_make();
	char id[ELF_BUILD_ID_TEXT];

	for (size_t bytes = 0; bytes < offsetof(struct image, go); bytes++)
		CHECK(read_it(&m, bytes, id) < 0);
	m.note.header.n_descsz = 33;
	CHECK_EQ(read_it(&m, sizeof(m), id), -ENOEXEC);
	m = image_make();
	m.other.header.n_descsz = 0xfffffff0;
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
	m = image_make();
	m.segments[1].p_offset = UINT64_MAX - 8;
	CHECK(read_it(&m, sizeof(m), id) < 0);
	m = image_make();
	m.header.e_phoff = UINT64_MAX - 10;
	CHECK(read_it(&m, sizeof(m), id) < 0);
	m = image_make();
	m.header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK_EQ(read_it(&m, sizeof(m), id), -ENOEXEC);
}

TEST(damaged_sections_are_refused)
{
	struct image m = image_of_go();
	char id[ELF_BUILD_ID_TEXT];

	m.header.e_shoff = UINT64_MAX - 10;
	CHECK(read_it(&m, sizeof(m), id) < 0);
	m.header.e_shoff = sizeof(m) - 1;
	CHECK(read_it(&m, sizeof(m), id) < 0);
	CHECK_STR(id, "?");
	m = image_of_go();
	m.sections[2].sh_offset = UINT64_MAX - 8;
	CHECK(read_it(&m, sizeof(m), id) < 0);
	m = image_of_go();
	m.note.header.n_descsz = 0;
	CHECK_EQ(read_it(&m, sizeof(m), id), -ENOEXEC);
	m = image_of_go();
	m.header.e_shentsize--; /* there is nothing to read them by */
	CHECK_EQ(read_it(&m, sizeof(m), id), 3 + 83);
	m = image_of_go();
	m.header.e_shnum = 0xff00; /* more than are looked at */
	CHECK_EQ(read_it(&m, sizeof(m), id), 3 + 83);
}

TEST_MAIN()
