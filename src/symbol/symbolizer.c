/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbolizer.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/map.h"
#include "elf/identity.h"

#define FILES_MAX 256	    /* open at once; then all are closed */
#define KNOWN_MAX (1 << 20) /* places; then all are forgotten */
#define SEGMENTS_MAX 64
#define REGISTER_FP 6 /* DWARF's numbers for x86-64 */
#define REGISTER_SP 7
#define REGISTER_RETURN 16

struct segment {
	uint64_t offset, size, address; /* of bytes of the file, and their address in the module */
};

struct file {
	Dwfl *dwfl; /* NULL: the file is missing, or is another one */
	Dwfl_Module *module;
	struct segment segments[SEGMENTS_MAX];
	size_t segment_count;
	int machine;
};

/* The answers for a place, which stacks ask for again and again. */
struct known {
	const struct file *file;
	uint64_t offset;
	bool has_symbol, has_frame;
	int symbol_err, frame_err;
	char *name; /* owned */
	uint64_t in_function;
	struct symbol_frame frame;
};

struct symbolizer {
	struct bytes_map files; /* path, NUL, identity -> struct file, owned */
	struct map known;	/* hash of file and offset -> struct known, owned */
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

struct symbolizer *symbolizer_new(void)
{
	/* nothing is fetched from the network to show a recording */
	unsetenv("DEBUGINFOD_URLS");
	return calloc(1, sizeof(struct symbolizer));
}

static void file_free(struct file *f)
{
	if (f->dwfl)
		dwfl_end(f->dwfl);
	free(f);
}

static void known_forget(struct symbolizer *s)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&s->known, &at, &entry)) {
		free(((struct known *)entry.value)->name);
		free(entry.value);
	}
	map_free(&s->known);
}

static void files_forget(struct symbolizer *s)
{
	struct bytes_map_entry entry;
	size_t at = 0;

	known_forget(s);
	while (bytes_map_next(&s->files, &at, &entry))
		file_free(entry.value);
	bytes_map_free(&s->files);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	files_forget(s);
	free(s);
}

/* Opens a regular ELF file with this identity. (libdwfl would also unpack compressed files.) */
static int elf_open(const char *path, const char *identity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char magic[SELFMAG];
	struct stat info;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &info) && S_ISREG(info.st_mode) &&
	    pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    !memcmp(magic, ELFMAG, SELFMAG) && file_identity_is(fd, &info, identity))
		return fd;
	close(fd);
	return -1;
}

static void segments_read(struct file *f)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	GElf_Ehdr header;
	size_t count = 0;

	if (!elf || !gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &count))
		return;
	f->machine = header.e_machine;
	for (size_t i = 0; i < count && f->segment_count < SEGMENTS_MAX; i++) {
		GElf_Phdr program;

		if (!gelf_getphdr(elf, (int)i, &program) || program.p_type != PT_LOAD)
			continue;
		f->segments[f->segment_count++] = (struct segment){
			program.p_offset, program.p_filesz, program.p_vaddr + bias};
	}
}

static void file_read(struct file *f, const struct symbol_place *place)
{
	int fd = place->identity[0] ? elf_open(place->path, place->identity) : -1;

	if (fd < 0)
		return;
	f->dwfl = dwfl_begin(&callbacks);
	if (f->dwfl)
		f->module = dwfl_report_offline(f->dwfl, place->path, place->path, fd);
	if (!f->module)
		close(fd); /* otherwise the module owns it */
	if (f->module && !dwfl_report_end(f->dwfl, NULL, NULL)) {
		segments_read(f);
		return;
	}
	if (f->dwfl)
		dwfl_end(f->dwfl);
	f->dwfl = NULL;
}

static struct file *file_get(struct symbolizer *s, const struct symbol_place *place)
{
	size_t path = strlen(place->path), id = strlen(place->identity);
	char *key = malloc(path + id + 2);
	struct file *f;

	if (!key)
		return NULL;
	memcpy(key, place->path, path + 1);
	memcpy(key + path + 1, place->identity, id + 1);
	f = bytes_map_get(&s->files, key, path + id + 1);
	if (!f) {
		if (s->files.count >= FILES_MAX)
			files_forget(s);
		f = calloc(1, sizeof(*f));
		if (f && bytes_map_put(&s->files, key, path + id + 1, f)) {
			free(f);
			f = NULL;
		}
		if (f)
			file_read(f, place);
	}
	free(key);
	return f;
}

