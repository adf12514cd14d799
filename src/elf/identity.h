/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a mapped file: a text that distinguishes it from any file that is put at the same
 * path later. It is one of:
 *
 *   the GNU build id in hex, or "go:" and Go's build id    see elf/build_id.h
 *   "file:INODE:SIZE:CHANGED:SUM"                          for a file without a build id
 *
 * In the second form a change of the file's status makes a new identity: missing names are better
 * than wrong ones. The device number is not part of it, since it may change with a reboot. SUM is a
 * hash of the contents, or of samples of a long file; it is there because the times of some file
 * systems are not reliable.
 */
#ifndef ELF_IDENTITY_H
#define ELF_IDENTITY_H

#include <stdbool.h>
#include <sys/stat.h>

#define FILE_IDENTITY_TEXT 112 /* bytes, with the NUL */

/*
 * Reads the identity of the open file `fd`. `info` is the result of fstat() for it. Returns 0, or a
 * negative errno; `text` is untouched then. The build id is looked for within the bounds of
 * elf_build_id_read(), and at most 1 MiB of contents is read. Several threads may call this at
 * once.
 */
int file_identity_read(int fd, const struct stat *info, char text[FILE_IDENTITY_TEXT]);

/* Whether the open file has the identity `text`. A file that cannot be read has not. */
bool file_identity_is(int fd, const struct stat *info, const char *text);

/* Whether the identity is of the form that files without a build id have. */
bool file_identity_is_bare(const char *text);

#endif
