/* SPDX-License-Identifier: Apache-2.0 */
/* What programs say of the Go runtime in them: whole, stripped, damaged, older and newer ones. */
#include "elf/go.h"

#include <elf.h>

#include "tests/unit/capture/context/publisher.h"
#include "tests/unit/elf/elf_image.h"

/* A program without code: one segment, a block of thread-local variables, and the build info. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[3];
	char strings[16];
	struct {
		char magic[14];
		uint8_t pointer_bytes, flags;
		uint8_t pad[16];
		uint8_t bytes;
		char version[63];
	} info __attribute__((aligned(16)));
};

#define AT(member) offsetof(struct image, member)

static struct image image_make(const char *version)
{
	struct image m = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = IMAGE_MACHINE,
			   .e_phoff = AT(segments),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2,
			   .e_shoff = AT(sections),
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 4},
		.segments = {{.p_type = PT_LOAD, .p_filesz = sizeof(m), .p_memsz = sizeof(m)},
			     {.p_type = PT_TLS, .p_memsz = 8, .p_align = 8}},
		.sections = {{0},
			     {.sh_type = SHT_PROGBITS,
			      .sh_flags = SHF_ALLOC | SHF_WRITE,
			      .sh_offset = AT(info),
			      .sh_size = sizeof(m.info),
			      .sh_addralign = 16},
			     {.sh_type = SHT_SYMTAB,
			      .sh_offset = AT(symbols),
			      .sh_size = sizeof(m.symbols),
			      .sh_link = 3,
			      .sh_entsize = sizeof(Elf64_Sym)},
			     {.sh_type = SHT_STRTAB,
			      .sh_offset = AT(strings),
			      .sh_size = sizeof(m.strings)}},
		.symbols = {[2] = {.st_name = 1,
				   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
				   .st_shndx = 1,
				   .st_value = 16,
				   .st_size = 8}},
		.strings = "\0runtime.tlsg",
		.info = {.pointer_bytes = 8, .flags = 2},
	};

	memcpy(m.info.magic, "\xff Go buildinf:", sizeof(m.info.magic));
	m.info.bytes = (uint8_t)strlen(version);
	memcpy(m.info.version, version, strlen(version));
	return m;
}

static struct elf_go image_read(const struct image *m)
{
	struct elf_source source = elf_source_buffer(m, sizeof(*m));
	struct elf_go go = {.is = 77};

	CHECK_EQ(elf_go_read(&source, &go), 0);
	return go;
}

static struct elf_go version_read(const char *version)
{
	struct image m = image_make(version);

	return image_read(&m);
}

#if defined(__x86_64__)
#define LOCATED ELF_GO_LOCATED
#else
#define LOCATED ELF_GO_UNPLACED /* g is in a register there */
#endif

TEST(a_version_tells_the_fields)
{
	static const struct {
		const char *version;
		uint16_t goid, maker;
	} rows[] = {
		{"go1.18.10", 152, 0},
		{"go1.20", 152, 0},
		{"go1.21.13", 152, 272},
		{"go1.22.0", 152, 272},
		{"go1.23.5", 160, 280},
		{"go1.24", 160, 280},
		{"go1.25.3", 152, 272},
		{"go1.26.8", 152, 280},
		{"go1.26rc2", 152, 280},
		{"go1.26-custom", 152, 280},
		{"go1.26.1 X:nodwarf5", 152, 280},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct elf_go go = version_read(rows[i].version);

		CHECK_EQ(go.is, LOCATED);
		CHECK_EQ(go.goid, rows[i].goid);
		CHECK_EQ(go.maker, rows[i].maker);
	}
	CHECK_STR(version_read("go1.26.1 X:nodwarf5").version, "go1.26.1");
}

TEST(versions_that_are_not_known_tell_nothing)
{
	static const char *const versions[] = {
		"go1.12.17", "go1.99", "go2.0", "devel go1.26-abc",	   "devel +5f0d821",
		"",	     "go1.",   "go1.x", "go1.99999999999999999999"};

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct elf_go go = version_read(versions[i]);

		CHECK_EQ(go.is, ELF_GO_UNVERSED);
		CHECK_EQ(go.goid, 0);
	}
}

