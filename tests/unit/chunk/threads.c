/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, by hand, a recording of as many threads as fit, to see what a reader of it takes:
 *
 *   make-threads DIR COUNT [processes] [compressed]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make.h"

#define TIDS 0xffffffu /* a tid has three bytes */

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	bool processes = false, compressed = false;
	struct chunk_info info;

	for (int i = 3; i < argc; i++) {
		processes |= strcmp(argv[i], "processes") == 0;
		compressed |= strcmp(argv[i], "compressed") == 0;
	}
	if (!count || count > TIDS) {
		fprintf(stderr, "usage: make-threads DIR COUNT [processes] [compressed]\n");
		return 2;
	}
	make_threads(argv[1], (uint32_t)count, processes, compressed, &info);
	printf("%s: %llu events, %llu bytes\n", info.path, (unsigned long long)info.records,
	       (unsigned long long)info.bytes);
	return 0;
}
