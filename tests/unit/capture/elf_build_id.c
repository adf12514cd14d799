/* SPDX-License-Identifier: Apache-2.0 */
/* Build ids of files made here: whole, damaged, and those that only pretend. */
#include "capture/elf_build_id.h"

#include <elf.h>
#include <errno.h>

#include "tests/unit/check.h"

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
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

static int read_it(const struct image *m, size_t bytes, uint8_t id[ELF_BUILD_ID_MAX])
{
	struct elf_source source = elf_source_buffer(m, bytes);

	memset(id, 0x55, ELF_BUILD_ID_MAX);
	return elf_build_id_read(&source, id);
}

TEST(is_found_behind_other_notes)
{
	struct image m = image_make();
	uint8_t id[ELF_BUILD_ID_MAX];

	CHECK_EQ(read_it(&m, sizeof(m), id), 20);
	CHECK_EQ(id[0], 0xab);
	CHECK_EQ(id[1], 0xcd);
	CHECK_EQ(id[19], 0);
	CHECK_EQ(id[20], 0x55);
}

TEST(a_file_without_one_is_no_error)
{
	struct image m = image_make();
	uint8_t id[ELF_BUILD_ID_MAX];

	m.note.header.n_type = NT_GNU_ABI_TAG;
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
	m = image_make();
	memcpy(m.note.name, "ABC", 4);
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
	m = image_make();
	m.segments[1].p_type = PT_NULL;
	CHECK_EQ(read_it(&m, sizeof(m), id), 0);
	CHECK_EQ(id[0], 0x55);
}

TEST(damage_is_refused)
{
	struct image m = image_make();
	uint8_t id[ELF_BUILD_ID_MAX];

	for (size_t bytes = 0; bytes < sizeof(m); bytes++)
		CHECK(read_it(&m, bytes, id) < 0);
	m.note.header.n_descsz = ELF_BUILD_ID_MAX + 1;
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

TEST_MAIN()
