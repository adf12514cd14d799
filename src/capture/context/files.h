/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ELF files say about the context variable and about Go's runtime, kept by device, inode, time
 * of change and size.
 */
#ifndef CAPTURE_CONTEXT_FILES_H
#define CAPTURE_CONTEXT_FILES_H

#include "capture/context/locate.h"
#include "elf/go.h"
#include "elf/tls.h"
#include "proc/maps.h"

struct context_facts {
	struct elf_tls tls; /* of the context variable */
	struct elf_go go;
};

/*
 * Returns the facts about the file that process `pid` has mapped as `map`. They are known already
 * or read now, belong to `files`, and are valid until the next call. A file that cannot be opened
 * is read from the memory of the process, if the mapping shows its begin; its facts are not kept.
 *
 * 0, or a negative errno: -ENOEXEC if it is no usable ELF file; -EBUSY if its file system does not
 * answer; -ECANCELED if the work was taken away (proc/look.h), and then `files` must not be touched
 * any more.
 */
int context_files_get(struct context_files *files, pid_t pid, const struct context_map *map,
		      const struct context_facts **facts);

#endif