TEST(before_1_18_the_version_is_elsewhere)
{
	struct image m = image_make("");
	struct elf_go go;

	m.info.flags = 0;
	m.sections[1].sh_size = 32;
	go = image_read(&m);
	CHECK_EQ(go.is, LOCATED);
	CHECK_EQ(go.goid, 152);
	CHECK_STR(go.version, "");
	m.info.flags = 1; /* big endian */
	CHECK_EQ(image_read(&m).is, ELF_GO_UNVERSED);
}

#if defined(__x86_64__)
TEST(the_only_variable_is_g)
{
	struct image m = image_make("go1.26.1");

	CHECK_EQ(image_read(&m).g_at, -8);
	m.segments[1].p_type = PT_NULL; /* no block at all: Go's own linker, for Go alone */
	CHECK_EQ(image_read(&m).g_at, -8);
	m.header.e_type = ET_DYN;
	CHECK_EQ(image_read(&m).g_at, -8);
}

TEST(beside_other_variables_the_symbol_tells)
{
	struct image m = image_make("go1.26.1");

	m.segments[1].p_memsz = 40;
	m.segments[1].p_align = 16;
	CHECK_EQ(image_read(&m).is, ELF_GO_LOCATED);
	CHECK_EQ(image_read(&m).g_at, 16 - 48);
	m.symbols[2].st_value = 40; /* behind the block */
	CHECK_EQ(image_read(&m).is, ELF_GO_UNPLACED);
	m.symbols[2].st_value = 16;
	m.sections[2].sh_type = SHT_NULL; /* stripped */
	CHECK_EQ(image_read(&m).is, ELF_GO_UNPLACED);
	CHECK_STR(image_read(&m).version, "go1.26.1");
}
#endif

#if defined(__x86_64__)
/* Instructions that load g from offset -48 into r14. */
static const uint8_t direct[] = {0x64, 0x4c, 0x8b, 0x34, 0x25, 0xd0, 0xff, 0xff, 0xff};
static const uint8_t by_register[] = {0x49, 0xc7, 0xc6, 0xd0, 0xff, 0xff,
				      0xff, 0x64, 0x4d, 0x8b, 0x36};

/* A stripped program that has them in four places, in one of them with another offset. */
static struct elf_go stripped_read(const uint8_t *load, size_t bytes, int8_t other_offset)
{
	static struct {
		struct image m;
		uint8_t code[32768];
	} file;
	struct elf_source source = elf_source_buffer(&file, sizeof(file));
	uint8_t *third = file.code + 8185 * 2 + 37;
	struct elf_go go;

	memset(file.code, 0, sizeof(file.code));
	file.m = image_make("go1.26.1");
	file.m.segments[0].p_filesz = sizeof(file);
	file.m.segments[1].p_memsz = 40;
	file.m.sections[2].sh_type = SHT_NULL;
	file.m.header.e_entry = sizeof(file.m) + 100;
	for (size_t i = 0; i < 4; i++)
		memcpy(file.code + 8185 * i + 37, load, bytes);
	third = memchr(third, 0xd0, bytes);
	CHECK(third != NULL);
	third[0] = (uint8_t)other_offset;
	if (other_offset > 0)
		memset(third + 1, 0, 3);
	CHECK_EQ(elf_go_read(&source, &go), 0);
	return go;
}

TEST(the_code_of_a_stripped_program_tells)
{
	struct elf_go go = stripped_read(direct, sizeof(direct), -48);

	CHECK_EQ(go.is, ELF_GO_LOCATED);
	CHECK_EQ(go.g_at, -48);
	go = stripped_read(by_register, sizeof(by_register), -48);
	CHECK_EQ(go.is, ELF_GO_LOCATED);
	CHECK_EQ(go.g_at, -48);
	CHECK_EQ(stripped_read(direct, sizeof(direct), -64).is, ELF_GO_UNPLACED); /* they differ */
	/* no variable is there */
	CHECK_EQ(stripped_read(direct, sizeof(direct), 40).is, ELF_GO_LOCATED);
}
#endif

