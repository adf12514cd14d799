/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as the file in which a program names its code: what is found is what was looked for. */
#include "proc/perf_map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t addresses[] = {0, 1, 0x1000, 0x1fff, 0x7f0000001234, UINT64_MAX - 1};

struct input {
	const char *text;
	size_t bytes;
};

static void found(void *arg, size_t index, const struct perf_map_line *line)
{
	const struct input *in = arg;

	if (index >= sizeof(addresses) / sizeof(addresses[0]) || addresses[index] < line->begin ||
	    addresses[index] >= line->end || !line->name_bytes ||
	    line->name_bytes > PERF_MAP_NAME_MAX || line->name < in->text ||
	    line->name + line->name_bytes > in->text + in->bytes ||
	    memchr(line->name, '\n', line->name_bytes) || memchr(line->name, 0, line->name_bytes))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1); /* without a byte behind it that may be read */
	struct input in = {text, size};
	const struct perf_map_search search = {addresses, sizeof(addresses) / sizeof(addresses[0]),
					       found, &in};
	size_t matches = 0, used = 0;

	memcpy(text, data, size);
	if (!perf_map_lines(text, size, &search, &matches, &used) &&
	    (used > size || (used && text[used - 1] != '\n')))
		abort();
	free(text);
	return 0;
}
