/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls as text: names, arguments and results.
 *
 * All functions depend only on their arguments and on constant tables, and are
 * thread-safe. Returned strings are static.
 */
#ifndef MODEL_SYSCALL_FORMAT_H
#define MODEL_SYSCALL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "record/record.h"
#include "record/syscalls.h"

/*
 * The kernel's name of call `nr` in the table of `abi_flags` (SYSCALL_COMPAT or 0); NULL for
 * a number without a name.
 */
const char *syscall_name(u8 abi_flags, u16 nr);

/* The number of the 64-bit call that corresponds to a 32-bit one; -1: none. */
int syscall_native(u16 compat_nr);

/* Which argument of a call, from 0, is the descriptor that it works on; -1: none is. */
int syscall_fd_argument(u8 abi_flags, u16 nr);

/* What the memory behind the arguments of a call held. */
struct syscall_paths {
	const char *asked[2]; /* the paths, in the order of the arguments; NULL: unknown */
	bool cut[2];
	const char *shown[6]; /* texts in place of arguments; NULL: as usual */
};

/*
 * Writes the arguments like strace, without parentheses: flags by name, paths (which may
 * be NULL) in quotes, other memory by address. Arguments of a 32-bit call in two registers
 * are written as one. Writes at most size bytes, NUL-terminated if size > 0. Returns the
 * length of the whole text, as snprintf does.
 */
size_t syscall_args_format(char *buf, size_t size, const struct record_syscall *r,
			   const struct syscall_paths *paths);

/* Whether the kernel will restart the call, which is not an error. */
static inline bool syscall_is_restart(s64 result)
{
	return result <= -512 && result >= -516;
}

/* Whether the result is an error of the call. A restart is not. */
static inline bool syscall_result_is_error(s64 result)
{
	return result < 0 && result >= -4095 && !syscall_is_restart(result);
}

/*
 * The error with which a call failed, negative; 0: it did not fail. sigreturn() does not: its
 * result is that of what the signal interrupted.
 */
static inline s64 syscall_error(u8 abi_flags, u16 nr, s64 result)
{
	bool returns = abi_flags & SYSCALL_COMPAT ? nr == 119 || nr == 173
						  : nr == SYSCALL_NR_rt_sigreturn;

	return syscall_result_is_error(result) && !returns ? result : 0;
}

/*
 * The name of an errno of either sign ("ENOENT"), including those that only the
 * kernel defines ("ERESTARTSYS", "ENOTSUPP"); NULL if it has no name.
 */
const char *syscall_errno_name(int err);

#endif
