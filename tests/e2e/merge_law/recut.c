/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `recut CHUNK DIR TIME...` writes a chunk again, cut at these times, into DIR.
 * A TIME of several numbers, separated by commas, is one for each CPU modulo 4.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recut.h"

static void times_parse(const char *text, uint64_t times[RECUT_CPUS])
{
	for (int i = 0; i < RECUT_CPUS; i++) {
		times[i] = strtoull(text, NULL, 10);
		text = strchr(text, ',') ? strchr(text, ',') + 1 : text;
	}
}

int main(int argc, char **argv)
{
	struct chunk_writer_options options = {.no_sync = true};
	struct chunk_reader *reader;
	struct chunk_info info;
	struct error e = {0};
	struct recut_range range;

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
	for (int cpu = 0; cpu < RECUT_CPUS; cpu++)
		range.from_ns[cpu] = info.begin_ns;
	for (int i = 3; i <= argc; i++) {
		for (int cpu = 0; cpu < RECUT_CPUS; cpu++)
			range.to_ns[cpu] = info.end_ns;
		if (i < argc)
			times_parse(argv[i], range.to_ns);
		if (recut(argv[1], &options, &range, NULL, &e))
			goto failed;
		memcpy(range.from_ns, range.to_ns, sizeof(range.from_ns));
	}
	return 0;
failed:
	fprintf(stderr, "%s\n", e.text);
	return 1;
}
