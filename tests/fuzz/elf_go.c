/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a program in Go, read as a file and as a loaded image. */
#include "elf/go.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_source source = elf_source_buffer(data, size);
	struct elf_go go;

	for (int loaded = 0; loaded < 2; loaded++) {
		source.in_memory = loaded;
		source.image = 0x7f0000000000;
		if (elf_go_read(&source, &go))
			continue;
		if (go.is > ELF_GO_UNPLACED || !memchr(go.version, 0, sizeof(go.version)))
			abort();
		for (const char *c = go.version; *c; c++)
			if (*c <= ' ' || *c > '~')
				abort();
		if (go.is == ELF_GO_LOCATED && (!go.goid || go.g_at >= 0))
			abort();
	}
	return 0;
}
