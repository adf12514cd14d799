/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/context/locate.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/context/files.h"

#define FILES_PER_PROCESS_MAX 4096 /* files that are looked at in one walk */
#define MODULE_MAX 65535

/* ---- which files, and where they are loaded ---- */

struct scan {
	struct context_files *files;
	pid_t pid;
	struct context_places *places;
	/* the current run of mappings of one file, by its first mapping */
	uint64_t inode, start, end, offset;
	uint32_t major, minor;
	bool readable, done;
	unsigned int looked;
	char executable[PATH_MAX]; /* target of /proc/PID/exe; reading it asks no file system */
	bool musl;
};

static bool is_run(const struct scan *scan, const struct context_map *map)
{
	return scan->inode == map->inode && scan->major == map->major &&
	       scan->minor == map->minor &&
	       !(map->offset == 0 && scan->done); /* the file is loaded twice in a row */
}

static void run_begin(struct scan *scan, const struct context_map *map)
{
	scan->inode = map->inode;
	scan->major = map->major;
	scan->minor = map->minor;
	scan->start = map->start;
	scan->end = map->end;
	scan->offset = map->offset;
	scan->readable = map->readable;
	scan->done = false;
}

static void place_add(struct scan *scan, const struct elf_tls *facts, uint64_t bias)
{
	struct context_places *places = scan->places;

	if (facts->way == ELF_TLS_NONE || places->count == CONTEXT_PLACES_MAX)
		return;
	places->place[places->count++] = (struct context_place){
		.way = facts->way,
		.with_symbol = facts->with_symbol,
		.slot = facts->slot + bias,
		.symbol = facts->symbol,
		.beyond = facts->beyond,
		.lazy_begin = facts->lazy_table ? facts->lazy_begin + bias : 0,
		.lazy_end = facts->lazy_table ? facts->lazy_end + bias : 0,
		.tp_offset = facts->tp_offset,
	};
}

static bool is_executable(const struct scan *scan, const struct context_map *map)
{
	return strcmp(map->name, scan->executable) == 0;
}

/* A library has its thread-local variable elsewhere, and the loader alone knows where. */
static void lights_take(struct context_lights *lights, const struct elf_go *go, bool executable)
{
	if (executable && go->is == ELF_GO_LOCATED)
		lights->location =
			(struct light_location){.at = go->g_at, .id = go->goid, .maker = go->maker};
	else if (go->is != ELF_GO_NONE)
		lights->unread = true;
}

/* Looks at the file of the run. `map`, which has its name, is one of its mappings. */
static int run_look(struct scan *scan, const struct context_map *map)
{
	struct context_map first = *map;
	const struct context_facts *facts;
	uint64_t bias = 0;
	int err;

	scan->done = true;
	if (++scan->looked > FILES_PER_PROCESS_MAX)
		return 1;
	if (strstr(map->name, "/ld-musl-") || strstr(map->name, "-linux-musl/libc.so"))
		scan->musl = true;
	first.start = scan->start;
	first.end = scan->end;
	first.offset = scan->offset;
	first.readable = scan->readable;
	err = context_files_get(scan->files, scan->pid, &first, &facts);
	scan->places->skipped |= err == -EBUSY;
	if (err)
		return err == -ESRCH || err == -ENOMEM || err == -ECANCELED ? err : 0;
	lights_take(&scan->places->lights, &facts->go, is_executable(scan, map));
	if (facts->tls.musl)
		scan->musl = true;
	if (facts->tls.way == ELF_TLS_NONE)
		return 0;
	if (!facts->tls.fixed && elf_tls_bias(&facts->tls, first.start, first.offset, &bias))
		return 0;
	place_add(scan, &facts->tls, bias);
	return 0;
}

/*
 * A loaded file has a mapping with code. An ELF file that is mapped without code is only data. The
 * executable is looked at in any case: a program can move its code to huge pages, which are no
 * mapping of the file.
 */
static int map_look(void *arg, const struct context_map *map)
{
	struct scan *scan = arg;

	if (!map->inode || map->shared)
		return 0;
	if (!is_run(scan, map))
		run_begin(scan, map);
	if (scan->done || !(map->executable || is_executable(scan, map)))
		return 0;
	return run_look(scan, map);
}

int context_places_find(struct context_files *files, pid_t pid, struct context_places *places,
			struct error *e)
{
	struct context_places found = {0};
	struct scan scan = {.files = files, .pid = context_maps_thread(pid), .places = &found};
	char path[32];
	ssize_t n;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/exe", scan.pid);
	n = readlink(path, scan.executable, sizeof(scan.executable) - 1);
	scan.executable[n < 0 ? 0 : n] = '\0'; /* a zombie has neither link nor mappings */
	err = context_maps_walk(scan.pid, map_look, &scan);
	if (err < 0)
		return error_set(e, err, "cannot look for the context of process %d", pid);
	for (u32 i = 0; i < found.count; i++)
		found.place[i].musl = scan.musl;
	if (found.lights.location.id) /* a plugin has the runtime of its program */
		found.lights.unread = false;
	*places = found;
	return 0;
}

