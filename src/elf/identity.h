/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells a mapped file from any other that stands at its place later. As text, one of:
 *
 *   GNU's build id in hex, or "go:" and Go's own    see elf_build_id.h
 *   "file:INODE:SIZE:CHANGED:SUM"                   of a file that has no build id
 *
 * A change of the file's status makes it another one by the latter: names are rather missing than
 * wrong. The device is not part of it: its number is often another one after a reboot. SUM is of
 * the contents, of samples if they are long: there are file systems whose times say nothing.
 */
#ifndef ELF_IDENTITY_H
#define ELF_IDENTITY_H

#include <stdbool.h>
#include <sys/stat.h>

#define FILE_IDENTITY_TEXT 112 /* bytes, with the NUL */

/*
 * `info`: of the file that fd reads. 0, or a negative errno (`text` is untouched then). Reads at
 * most ELF_BUILD_ID's bounds and a MiB; threads may call it at once.
 */
int file_identity_read(int fd, const struct stat *info, char text[FILE_IDENTITY_TEXT]);

/* Whether it is the file of that identity. */
bool file_identity_is(int fd, const struct stat *info, const char *text);

/* Whether the text is the kind without a build id. */
bool file_identity_is_bare(const char *text);

#endif
