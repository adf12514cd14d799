/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeds for tests/fuzz/chunk_reader.c: real chunks, small, plain and
 * compressed, with and without a manifest. With a directory as argument they
 * are written there, for libFuzzer; without, they are changed at random (the
 * same in each run) and given to the target, so that it cannot rot.
 */
#include <stdio.h>
#include <stdlib.h>

#include "make.h"
#include "tests/unit/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEEDS 6u
#define TRIES 3000u

static void put_file(FILE *out, unsigned int name, const char *path)
{
	static unsigned char bytes[1 << 20];
	FILE *in = fopen(path, "r");
	unsigned int len;

	if (!in)
		return;
	len = (unsigned int)fread(bytes, 1, sizeof(bytes), in);
	fclose(in);
	fputc((int)name, out);
	for (int i = 0; i < 4; i++)
		fputc((int)(len >> (8 * i) & 0xff), out);
	fwrite(bytes, 1, len, out);
}

/* A record of each kind on one CPU, and a second, similar switch. */
static void make_kinds(const char *dir, bool compress, struct chunk_info *info)
{
	const struct chunk_writer_options options = {
		.dir = dir, .begin_ns = 1000, .compress = compress, .no_sync = true};
	struct chunk_writer *w;
	union make_record r;
	uint64_t state = 5;

	if (chunk_writer_open(&w, &options, NULL))
		exit(1);
	for (unsigned int kind = 1; kind <= RECORD_KIND_MAX; kind++) {
		make_any(&r, kind, 1000 + kind, &state);
		chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &r.head);
		if (kind == RECORD_switch) {
			((struct record_switch *)&r)->since_ns = 7;
			chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &r.head);
		}
	}
	if (chunk_writer_cut(w, 2000, NULL, NULL) || chunk_writer_seal(w, info, NULL))
		exit(1);
	chunk_writer_close(w);
}

static void write_seed(FILE *out, unsigned int number)
{
	struct chunk_info info;

	if (number < 2)
		make_kinds(make_directory(), number == 1, &info);
	else
		make_chunk(make_directory(), 1000, 20, number % 2, &info);
	put_file(out, 1, make_path(info.path, "cpu0"));
	put_file(out, 3, make_path(info.path, "cpu1"));
	put_file(out, 10, make_path(info.path, "cpu0.zst"));
	if (number < 4)
		put_file(out, 14 + number % 2, make_path(info.path, ".manifest"));
}

static int write_seeds(const char *dir)
{
	for (unsigned int i = 0; i < SEEDS; i++) {
		char name[16];
		FILE *out;

		snprintf(name, sizeof(name), "seed%u", i);
		out = fopen(make_path(dir, name), "w");
		if (!out)
			return 1;
		write_seed(out, i);
		fclose(out);
	}
	return 0;
}

/* Bytes set to values that are likely to hurt, bits turned, the end cut off. */
static size_t change(unsigned char *bytes, size_t len, uint64_t *state)
{
	static const unsigned char bad[] = {0, 1, 0x7f, 0x80, 0xff};
	uint64_t changes = 1 + make_random(state) % 6;

	for (uint64_t i = 0; i < changes; i++) {
		size_t at = make_random(state) % len;

		if (make_random(state) % 2)
			bytes[at] = bad[make_random(state) % sizeof(bad)];
		else
			bytes[at] ^= (unsigned char)(1u << make_random(state) % 8);
	}
	return make_random(state) % 8 ? len : make_random(state) % len;
}

TEST(changed_chunks_do_no_harm)
{
	uint64_t state = 99;

	for (unsigned int i = 0; i < SEEDS; i++) {
		char *seed = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&seed, &len);

		CHECK(out != NULL);
		write_seed(out, i);
		CHECK_EQ(fclose(out), 0);
		CHECK(len > 100);
		CHECK_EQ(LLVMFuzzerTestOneInput((unsigned char *)seed, len), 0);
		for (unsigned int t = 0; t < TRIES / SEEDS; t++) {
			unsigned char *copy = malloc(len);

			memcpy(copy, seed, len);
			/* the target aborts if a promise is broken */
			LLVMFuzzerTestOneInput(copy, change(copy, len, &state));
			free(copy);
		}
		free(seed);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && strchr(argv[1], '/'))
		return write_seeds(argv[1]);
	return check_main(argc, argv);
}
