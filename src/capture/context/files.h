/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about files by (device, inode, time of change, size): see context_locate.h. */
#ifndef CAPTURE_CONTEXT_FILES_H
#define CAPTURE_CONTEXT_FILES_H

#include "capture/context/locate.h"
#include "elf/tls.h"
#include "proc/maps.h"

/*
 * The facts about the file that `map` shows of process `pid`, read now or
 * known already; they belong to `files` and live until the next call. A file
 * that cannot be opened by any name is read from the process's memory, if the
 * mapping shows its begin, and not kept.
 * Returns 0, or a negative errno: -ENOEXEC if it is no usable ELF file, -EBUSY if its file
 * system does not answer, -ECANCELED if the work was taken away (see foreign_look.h): then
 * `files` is not to be touched any more.
 */
int context_files_get(struct context_files *files, pid_t pid, const struct context_map *map,
		      const struct elf_tls **facts);

#endif
