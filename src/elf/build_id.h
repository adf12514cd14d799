/* SPDX-License-Identifier: Apache-2.0 */
/* The build id of an ELF file: what tells it from another build of the same program. */
#ifndef ELF_BUILD_ID_H
#define ELF_BUILD_ID_H

#include "elf/tls.h"

#define ELF_BUILD_ID_TEXT 104 /* bytes, with the NUL */

/*
 * Reads the build id of a 64-bit file of any machine with our byte order, as text: GNU's in hex,
 * from the notes that are loaded or, if these have none, from those of its sections; or else Go's
 * own behind "go:". Returns how many characters it has, 0 if the file has none, -ENOEXEC if it is
 * no such file or is damaged, or another negative errno; `text` is untouched then. The work is
 * bounded; threads may call it at once on different sources.
 */
int elf_build_id_read(const struct elf_source *source, char text[ELF_BUILD_ID_TEXT]);

#endif
