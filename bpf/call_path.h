/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Which system calls take a path: those of class %file that have an argument
 * of kind `path`. The first counts, but of a symbolic link its place.
 */
#ifndef BPF_CALL_PATH_H
#define BPF_CALL_PATH_H

#include "bpf/kernel.h"
#include "record/syscalls.h"

#define CALL_PATH_AT_CWD -100
#define CALL_PATH_DIRFD 16 /* the argument before it is the directory */
#define CALL_PATH_MASK 15

#define CALL_PATH_IS(kind, word) (__builtin_strcmp(#kind, #word) == 0)
#define CALL_PATH_PLACE_(a, b, ...)                                                                \
	(CALL_PATH_IS(a, path)	 ? 1                                                               \
	 : CALL_PATH_IS(b, path) ? 2 | (CALL_PATH_IS(a, dirfd) ? CALL_PATH_DIRFD : 0)              \
				 : 0)
#define CALL_PATH_PLACE(...) CALL_PATH_PLACE_(__VA_ARGS__, none, none)
#define CALL_PATH_ROW(nr, name, nargs, fd, classes, kinds)                                         \
	[nr] = (nr) == SYSCALL_NR_symlink      ? 2                                                 \
	       : (nr) == SYSCALL_NR_symlinkat  ? 3 | CALL_PATH_DIRFD                               \
	       : (nr) == SYSCALL_NR_pivot_root ? 0                                                 \
	       : ((classes)&SC_FILE)	       ? CALL_PATH_PLACE kinds                             \
					       : 0,

/* For a u8 table: the argument, from 1, with CALL_PATH_DIRFD; 0: none. */
#define CALL_PATHS_INIT                                                                            \
	{                                                                                          \
		RECORD_SYSCALLS(CALL_PATH_ROW)                                                     \
	}

/* call_path.bpf.c: after the record of the call that began at begin_ns. */
int call_path(u32 nr, u64 begin_ns, s32 dirfd, u64 text, long result);

#endif
