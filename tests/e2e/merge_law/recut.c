/* SPDX-License-Identifier: Apache-2.0 */
/* `recut CHUNK DIR TIME...` writes a chunk again, cut at these times, into DIR. */
#include <stdio.h>
#include <stdlib.h>

#include "chunk/chunk.h"

int main(int argc, char **argv)
{
	struct chunk_writer_options options = {.no_sync = true};
	struct chunk_reader *reader;
	struct chunk_info info;
	struct error e = {0};
	uint64_t from;

	if (argc < 3)
		return 2;
	if (chunk_reader_open(&reader, argv[1], &e))
		goto failed;
	info = *chunk_reader_info(reader);
	chunk_reader_close(reader);
	options.dir = argv[2];
	options.host = info.host;
	options.boot_id = info.boot_id;
	options.clock = &info.clock;
	from = info.begin_ns;
	for (int i = 3; i <= argc; i++) {
		uint64_t to = i < argc ? strtoull(argv[i], NULL, 10) : info.end_ns;

		if (chunk_recut(argv[1], from, to, &options, NULL, &e))
			goto failed;
		from = to;
	}
	return 0;
failed:
	fprintf(stderr, "%s\n", e.text);
	return 1;
}
