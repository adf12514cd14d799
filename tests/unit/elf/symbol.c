/* SPDX-License-Identifier: Apache-2.0 */
/* Which symbol is the variable's: thread-local, defined, 8 bytes, of its name. */
#include "tests/unit/elf/elf_image.h"

enum { DYNAMIC, HIDDEN, TABLES };

static struct elf_image image_of(int table)
{
	struct elf_image image = elf_image_make();

	image.rela[0] = elf_image_rela(1, IMAGE_MODULE, 0, 0);
	if (table == HIDDEN)
		elf_image_hide(&image);
	return image;
}

TEST(the_variable)
{
	for (int table = 0; table < TABLES; table++) {
		struct elf_image image = image_of(table);
		struct elf_tls facts = elf_image_read(&image);

		CHECK_EQ(facts.way, ELF_TLS_MODULE);
		CHECK_EQ(facts.symbol, IMAGE_VALUE);
	}
}

static void check_none(const struct elf_image *image)
{
	struct elf_tls facts = elf_image_read(image);

	CHECK_EQ(facts.way, ELF_TLS_NONE);
}

TEST(what_is_not_thread_local)
{
	for (int table = 0; table < TABLES; table++) {
		struct elf_image image = image_of(table);

		image.symbols[IMAGE_VARIABLE].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
		check_none(&image);
	}
}

/* A library that uses the variable of another one. */
TEST(what_is_not_defined)
{
	for (int table = 0; table < TABLES; table++) {
		struct elf_image image = image_of(table);

		image.symbols[IMAGE_VARIABLE].st_shndx = SHN_UNDEF;
		check_none(&image);
	}
}

TEST(another_size)
{
	static const uint64_t sizes[] = {0, 4, 16};

	for (int table = 0; table < TABLES; table++) {
		struct elf_image image = image_of(table);

		for (int i = 0; i < 3; i++) {
			image.symbols[IMAGE_VARIABLE].st_size = sizes[i];
			check_none(&image);
		}
	}
}

TEST(another_name)
{
	for (int table = 0; table < TABLES; table++) {
		struct elf_image image = image_of(table);

		image.symbols[IMAGE_VARIABLE].st_name = 2; /* what it ends in */
		check_none(&image);
		image.symbols[IMAGE_VARIABLE].st_name = 1;
		image.strings[sizeof(CONTEXT_VARIABLE)] = '2'; /* what it begins with */
		check_none(&image);
	}
}

TEST_MAIN()
