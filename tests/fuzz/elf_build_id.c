/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file with notes, in segments and sections. */
#include "elf/build_id.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_source source = elf_source_buffer(data, size);
	char id[ELF_BUILD_ID_TEXT] = "";
	int length = elf_build_id_read(&source, id);

	if ((length > 0 ? (size_t)length : 0) != strlen(id))
		abort();
	for (int i = 0; i < length; i++)
		if ((unsigned char)id[i] <= ' ' || id[i] == '\x7f')
			abort();
	return 0;
}
