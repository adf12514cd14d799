/* SPDX-License-Identifier: Apache-2.0 */
#include "make.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* xorshift64* */
uint64_t make_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1du;
}

/* Values of all sizes, zero among them. */
static uint64_t any_value(uint64_t *state)
{
	uint64_t value = make_random(state);

	switch (make_random(state) % 6) {
	case 0:
		return 0;
	case 1:
		return value & 0xff;
	case 2:
		return value & 0xffffffff;
	case 3:
		return (uint64_t) - (int64_t)(value & 0xfff);
	case 4:
		return 0x80000000u;
	default:
		return value;
	}
}

static void fill_bytes(unsigned char *at, size_t len, uint64_t *state)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (unsigned char)make_random(state);
}

void make_any(union make_record *r, unsigned int kind, uint64_t time_ns, uint64_t *state)
{
	const struct record_kind_info *info = record_kind_info(kind);

	memset(r, 0, sizeof(*r));
	r->head.kind = (u8)kind;
	r->head.time_ns = time_ns;
	r->head.tid = (u32)(make_random(state) % 5);
	r->head.pid = (u32)(make_random(state) % 3);
	for (unsigned int i = 0; i < info->field_count; i++) {
		const struct record_field *f = &info->fields[i];
		uint64_t value = any_value(state);

		if (f->field_class == RECORD_FIELD_TEXT) {
			uint16_t len = (uint16_t)(value % (f->size < 300 ? f->size + 1 : 300));

			memcpy(r->bytes + f->len_offset, &len, 2);
			fill_bytes(r->bytes + f->offset, len, state);
		} else if (f->field_class == RECORD_FIELD_FILEREF ||
			   f->field_class == RECORD_FIELD_CTXREF) {
			uint64_t few = make_random(state) % 4;

			if (few)
				fill_bytes(r->bytes + f->offset, f->size, &few);
		} else if (f->field_class != RECORD_FIELD_PAD) {
			memcpy(r->bytes + f->offset, &value, f->size);
		}
	}
	r->head.slots = (u8)record_slots(record_bytes(&r->head));
}

void make_syscall(union make_record *r, uint64_t time_ns, uint16_t cpu, uint64_t result)
{
	struct record_syscall *s = (struct record_syscall *)r;

	memset(r, 0, sizeof(*r));
	s->head = (struct record_head){.kind = RECORD_syscall,
				       .slots = 3,
				       .cpu = cpu,
				       .time_ns = time_ns,
				       .tid = 7,
				       .pid = 6};
	s->nr = 1;
	s->duration_ns = 500;
	s->result = (s64)result;
	s->arg0 = 3;
}

bool make_same(const struct record_head *a, const struct record_head *b)
{
	const struct record_kind_info *info = record_kind_info(a->kind);
	const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;

	if (a->kind != b->kind || a->cpu != b->cpu || a->time_ns != b->time_ns ||
	    a->tid != b->tid || a->pid != b->pid)
		return false;
	for (unsigned int i = 0; i < info->field_count; i++) {
		const struct record_field *f = &info->fields[i];
		uint16_t len = f->size;

		if (f->field_class == RECORD_FIELD_PAD)
			continue;
		if (f->field_class == RECORD_FIELD_TEXT) {
			if (memcmp(x + f->len_offset, y + f->len_offset, 2) != 0)
				return false;
			memcpy(&len, x + f->len_offset, 2);
		}
		if (memcmp(x + f->offset, y + f->offset, len) != 0)
			return false;
	}
	return true;
}

/* ---- directories ---- */

static char directories[64][64];
static int directory_count;
static bool registered;

static void remove_all(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	char below[8192];

	while (d && (entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (unlink(below) < 0)
			remove_all(below);
	}
	if (d)
		closedir(d);
	rmdir(path);
}

/* A forked child ends by _exit() or a signal, so this is the test program itself. */
static void remove_directories(void)
{
	while (directory_count > 0)
		remove_all(directories[--directory_count]);
}

const char *make_directory(void)
{
	char *path = directories[directory_count];

	strcpy(path, "/tmp/fathom-test-XXXXXX");
	if (directory_count == 63 || !mkdtemp(path)) {
		perror("mkdtemp");
		exit(1);
	}
	directory_count++;
	if (!registered) {
		registered = true;
		atexit(remove_directories);
	}
	return path;
}

void make_forget(const char *dir)
{
	if (directory_count > 0 && dir == directories[directory_count - 1])
		remove_all(directories[--directory_count]);
}

const char *make_path(const char *dir, const char *name)
{
	static char paths[4][8192];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

/* ---- chunks ---- */

static void must(int err, const struct error *e)
{
	if (err < 0) {
		printf("# %s\n", e->text);
		exit(1);
	}
}

void make_chunk(const char *dir, uint64_t begin_ns, unsigned int n, bool compress,
		struct chunk_info *info)
{
	const struct chunk_writer_options options = {
		.dir = dir, .begin_ns = begin_ns, .compress = compress, .no_sync = true};
	struct chunk_writer *w;
	union make_record r;
	struct error e = {0};

	must(chunk_writer_open(&w, &options, &e), &e);
	for (unsigned int i = 0; i < n; i++) {
		make_syscall(&r, begin_ns + 1000ull * i, i % 2, i);
		chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, i % 2), &r.head);
	}
	must(chunk_writer_cut(w, begin_ns + 1000ull * n, NULL, &e), &e);
	must(chunk_writer_seal(w, info, &e), &e);
	chunk_writer_close(w);
}

