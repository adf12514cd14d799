/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls for people: names, classes, arguments and results.
 *
 * Everything here is a function of its arguments alone, with tables that do
 * not change: threads may call it at once. Strings that are returned are static.
 */
#ifndef MODEL_SYSCALL_FORMAT_H
#define MODEL_SYSCALL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "record/record.h"
#include "record/syscalls.h"

/*
 * The name of call `nr` of the table that `abi_flags` (SYSCALL_COMPAT or 0)
 * says, as the kernel calls it; NULL for a number without a name.
 */
const char *syscall_name(u8 abi_flags, u16 nr);

/* The 64-bit call that a 32-bit one corresponds to, -1 if there is none. */
int syscall_native(u16 compat_nr);

/* The paths that a call was asked for, as the program wrote them. */
struct syscall_paths {
	const char *asked[2]; /* in the order of the arguments; NULL: not known */
	bool cut[2];
};

/*
 * The arguments as strace prints them, without parentheses: flags by name,
 * paths (which may be NULL) in quotes, other memory by address; of a 32-bit
 * call those that lie in two registers as one. Writes at most size bytes, NUL-terminated if size >
 * 0. Returns the length that the whole text has, as snprintf does.
 */
size_t syscall_args_format(char *buf, size_t size, const struct record_syscall *r,
			   const struct syscall_paths *paths);

/* True if the call is to be restarted by the kernel: no error, it goes on. */
static inline bool syscall_is_restart(s64 result)
{
	return result <= -512 && result >= -516;
}

/* True if the result is an error of the call, a restart is none. */
static inline bool syscall_result_is_error(s64 result)
{
	return result < 0 && result >= -4095 && !syscall_is_restart(result);
}

/*
 * The name of an errno of either sign ("ENOENT"), with those that only the
 * kernel defines ("ERESTARTSYS", "ENOTSUPP"); NULL if it has none.
 */
const char *syscall_errno_name(int err);

#endif
