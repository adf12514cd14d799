/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several relocations code reaches the variable through. */
#include "tests/unit/elf/elf_image.h"

static const uint32_t relocation_of[] = {[ELF_TLS_TPOFF] = IMAGE_TPOFF,
					 [ELF_TLS_DESCRIPTOR] = IMAGE_DESCRIPTOR,
					 [ELF_TLS_MODULE] = IMAGE_MODULE};

static void check_way(const struct elf_image *image, enum elf_tls_way way, uint64_t slot,
		      uint64_t beyond)
{
	struct elf_tls facts = elf_image_read(image);

	CHECK_EQ(facts.way, way);
	CHECK_EQ(facts.slot, slot);
	CHECK_EQ(facts.beyond, beyond);
}

/* In either order, with and without a symbol. */
TEST(the_most_direct_way_is_taken)
{
	struct elf_image image = elf_image_make();

	for (uint32_t one = ELF_TLS_TPOFF; one <= ELF_TLS_MODULE; one++) {
		for (uint32_t other = ELF_TLS_TPOFF; other <= ELF_TLS_MODULE; other++) {
			uint32_t best = one < other ? one : other;

			if (one == other)
				continue;
			image.rela[0] = elf_image_rela(one, relocation_of[one], IMAGE_VARIABLE, 0);
			image.rela[1] = elf_image_rela(other, relocation_of[other], IMAGE_VARIABLE,
						       0);
			check_way(&image, best, best, 0);
			image.rela[0] = elf_image_rela(one, relocation_of[one], 0, IMAGE_VALUE);
			check_way(&image, best, best, 0);
		}
	}
}

TEST(a_symbol_is_better_than_none)
{
	struct elf_image image = elf_image_make();

	image.rela[0] = elf_image_rela(1, IMAGE_DESCRIPTOR, 0, IMAGE_VALUE);
	image.rela[1] = elf_image_rela(2, IMAGE_DESCRIPTOR, IMAGE_VARIABLE, 0);
	image.rela[2] = elf_image_rela(3, IMAGE_DESCRIPTOR, 0, IMAGE_VALUE);
	check_way(&image, ELF_TLS_DESCRIPTOR, 2, 0);
}

TEST(relocations_of_others)
{
	struct elf_image image = elf_image_make();

	image.rela[0] = elf_image_rela(1, IMAGE_TPOFF, IMAGE_OTHER, 0);
	image.rela[1] = elf_image_rela(2, IMAGE_TPOFF, IMAGE_VARIABLE, 8); /* of what is behind */
	image.rela[2] = elf_image_rela(3, IMAGE_TPOFF, 0, IMAGE_VALUE - 8);
	check_way(&image, ELF_TLS_NONE, 0, 0);
	image.rela[2].r_addend = IMAGE_VALUE;
	check_way(&image, ELF_TLS_TPOFF, 3, 0);
}

/* A descriptor can serve several variables: the nearest one before the variable is used. */
TEST(descriptor_without_a_symbol)
{
	static const int64_t orders[][3] = {{0, 8, 24}, {8, 24, 0}, {24, 0, 8}, {8, 0, 24}};
	struct elf_image image = elf_image_make();

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		for (int j = 0; j < 3; j++)
			image.rela[j] = elf_image_rela(1000 + orders[i][j], IMAGE_DESCRIPTOR, 0,
						       orders[i][j]);
		check_way(&image, ELF_TLS_DESCRIPTOR, 1008, IMAGE_VALUE - 8);
	}
}

TEST(descriptors_of_what_is_behind)
{
	struct elf_image image = elf_image_make();

	image.rela[0] = elf_image_rela(1, IMAGE_DESCRIPTOR, 0, IMAGE_VALUE + 1);
	image.rela[1] = elf_image_rela(2, IMAGE_DESCRIPTOR, 0, -1);
	check_way(&image, ELF_TLS_NONE, 0, 0);
}

TEST(relocations_of_the_procedure_linkage_table)
{
	struct elf_image image = elf_image_make();
	struct elf_tls facts;

	image.jmprel[0] = elf_image_rela(1, IMAGE_DESCRIPTOR, IMAGE_VARIABLE, 0);
	facts = elf_image_read(&image);
	CHECK_EQ(facts.way, ELF_TLS_DESCRIPTOR);
	CHECK_EQ(facts.lazy_table, 1);
	CHECK_EQ(facts.lazy_begin, IMAGE_AT(jmprel));
	CHECK_EQ(facts.lazy_end, IMAGE_AT(jmprel) + IMAGE_BYTES(jmprel));
	image.dynamic.pltrel.d_un.d_val = DT_REL;
	facts = elf_image_read(&image);
	CHECK_EQ(facts.way, ELF_TLS_NONE);
	CHECK_EQ(facts.lazy_table, 0);
}

/* Nothing says where a library's variable is; an executable's block has its fixed place. */
TEST(no_relocation)
{
	struct elf_image image = elf_image_make();
	struct elf_tls facts;

	check_way(&image, ELF_TLS_NONE, 0, 0);
	image.dynamic.flags_1.d_un.d_val = DF_1_PIE;
	facts = elf_image_read(&image);
	CHECK_EQ(facts.way, ELF_TLS_EXECUTABLE);
	image.dynamic.flags_1.d_un.d_val = 0;
	image.header.e_type = ET_EXEC;
	image.programs.tls.p_memsz = 0x1c;
	image.programs.tls.p_vaddr = 8; /* so do its addresses, modulo 16 */
	facts = elf_image_read(&image);
	CHECK_EQ(facts.way, ELF_TLS_EXECUTABLE);
#if defined(__x86_64__)
	CHECK_EQ(facts.tp_offset, IMAGE_VALUE - 0x28);
#else
	CHECK_EQ(facts.tp_offset, 16 + 8 + IMAGE_VALUE);
#endif
}

TEST_MAIN()
