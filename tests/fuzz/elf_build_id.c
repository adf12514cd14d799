/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file with notes. */
#include "capture/elf_build_id.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_source source = elf_source_buffer(data, size);
	uint8_t id[ELF_BUILD_ID_MAX];

	if (elf_build_id_read(&source, id) > ELF_BUILD_ID_MAX)
		abort();
	return 0;
}
