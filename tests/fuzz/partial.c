/* SPDX-License-Identifier: Apache-2.0 */
/* A partial file that somebody else wrote, with a checksum and versions that hold. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "map/file/file.h"
#include "map/tree/tree.h"

#define HEAD_BYTES 20 /* magic, checksum, versions */
#define CHECKED_AT 12

/* How a file of today begins. */
static const uint8_t *head(void)
{
	static uint8_t bytes[HEAD_BYTES];
	struct partial_file *file;
	struct bytes empty = {0};

	if (bytes[0])
		return bytes;
	file = partial_file_new(&(struct partial_terms){0});
	if (partial_file_pack(file, &empty))
		abort();
	memcpy(bytes, empty.data, HEAD_BYTES);
	bytes_free(&empty);
	partial_file_free(file);
	return bytes;
}

/* A partial that was read can be written, with the same bytes: the form is canonical. */
static void write_again(struct partial_file *file, const struct partial_options *options)
{
	struct bytes once = {0}, twice = {0};
	struct partial_file *again = NULL;

	if (partial_file_pack(file, &once) ||
	    partial_file_parse(&again, once.data, once.count, options) ||
	    partial_file_pack(again, &twice))
		abort();
	if (once.count != twice.count || memcmp(once.data, twice.data, once.count) != 0)
		abort();
	partial_file_free(again);
	bytes_free(&once);
	bytes_free(&twice);
}

static void answer(struct partial_file *file, const struct partial_options *options)
{
	struct tree_options shape = {.threads = true};
	struct partial_joined joined;
	struct tree tree;

	for (size_t i = 0; i < file->boots.count; i++) {
		if (partial_file_join(file, file->boots.data[i], options, &joined, NULL))
			continue;
		if (partial_finish(joined.partial) == 0 &&
		    tree_build(joined.partial, &shape, &tree) == 0)
			tree_free(&tree);
		partial_free(joined.partial);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct partial_options all = {.spans = true};
	struct partial_file *file;
	uint8_t *whole;
	uint32_t crc;
	int err;

	if (size < HEAD_BYTES)
		return 0;
	whole = malloc(size);
	memcpy(whole, data, size);
	memcpy(whole, head(), HEAD_BYTES);
	crc = crc32c(0, whole + CHECKED_AT, size - CHECKED_AT);
	memcpy(whole + 8, &crc, sizeof(crc));
	err = partial_file_parse(&file, whole, size, &all);
	free(whole);
	if (err)
		return 0;
	write_again(file, &all);
	answer(file, &all);
	partial_file_free(file);
	return 0;
}