/* ---- what the loader made of it ---- */

static int locate_static(s64 tp_offset, struct context_location *out)
{
	*out = (struct context_location){.known = 1, .tp_offset = tp_offset};
	return 1;
}

static int locate_dynamic(const struct context_place *place, u64 module, u64 offset,
			  struct context_location *out)
{
	if (!module || module > MODULE_MAX)
		return 0;
	*out = (struct context_location){
		.known = 1, .dynamic = 1, .module = module, .var_offset = offset};
#if defined(__x86_64__)
	out->dtv_at = 8;
	out->entry_bytes = place->musl ? 8 : 16;
#else
	out->dtv_at = place->musl ? -8 : 0;
	out->entry_bytes = place->musl ? 8 : 16;
#endif
	out->count_at = place->musl ? 0 : -16;
	return 1;
}

static int resolve_tpoff(pid_t pid, const struct context_place *place, struct context_location *out)
{
	s64 offset;
	int err = context_memory_read(pid, place->slot, &offset, sizeof(offset));

	if (err)
		return err;
#if defined(__x86_64__)
	if (offset >= 0)
		return 0; /* on this machine static TLS blocks are below the thread pointer */
#endif
	return locate_static(offset, out);
}

static int resolve_module(pid_t pid, const struct context_place *place,
			  struct context_location *out)
{
	struct {
		u64 module, offset;
	} words;
	int err = context_memory_read(pid, place->slot, &words, sizeof(words));

	if (err)
		return err;
	/* with a symbol the loader may have chosen the variable of another file */
	if (place->with_symbol && words.offset)
		return locate_dynamic(place, words.module, words.offset, out);
	return locate_dynamic(place, words.module, place->symbol, out);
}

/* The resolver's argument is the address of {module, offset}. */
static int resolve_descriptor_dynamic(pid_t pid, const struct context_place *place, u64 at,
				      struct context_location *out)
{
	struct {
		u64 module, offset;
	} words;

	if (at >= place->lazy_begin && at < place->lazy_end)
		return 0; /* still the address of the relocation: it is bound at the first use */
	if (context_memory_read(pid, at, &words, sizeof(words)))
		return 0;
	return locate_dynamic(place, words.module, words.offset + place->beyond, out);
}

#if defined(__aarch64__)
/* Whether the resolver just returns its argument: [bti c] ldr x0, [x0, #8]; ret */
static bool resolver_is_static(pid_t pid, u64 at)
{
	u32 code[3];

	if (context_memory_read(pid, at, code, sizeof(code)))
		return false;
	if (code[0] == 0xd503245f)
		return code[1] == 0xf9400400 && code[2] == 0xd65f03c0;
	return code[0] == 0xf9400400 && code[1] == 0xd65f03c0;
}
#endif

static int resolve_descriptor(pid_t pid, const struct context_place *place,
			      struct context_location *out)
{
	struct {
		u64 resolver;
		s64 argument;
	} words;
	int err = context_memory_read(pid, place->slot, &words, sizeof(words));

	if (err || !words.resolver)
		return err;
#if defined(__x86_64__)
	if (words.argument < 0)
		return locate_static(words.argument + (s64)place->beyond, out);
	if (!words.argument)
		return 0; /* the loader is between its two stores */
#else
	if ((u64)words.argument < 0x10000 || resolver_is_static(pid, words.resolver))
		return locate_static(words.argument + (s64)place->beyond, out);
#endif
	return resolve_descriptor_dynamic(pid, place, (u64)words.argument, out);
}

static int place_resolve(pid_t pid, const struct context_place *place, struct context_location *out)
{
	switch (place->way) {
	case ELF_TLS_TPOFF:
		return resolve_tpoff(pid, place, out);
	case ELF_TLS_DESCRIPTOR:
		return resolve_descriptor(pid, place, out);
	case ELF_TLS_MODULE:
		return resolve_module(pid, place, out);
	case ELF_TLS_EXECUTABLE:
		return locate_static(place->tp_offset, out);
	}
	return 0;
}

int context_places_resolve(pid_t pid, const struct context_places *places,
			   struct context_location *out)
{
	pid_t thread = context_maps_thread(pid);

	for (u32 i = 0; i < places->count; i++) {
		int found = place_resolve(thread, &places->place[i], out);

		if (found == -EFAULT)
			continue; /* the words are not mapped yet, or not any more */
		if (found)
			return found;
	}
	return 0;
}

int context_locate(struct context_files *files, pid_t pid, struct context_location *out,
		   struct error *e)
{
	struct context_files *own = files ? NULL : context_files_new();
	struct context_places places = {0};
	int err;

	if (!files && !own)
		return error_set(e, ENOMEM, "cannot look for the context of process %d", pid);
	err = context_places_find(files ? files : own, pid, &places, e);
	context_files_free(own);
	if (err)
		return err;
	err = context_places_resolve(pid, &places, out);
	if (err < 0)
		return error_set(e, err, "cannot read the context's location in process %d", pid);
	return err;
}
