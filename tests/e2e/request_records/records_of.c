/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the records of chunks, one on a line: records_of KIND CHUNK... */
#include <stdio.h>
#include <string.h>

#include "chunk/chunk.h"
#include "record/describe.h"

static int chunk_print(const char *kind, const char *path, struct error *e)
{
	const struct record_head *r;
	struct chunk_reader *reader;
	int err = chunk_reader_open(&reader, path, e);

	if (err)
		return err;
	while ((err = chunk_reader_next(reader, &r, e)) > 0) {
		const struct record_kind_info *info = record_kind_info(r->kind);
		char line[16384];

		if (!info || strcmp(info->name, kind) != 0)
			continue;
		record_print(line, sizeof(line), r);
		puts(line);
	}
	chunk_reader_close(reader);
	return err;
}

int main(int argc, char **argv)
{
	struct error e = {0};

	for (int i = 2; i < argc; i++)
		if (chunk_print(argv[1], argv[i], &e)) {
			fprintf(stderr, "%s: %s\n", argv[i], e.text);
			return 1;
		}
	return 0;
}
