/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of ELF files: from files and from loaded images, sound and damaged. */
#include "elf/tls.h"

#include <elf.h>
#include <sys/stat.h>

#include "capture/context/locate.h"
#include "proc/maps.h"
#include "tests/unit/capture/context/publisher.h"

static unsigned char *file_read(const char *name, size_t *size)
{
	char path[PATH_MAX];
	unsigned char *data;
	struct stat info;
	FILE *file;

	publisher_path(name, path);
	file = fopen(path, "r");
	CHECK(file != NULL && !fstat(fileno(file), &info));
	data = malloc(info.st_size);
	CHECK(data != NULL && fread(data, info.st_size, 1, file) == 1);
	fclose(file);
	*size = info.st_size;
	return data;
}

static int facts_of(const void *data, size_t size, struct elf_tls *facts)
{
	struct elf_source source = elf_source_buffer(data, size);

	return elf_tls_read(&source, CONTEXT_VARIABLE, facts);
}

TEST(file_of_each_way)
{
	static const struct {
		const char *name;
		enum elf_tls_way way;
		bool with_symbol, fixed, musl;
	} rows[] = {
		{"glibc-pie", ELF_TLS_EXECUTABLE, false, false, false},
		{"glibc-nopie", ELF_TLS_EXECUTABLE, false, true, false},
		{"glibc-static", ELF_TLS_EXECUTABLE, false, true, false},
		{"glibc-opener", ELF_TLS_NONE, false, false, false},
		{"libglibc-tlsdesc.so", ELF_TLS_DESCRIPTOR, true, false, false},
		{"libglibc-tlsdesc-symbolic.so", ELF_TLS_DESCRIPTOR, true, false, false},
		{"libglibc-tlsdesc-sysv.so", ELF_TLS_DESCRIPTOR, true, false, false},
		{"libglibc-tlsdesc-hidden.so", ELF_TLS_DESCRIPTOR, false, false, false},
		{"libglibc-classic.so", ELF_TLS_MODULE, true, false, false},
		{"libglibc-initial.so", ELF_TLS_TPOFF, true, false, false},
		{"libglibc-classic-hidden.so", ELF_TLS_MODULE, false, false, false},
		{"libglibc-initial-hidden.so", ELF_TLS_TPOFF, false, false, false},
		{"libglibc-filler.so", ELF_TLS_NONE, false, false, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct elf_tls facts;
		size_t size;
		unsigned char *data = file_read(rows[i].name, &size);

		CHECK_EQ(facts_of(data, size, &facts), 0);
		CHECK_EQ(facts.way, rows[i].way);
		CHECK_EQ(facts.with_symbol, rows[i].with_symbol);
		CHECK_EQ(facts.fixed, rows[i].fixed);
		CHECK_EQ(facts.musl, rows[i].musl);
		free(data);
	}
}

TEST(interpreter_of_musl)
{
	struct elf_tls facts;
	size_t size;
	unsigned char *data = file_read("musl-opener", &size);

	CHECK_EQ(facts_of(data, size, &facts), 0);
	CHECK_EQ(facts.musl, 1);
	free(data);
}

struct image {
	const char *name;
	uint64_t start;
};

static int image_find(void *arg, const struct context_map *map)
{
	struct image *image = arg;

	if (!strstr(map->name, image->name) || map->offset)
		return 0;
	image->start = map->start;
	return 1;
}

/* The loader relocates a loaded image's dynamic section: the facts stay the same. */
TEST(loaded_image)
{
	static const char *const libraries[] = {"tlsdesc", "classic", "initial"};

	for (int i = 0; i < 3; i++) {
		struct image image = {.name = "x"};
		struct elf_source source;
		struct elf_tls loaded, facts;
		char name[64], path[PATH_MAX];
		unsigned char *data;
		size_t size;

		snprintf(name, sizeof(name), "glibc-linked-%s", libraries[i]);
		publisher_path(name, path);
		publisher_start(path);
		snprintf(name, sizeof(name), "libglibc-%s.so", libraries[i]);
		image.name = name;
		CHECK_EQ(context_maps_walk(publisher.pid, image_find, &image), 1);
		source = elf_source_memory(publisher.pid, image.start);
		CHECK_EQ(elf_tls_read(&source, CONTEXT_VARIABLE, &loaded), 0);
		data = file_read(name, &size);
		CHECK_EQ(facts_of(data, size, &facts), 0);
		free(data);
		CHECK(facts.way != ELF_TLS_NONE);
		CHECK_MEM(&loaded, &facts, sizeof(facts));
	}
	publisher_end();
}

TEST(bias_from_any_segment)
{
	struct elf_tls facts = {
		.segments = 2,
		.segment = {{0, 0x400000, 0x1234}, {0x2e10, 0x403e10, 0x500}},
	};
	uint64_t bias;

	CHECK_EQ(elf_tls_bias(&facts, 0x7f0000000000, 0, &bias), 0);
	CHECK_EQ(bias, 0x7f0000000000 - 0x400000);
	CHECK_EQ(elf_tls_bias(&facts, 0x7f0000003000, 0x2000, &bias), 0);
	CHECK_EQ(bias, 0x7f0000003000 - 0x403000);
	CHECK_EQ(elf_tls_bias(&facts, 0x7f0000003000, 0x8000, &bias), -ENOENT);
}

/* Truncated anywhere: an answer or an error, and no facts with an error. */
TEST(truncated)
{
	size_t size;
	unsigned char *data = file_read("libglibc-tlsdesc.so", &size);

	for (size_t len = 0; len < size; len += 1 + len / 64) {
		unsigned char *part = malloc(len + !len); /* its own, for valgrind */
		struct elf_tls facts, untouched;
		int err;

		memset(&facts, 0x5a, sizeof(facts));
		untouched = facts;
		memcpy(part, data, len);
		err = facts_of(part, len, &facts);
		free(part);
		if (err)
			CHECK_MEM(&facts, &untouched, sizeof(facts));
	}
	free(data);
}

/* Any byte of what describes the file may have any value. */
TEST(damaged)
{
	size_t size;
	unsigned char *data = file_read("libglibc-tlsdesc.so", &size);
	uint32_t random = 1;

	for (int round = 0; round < 20000; round++) {
		unsigned char kept[4];
		struct elf_tls facts;
		size_t at[4];

		for (int i = 0; i < 4; i++) {
			random = random * 1664525 + 1013904223;
			at[i] = (random >> 8) % (i < 2 ? 1024 : size);
			kept[i] = data[at[i]];
			data[at[i]] = random >> 16 & 8 ? 0xff : (unsigned char)random;
		}
		(void)facts_of(data, size, &facts);
		for (int i = 3; i >= 0; i--)
			data[at[i]] = kept[i];
	}
	free(data);
}

TEST(another_kind_of_file)
{
	unsigned char header[sizeof(Elf64_Ehdr)] = ELFMAG;
	struct elf_tls facts;

	CHECK_EQ(facts_of("#!/bin/sh\n", 10, &facts), -ENOEXEC);
	CHECK_EQ(facts_of(header, sizeof(header), &facts), -ENOEXEC);
	header[EI_CLASS] = ELFCLASS32;
	CHECK_EQ(facts_of(header, sizeof(header), &facts), -ENOEXEC);
}

TEST_MAIN()
