/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/reader.h"

#include <errno.h>

int elf_read(struct elf_reader *reader, uint64_t at, void *to, size_t len)
{
	if (len > reader->budget)
		return -ENOEXEC;
	reader->budget -= len;
	return reader->source->read(reader->source, at, to, len);
}

/* Finds the offset in the source of the byte at a linked address. 0 or -ENOEXEC. */
static int offset_of(const struct elf_reader *reader, uint64_t address, uint64_t *offset)
{
	const struct elf_tls *facts = reader->facts;

	for (unsigned int i = 0; i < facts->segments; i++) {
		const struct elf_tls_segment *segment = &facts->segment[i];

		if (address < segment->address || address - segment->address >= segment->size)
			continue;
		*offset = reader->source->in_memory
				  ? address - reader->header_address
				  : segment->offset + (address - segment->address);
		return 0;
	}
	return -ENOEXEC;
}

int elf_read_address(struct elf_reader *reader, uint64_t address, void *to, size_t len)
{
	uint64_t offset;
	int err = offset_of(reader, address, &offset);

	return err ? err : elf_read(reader, offset, to, len);
}