struct chunk_writer *make_begun(const struct chunk_writer_options *options,
				enum chunk_stream_kind kind)
{
	struct chunk_writer *w = NULL;
	union make_record r;
	struct error e = {0};

	must(chunk_writer_open(&w, options, &e), &e);
	make_syscall(&r, 1010, 0, 1);
	must(chunk_writer_add(chunk_writer_stream(w, kind, 0), &r.head), &e);
	return w;
}

void make_boot(const char *dir, const char *boot_id, uint64_t unix_ns, uint64_t begin_ns)
{
	const struct chunk_clock clock = {.monotonic_ns = begin_ns, .unix_ns = unix_ns};
	const struct chunk_writer_options options = {.dir = dir,
						     .begin_ns = begin_ns,
						     .boot_id = boot_id,
						     .clock = &clock,
						     .no_sync = true};
	struct chunk_writer *w;
	struct error e = {0};

	must(chunk_writer_open(&w, &options, &e), &e);
	must(make_lost(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), LOST_buffer, 1, begin_ns,
		       begin_ns),
	     &e);
	must(chunk_writer_cut(w, begin_ns + 100, NULL, &e), &e);
	must(chunk_writer_seal(w, NULL, &e), &e);
	chunk_writer_close(w);
}

void make_threads(const char *dir, uint32_t n, bool each_a_process, bool compress,
		  struct chunk_info *info)
{
	const struct chunk_writer_options options = {
		.dir = dir, .begin_ns = 1000, .compress = compress, .no_sync = true};
	struct chunk_writer *w;
	struct chunk_stream *cpu;
	struct error e = {0};

	must(chunk_writer_open(&w, &options, &e), &e);
	cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);
	for (uint32_t i = 1; i <= n; i++) {
		const struct record_syscall r = {.head = {.kind = RECORD_syscall,
							  .slots = 3,
							  .time_ns = 1000 + i,
							  .tid = i,
							  .pid = each_a_process ? i : 1}};

		must(chunk_writer_add(cpu, &r.head), &e);
		if (i % 100000 == 0) /* what is not written yet takes memory */
			must(chunk_writer_flush(w, 1000 + i, &e), &e);
	}
	must(chunk_writer_cut(w, 1001 + n, NULL, &e), &e);
	must(chunk_writer_seal(w, info, &e), &e);
	chunk_writer_close(w);
}

bool make_is_hole(const struct record_head *record)
{
	const struct record_lost *lost = (const void *)record;

	return record->kind == RECORD_lost &&
	       (lost->count == LOST_BEGINS ||
		(!lost->count && (lost->why == LOST_damaged || lost->why == LOST_application)));
}

uint64_t make_count(const char *path, struct chunk_info *info)
{
	const struct record_head *record;
	struct chunk_reader *r;
	struct error e = {0};
	uint64_t count = 0;
	int got;

	must(chunk_reader_open(&r, path, &e), &e);
	while ((got = chunk_reader_next(r, &record, &e)) > 0)
		count += !make_is_hole(record);
	must(got, &e);
	*info = *chunk_reader_info(r);
	chunk_reader_close(r);
	return count;
}

int make_lost(struct chunk_stream *stream, enum record_loss why, uint64_t count, uint64_t begin_ns,
	      uint64_t end_ns)
{
	struct record_lost lost = {
		.head.time_ns = end_ns, .why = why, .count = count, .begin_ns = begin_ns};

	return chunk_writer_lost(stream, &lost);
}

bool make_walk_next(struct make_walk *walk, const struct record_head **record)
{
	for (;;) {
		const struct chunk_info *chunk;
		struct error e = {0};

		if (walk->reader && chunk_reader_next(walk->reader, record, NULL) == 1)
			return true;
		chunk_reader_close(walk->reader);
		walk->reader = NULL;
		if (walk->next == walk->info->chunk_count)
			return false;
		chunk = &walk->info->chunks[walk->next++];
		must(chunk_reader_open(&walk->reader, chunk->path, &e), &e);
	}
}
