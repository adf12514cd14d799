/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing arguments. RECORD_SYSCALLS has the kind of each argument. A kind is a row of the
 * table in syscall_shapes.c: a static function and, for names, a set of flags. A kind
 * without a row is written in hex.
 */
#ifndef MODEL_SYSCALL_SHAPES_H
#define MODEL_SYSCALL_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

#include "model/syscall_flags.h"
#include "record/record.h"

/* clang-format off */
#define ARGUMENT_KINDS(K)                                                                          \
	K(address) K(dirfd) K(fd) K(hex) K(int) K(lhex) K(long) K(map_offset) K(mode)              \
	K(node_mode) K(offset) K(path) K(pid) K(size) K(uid) K(uint) K(ulong) K(unused)            \
	K(device) K(ipc_key) K(socket_type) K(socket_protocol) K(socket_option)                    \
	K(futex_operation) K(futex_timeout) K(futex_value3) K(fcntl_argument) K(ioctl_argument)    \
	K(delete_module_flags) K(fanotify_event_flags) K(finit_module_flags) K(fsconfig_command)   \
	K(fsmount_flags) K(fsopen_flags) K(fspick_flags) K(futex2_flags)                           \
	K(io_uring_register_operation) K(ioprio) K(ioprio_who) K(kexec_file_flags)                 \
	K(kexec_flags) K(keyctl_operation) K(keyring) K(landlock_flags) K(landlock_rule)           \
	K(membarrier_command) K(memfd_secret_flags) K(mount_attributes) K(move_mount_flags)        \
	K(open_tree_flags) K(personality) K(pkey_rights) K(reboot_command) K(reboot_magic)         \
	K(reboot_magic2) K(rseq_flags) K(seccomp_flags) K(seccomp_operation) K(setns_flags)        \
	K(shadow_stack_flags) K(swap_flags) K(syslog_action) K(socketcall) K(pages)                \
	K(prctl_argument)

enum argument_kind {
	ARG_none,
#define K(kind) ARG_##kind,
	ARGUMENT_KINDS(K)
#undef K
#define F(set, mask, unknown) ARG_##set,
	SYSCALL_FLAG_SETS(F)
#undef F
	ARG_KINDS
};
/* clang-format on */

/* A text that is being written. Characters that do not fit are counted, not written. */
struct text {
	char *buf;
	size_t size, len;
};

void text_put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a string in the quotes of strace; with `cut`, followed by dots. */
void text_put_quoted(struct text *t, const char *string, bool cut);

/* Writes argument i, which has this kind, of all arguments of a call. */
void argument_put(struct text *t, enum argument_kind kind, const u64 args[6], int i);

#endif
