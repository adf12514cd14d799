/* SPDX-License-Identifier: Apache-2.0 */
/* The build id of an ELF file: what tells it from another build of the same program. */
#ifndef CAPTURE_ELF_BUILD_ID_H
#define CAPTURE_ELF_BUILD_ID_H

#include "capture/elf_tls.h"

#define ELF_BUILD_ID_MAX 32 /* bytes */

/*
 * Reads the build id from the notes of a 64-bit file of any machine with our
 * byte order. Returns how many bytes it has, 0 if the file has none, -ENOEXEC
 * if it is no such file or is damaged, or another negative errno. The work is
 * bounded; threads may call it at once on different sources.
 */
int elf_build_id_read(const struct elf_source *source, uint8_t id[ELF_BUILD_ID_MAX]);

#endif
