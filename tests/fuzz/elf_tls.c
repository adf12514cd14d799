/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file, read as a file and as a loaded image. */
#include "elf/tls.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_source source = elf_source_buffer(data, size);
	struct elf_tls facts;
	uint64_t bias;

	for (int loaded = 0; loaded < 2; loaded++) {
		source.in_memory = loaded;
		source.image = 0x7f0000000000;
		if (elf_tls_read(&source, "otel_thread_ctx_v1", &facts))
			continue;
		if (facts.segments > ELF_TLS_SEGMENTS || facts.way > ELF_TLS_EXECUTABLE)
			abort();
		(void)elf_tls_bias(&facts, 0x7f0000000000, 0, &bias);
	}
	return 0;
}
