/* SPDX-License-Identifier: Apache-2.0 */
/* The build id of an ELF file, which distinguishes it from other builds of the same program. */
#ifndef ELF_BUILD_ID_H
#define ELF_BUILD_ID_H

#include "elf/source.h"

#define ELF_BUILD_ID_TEXT 104 /* bytes, with the NUL */

/*
 * Reads the build id of a 64-bit ELF file in our byte order, for any machine. The GNU build id is
 * written in hex; it comes from the loaded notes or, if they have none, from the notes of sections.
 * A file without a GNU build id may have one of Go, which is written behind "go:".
 *
 * Returns the number of characters, 0 if the file has no build id, -ENOEXEC if it is damaged or no
 * such ELF file, or another negative errno. `text` is untouched unless the result is positive. The
 * work is bounded. Several threads may call this at once on different sources.
 */
int elf_build_id_read(const struct elf_source *source, char text[ELF_BUILD_ID_TEXT]);

#endif
