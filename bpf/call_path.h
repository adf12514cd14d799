/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The system calls that take a path: those of class %file with an argument of kind `path`. Some
 * take two. One takes the name of a message queue.
 */
#ifndef BPF_CALL_PATH_H
#define BPF_CALL_PATH_H

#include "bpf/kernel.h"
#include "record/syscalls.h"

#define CALL_PATH_AT_CWD -100
#define CALL_PATH_DIRFD 16 /* the argument before it is the directory */
#define CALL_PATH_TEXT                                                                             \
	32 /* in no directory: the target of a link, the source of a mount, the name of a queue */
#define CALL_PATH_MASK 15

#define CALL_PATH_IS(kind, word) (__builtin_strcmp(#kind, #word) == 0)
#define CALL_PATH_PLACE_(a, b, c, d, e, ...)                                                       \
	(CALL_PATH_IS(a, path)	 ? 1                                                               \
	 : CALL_PATH_IS(b, path) ? 2 | (CALL_PATH_IS(a, dirfd) ? CALL_PATH_DIRFD : 0)              \
	 : CALL_PATH_IS(c, path) ? 3 | (CALL_PATH_IS(b, dirfd) ? CALL_PATH_DIRFD : 0)              \
	 : CALL_PATH_IS(d, path) ? 4 | (CALL_PATH_IS(c, dirfd) ? CALL_PATH_DIRFD : 0)              \
	 : CALL_PATH_IS(e, path) ? 5 | (CALL_PATH_IS(d, dirfd) ? CALL_PATH_DIRFD : 0)              \
				 : 0)
#define CALL_PATH_PLACE(...) CALL_PATH_PLACE_(__VA_ARGS__, none, none, none, none, none)
#define CALL_PATH_ROW(nr, name, nargs, fd, classes, kinds)                                         \
	[nr] = (nr) == SYSCALL_NR_symlink || (nr) == SYSCALL_NR_symlinkat ? 1 | CALL_PATH_TEXT     \
	       : (nr) == SYSCALL_NR_mount				  ? 1 | CALL_PATH_TEXT     \
	       : (nr) == SYSCALL_NR_mq_unlink				  ? 1 | CALL_PATH_TEXT     \
	       : ((classes)&SC_FILE)					  ? CALL_PATH_PLACE kinds  \
									  : 0,

/* The second path is behind the first one, or behind its directory, which is in between. */
#define CALL_SECOND_PLACE_(a, b, c, d, ...)                                                        \
	(CALL_PATH_IS(a, path) && CALL_PATH_IS(b, path) ? 2                                        \
	 : CALL_PATH_IS(a, path) && CALL_PATH_IS(b, dirfd) && CALL_PATH_IS(c, path)                \
		 ? 3 | CALL_PATH_DIRFD                                                             \
	 : CALL_PATH_IS(b, path) && CALL_PATH_IS(c, dirfd) && CALL_PATH_IS(d, path)                \
		 ? 4 | CALL_PATH_DIRFD                                                             \
		 : 0)
#define CALL_SECOND_PLACE(...) CALL_SECOND_PLACE_(__VA_ARGS__, none, none, none, none)
#define CALL_SECOND_ROW(nr, name, nargs, fd, classes, kinds)                                       \
	[nr] = ((classes)&SC_FILE) ? CALL_SECOND_PLACE kinds : 0,

/* For a table of u8: the number of the argument, from 1, with CALL_PATH_DIRFD or _TEXT; 0: none. */
#define CALL_PATHS_INIT                                                                            \
	{                                                                                          \
		RECORD_SYSCALLS(CALL_PATH_ROW)                                                     \
	}
#define CALL_SECOND_PATHS_INIT                                                                     \
	{                                                                                          \
		RECORD_SYSCALLS(CALL_SECOND_ROW)                                                   \
	}

/* Flags that are given together with the number of the call: */
#define CALL_PATH_IS_SECOND 0x10000
#define CALL_PATH_IS_TEXT 0x20000
#define CALL_PATH_MOVED 0x40000	 /* the working directory is already that of the path */
#define CALL_PATH_KERNEL 0x80000 /* the path is in kernel memory, the copy of an exec */

/* The tables of the first and the second path, by row. */
extern const u8 call_paths_of[SYSCALL_TABLE_SIZE];
extern const u8 call_second_paths_of[SYSCALL_TABLE_SIZE];

/*
 * Writes the path that a call was asked for, before the record of the call that began at begin_ns.
 * call_path_fill() only puts it into `call_paths` and returns its bytes, which call_path_emit()
 * takes; 0: there is none.
 */
int call_path(u32 call, u64 begin_ns, s32 dirfd, u64 text);
int call_path_fill(u32 call, u64 begin_ns, s32 dirfd, u64 text);
int call_path_emit(u32 bytes);

/* Writes the paths of the running thread's call, which has just ended with `result`. */
struct thread_state;
int call_paths_tell(struct thread_state *state, long result);

/*
 * Writes the path that an exec was asked for, before it succeeds. `name` is the address of the
 * kernel's copy. With `from_fd` the name of a descriptor stands before the path in it.
 */
int exec_path(u64 name, u32 from_fd);

#endif