TEST(without_sections_the_begin_of_a_segment_is_searched)
{
	static struct {
		struct image m;
		char rest[8192];
	} file;
	struct elf_source source = elf_source_buffer(&file, sizeof(file));
	struct elf_go go;

	file.m = image_make("go1.26.1");
	file.m.header.e_shnum = 0;
	file.m.header.e_shoff = 0;
	file.m.segments[0].p_filesz = sizeof(file);
	CHECK_EQ(elf_go_read(&source, &go), 0);
	CHECK_EQ(go.is, LOCATED);
	source.in_memory = true; /* sections are in no memory */
	file.m.header.e_shnum = 4;
	file.m.header.e_shoff = AT(sections);
	CHECK_EQ(elf_go_read(&source, &go), 0);
	CHECK_EQ(go.is, LOCATED);
	CHECK_EQ(go.maker, 280);
}

TEST(other_programs_are_not_in_go)
{
	struct image m = image_make("go1.26.1");

	m.info.magic[13] = ';';
	CHECK_EQ(image_read(&m).is, ELF_GO_NONE);
	m = image_make("go1.26.1");
	m.sections[1].sh_type = SHT_NOBITS;
	CHECK_EQ(image_read(&m).is, ELF_GO_NONE);
	m = image_make("go1.26.1");
	m.sections[1].sh_offset = 1ull << 60;
	CHECK_EQ(image_read(&m).is, ELF_GO_NONE);
	m = image_make("go1.26.1");
	m.header.e_shoff = UINT64_MAX - 8;
	CHECK_EQ(image_read(&m).is, ELF_GO_NONE);
	m = image_make("go1.26.1");
	m.sections[1].sh_size = 1ull << 40; /* it claims more than there is */
	CHECK_EQ(image_read(&m).is, LOCATED);
}

TEST(no_elf_file_is_refused)
{
	struct image m = image_make("go1.26.1");
	struct elf_source source = elf_source_buffer(&m, sizeof(m));
	struct elf_go go = {.is = 77};

	m.header.e_ident[0] = 0;
	CHECK_EQ(elf_go_read(&source, &go), -ENOEXEC);
	source = elf_source_buffer(&m, 3);
	CHECK_EQ(elf_go_read(&source, &go), -ENOEXEC);
	CHECK_EQ(go.is, 77);
}

/* A version without an end, or with bytes that no terminal should see. */
TEST(the_text_is_bounded)
{
	struct image m = image_make("go1.26.1");
	struct elf_go go;

	m.info.bytes = 255;
	memset(m.info.version, '9', sizeof(m.info.version));
	CHECK_EQ(strlen(image_read(&m).version), ELF_GO_VERSION_BYTES - 1);
	memcpy(m.info.version, "go1.26\x1b[31m", 11);
	go = image_read(&m);
	CHECK_STR(go.version, "go1.26");
}

static struct elf_go file_read(const char *name)
{
	struct elf_go go = {0};
	char path[PATH_MAX];
	struct elf_source source;
	int fd;

	publisher_path(name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	source = elf_source_file(fd, (uint64_t)lseek(fd, 0, SEEK_END));
	CHECK_EQ(elf_go_read(&source, &go), 0);
	close(fd);
	return go;
}

TEST(files_of_a_linker)
{
	struct elf_go go = file_read("glibc-go");

	CHECK_EQ(go.is, LOCATED);
	CHECK_STR(go.version, "go1.26.1");
#if defined(__x86_64__)
	CHECK_EQ(go.g_at, -8);
	go = file_read("glibc-go-static");
	CHECK_EQ(go.is, ELF_GO_LOCATED);
	CHECK(go.g_at < -8); /* the C library's own are beside it */
#endif
	CHECK_EQ(file_read("glibc-go-newer").is, ELF_GO_UNVERSED);
	CHECK_EQ(file_read("glibc-pie").is, ELF_GO_NONE);
}

TEST_MAIN()
