/* SPDX-License-Identifier: Apache-2.0 */
#include "model/syscall_format.h"

#include <errno.h>
#include <string.h>

#include "record/syscalls_compat.h"

#define ROW(nr, name, nargs, fd, classes, kinds) [nr] = #name,
static const char *const names[SYSCALL_TABLE_SIZE] = {RECORD_SYSCALLS(ROW)};
#undef ROW

#define ROW(nr, name, native) [nr] = {#name, native},
static const struct {
	const char *name;
	int native;
} compat[SYSCALL_COMPAT_TABLE_SIZE] = {RECORD_SYSCALLS_COMPAT(ROW)};
#undef ROW

const char *syscall_name(u8 abi_flags, u16 nr)
{
	if (nr >= SYSCALL_TABLE_SIZE)
		return NULL;
	return abi_flags & SYSCALL_COMPAT ? compat[nr].name : names[nr];
}

int syscall_native(u16 compat_nr)
{
	if (compat_nr >= SYSCALL_COMPAT_TABLE_SIZE || !compat[compat_nr].name)
		return -1;
	return compat[compat_nr].native;
}

#define COMPAT_MMAP 90 /* its arguments are in memory */

int syscall_fd_argument(u8 abi_flags, u16 nr)
{
	static const u8 arguments[SYSCALL_TABLE_SIZE] = SYSCALL_FDARG_INIT; /* from 1 */
	int native = abi_flags & SYSCALL_COMPAT ? syscall_native(nr) : nr;

	if (abi_flags & SYSCALL_COMPAT && nr == COMPAT_MMAP)
		return -1;
	return native >= 0 && native < SYSCALL_TABLE_SIZE ? arguments[native] - 1 : -1;
}

/* From number 512 on; 520 is not a call. */
static const char *const kernel_errnos[] = {
	"ERESTARTSYS",
	"ERESTARTNOINTR",
	"ERESTARTNOHAND",
	"ENOIOCTLCMD",
	"ERESTART_RESTARTBLOCK",
	"EPROBE_DEFER",
	"EOPENSTALE",
	"ENOPARAM",
	NULL,
	"EBADHANDLE",
	"ENOTSYNC",
	"EBADCOOKIE",
	"ENOTSUPP",
	"ETOOSMALL",
	"ESERVERFAULT",
	"EBADTYPE",
	"EJUKEBOX",
	"EIOCBQUEUED",
	"ERECALLCONFLICT",
	"ENOGRACE",
};

const char *syscall_errno_name(int err)
{
	unsigned int number = err < 0 ? 0u - (unsigned int)err : (unsigned int)err;
	const size_t count = sizeof(kernel_errnos) / sizeof(kernel_errnos[0]);

	if (number >= 512 && number < 512 + count)
		return kernel_errnos[number - 512];
	return number < 4096 ? error_name((int)number) : NULL;
}