/* What is known of a place; a new one if nothing is. NULL: there is no memory. */
static struct known *known_of(struct symbolizer *s, const struct file *f, uint64_t offset)
{
	uint64_t h = hash_pair((uint64_t)(uintptr_t)f, offset);
	struct known *known;

	for (; (known = map_get(&s->known, h)); h++) /* two places may have one hash */
		if (known->file == f && known->offset == offset)
			return known;
	if (s->known.count >= KNOWN_MAX)
		known_forget(s);
	known = calloc(1, sizeof(*known));
	if (!known || map_put(&s->known, h, known)) {
		free(known);
		return NULL;
	}
	known->file = f;
	known->offset = offset;
	return known;
}

/* Converts a place in a file to an address in its module. */
static int place_find(const struct file *f, uint64_t offset, GElf_Addr *address)
{
	for (size_t i = 0; f->dwfl && i < f->segment_count; i++) {
		const struct segment *segment = &f->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->size)
			continue;
		*address = segment->address + (offset - segment->offset);
		return 0;
	}
	return -ENOENT;
}

static int symbol_read(const struct file *f, struct known *known)
{
	GElf_Addr address;
	GElf_Off offset;
	GElf_Sym found;
	const char *name;
	int err = place_find(f, known->offset, &address);

	if (err)
		return err;
	name = dwfl_module_addrinfo(f->module, address, &offset, &found, NULL, NULL, NULL);
	/* a symbol without a size is only the nearest one */
	if (!name || !name[0] || offset >= found.st_size)
		return -ENOENT;
	known->name = strdup(name);
	known->in_function = offset;
	return known->name ? 0 : -ENOMEM;
}

int symbolizer_find(struct symbolizer *s, const struct symbol_place *place, struct symbol *symbol)
{
	const struct file *f = file_get(s, place);
	struct known *known = f ? known_of(s, f, place->offset) : NULL;

	if (!known)
		return -ENOMEM;
	if (!known->has_symbol)
		known->symbol_err = symbol_read(f, known);
	known->has_symbol = known->symbol_err != -ENOMEM;
	if (!known->symbol_err)
		*symbol = (struct symbol){.name = known->name, .offset = known->in_function};
	return known->symbol_err;
}

/* Whether the frame begins at a fixed distance from a register. */
static bool cfa_is(Dwarf_Frame *frame, unsigned int reg, int64_t *distance)
{
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) || count != 1)
		return false;
	if (ops->atom == DW_OP_bregx && ops->number == reg) {
		*distance = (int64_t)ops->number2;
		return true;
	}
	if (ops->atom != DW_OP_breg0 + reg)
		return false;
	*distance = (int64_t)ops->number;
	return true;
}

static int frame_read(Dwarf_Frame *frame, struct symbol_frame *out)
{
	Dwarf_Op memory[3], *ops;
	int64_t distance;
	size_t count;

	if (dwarf_frame_register(frame, REGISTER_RETURN, memory, &ops, &count))
		return -ENOENT;
	*out = (struct symbol_frame){.outermost = count == 0 && ops};
	if (cfa_is(frame, REGISTER_FP, &distance))
		out->by_pointer = true;
	else if (!cfa_is(frame, REGISTER_SP, &out->size))
		return out->outermost ? 0 : -ENOENT;
	if (dwarf_frame_register(frame, REGISTER_FP, memory, &ops, &count))
		return -ENOENT;
	out->pointer_kept = count == 0 && !ops;
	return 0;
}

static int frame_find(const struct file *f, struct known *known)
{
	GElf_Addr address;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;
	Dwarf_Frame *at = NULL;
	int err = place_find(f, known->offset, &address);

	if (err)
		return err;
	if (f->machine != EM_X86_64)
		return -ENOENT;
	cfi = dwfl_module_eh_cfi(f->module, &bias);
	if (!cfi)
		cfi = dwfl_module_dwarf_cfi(f->module, &bias);
	if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &at))
		return -ENOENT;
	err = frame_read(at, &known->frame);
	free(at);
	return err;
}

int symbolizer_frame(struct symbolizer *s, const struct symbol_place *place,
		     struct symbol_frame *frame)
{
	const struct file *f = file_get(s, place);
	struct known *known = f ? known_of(s, f, place->offset) : NULL;

	if (!known)
		return -ENOMEM;
	if (!known->has_frame)
		known->frame_err = frame_find(f, known);
	known->has_frame = true;
	if (!known->frame_err)
		*frame = known->frame;
	return known->frame_err;
}
