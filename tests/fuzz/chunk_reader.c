/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: any bytes as the files of a chunk. An input is a row of files,
 * each: one byte for its name, four for its length (little-endian), its bytes.
 *
 * A changed checksum would end every try early: with an odd name byte the
 * packets of the file, or the manifest, get right ones before they are read.
 *
 * The seeds are written by `test-chunk-fuzz DIRECTORY/`, anew when the format changes.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "chunk/chunk.h"
#include "chunk/format.h"
#include "record/describe.h"

#define MANIFEST ".manifest"
#define MANIFEST_CHECKSUM_BYTES (sizeof("checksum=01234567\n") - 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"cpu0", "cpu1",	"life",	    "app-7",
				    "late", "cpu0.zst", "metadata", MANIFEST};
#define NAMES (sizeof(names) / sizeof(names[0]))

static char directory[64];

static void clear_directory(void)
{
	for (size_t i = 0; i < NAMES; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
}

static void remove_directory(void)
{
	clear_directory();
	rmdir(directory);
}

static void make_directory_once(void)
{
	if (directory[0])
		return;
	atexit(remove_directory);
	strcpy(directory, "/tmp/fathom-fuzz-XXXXXX");
	if (!mkdtemp(directory))
		abort();
}

static void repair_packets(uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (len - at >= PACKET_HEAD_BYTES) {
		uint64_t size = load64(bytes + at + offsetof(struct packet_head, packet_bits)) / 8;
		uint32_t crc;

		if (size < PACKET_HEAD_BYTES || size > len - at)
			return;
		crc = crc32c(0, bytes + at, offsetof(struct packet_head, checksum));
		crc = crc32c(crc, bytes + at + PACKET_HEAD_BYTES, size - PACKET_HEAD_BYTES);
		store32(bytes + at + offsetof(struct packet_head, checksum), crc);
		at += size;
	}
}

/* Its last line is the checksum of those before; cut off if it is one, and written anew. */
static size_t repair_manifest(uint8_t *bytes, size_t len)
{
	static const char key[] = "checksum=";
	const size_t line = MANIFEST_CHECKSUM_BYTES;

	if (len >= line && memcmp(bytes + len - line, key, sizeof(key) - 1) == 0)
		len -= line;
	snprintf((char *)bytes + len, line + 1, "%s%08x\n", key, crc32c(0, bytes, len));
	return len + line;
}

static void write_file(const char *name, const uint8_t *data, size_t len, int repair)
{
	char path[128];
	uint8_t *copy = malloc(len + MANIFEST_CHECKSUM_BYTES + 1);
	int fd;

	memcpy(copy, data, len);
	if (repair && strcmp(name, MANIFEST) == 0)
		len = repair_manifest(copy, len);
	else if (repair)
		repair_packets(copy, len);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, copy, len) != (ssize_t)len)
		abort();
	close(fd);
	free(copy);
}

/* The readers' promise: times in order, whole records, sums that end. */
static void read_chunk(void)
{
	const struct record_head *record;
	struct chunk_reader *r;
	char line[64];
	uint64_t last = 0;

	if (chunk_reader_open(&r, directory, NULL))
		return;
	while (chunk_reader_next(r, &record, NULL) == 1) {
		if (record->time_ns < last || !record_kind_info(record->kind))
			abort();
		last = record->time_ns;
		record_print(line, sizeof(line), record);
	}
	chunk_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	make_directory_once();
	clear_directory();
	write_file("metadata", (const uint8_t *)"", 0, 0);
	while (size >= 5) {
		size_t len = load32(data + 1);

		if (len > size - 5)
			len = size - 5;
		write_file(names[(data[0] >> 1) % NAMES], data + 5, len, data[0] & 1);
		data += 5 + len;
		size -= 5 + len;
	}
	read_chunk();
	return 0;
}
