/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing arguments. RECORD_SYSCALLS has the kind of each argument. A kind is a row of the
 * table in syscall_shapes.c: a function and, for names, a set of flags. A kind
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
	K(node_mode) K(offset) K(path) K(pid) K(size) K(uid) K(uint) K(ulong) K(unused) K(device)  \
	K(ipc_key) K(socket_type) K(socket_protocol) K(socket_option) K(futex_operation)           \
	K(futex_timeout) K(futex_value3) K(fcntl_argument) K(ioctl_argument)                       \
	K(fanotify_event_flags) K(futex2_flags) K(ioprio) K(kcmp_index) K(kexec_flags)          \
	K(rseq_flags) K(shadow_stack_flags) K(socketcall) K(pages) K(prctl_argument)

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

/* Writes each bit by its name, and what has none in hex. */
void text_put_flags(struct text *t, const struct flag_set *set, u64 value);

/* Writes the name of a value, or the value in hex and strace's text for such a one. */
void text_put_name(struct text *t, const struct flag_set *set, u32 value);

/* Writes flags that have a size of huge pages in the upper six bits; 0: none is given. */
void text_put_huge(struct text *t, const struct flag_set *set, u32 value, const char *prefix);

/* The name of a value; NULL: it has none. */
const char *flag_name_of(const struct flag_name *names, u64 value);

/* Writes one kind of argument: `args` are all arguments of the call, i is the one to write. */
typedef void shape_fn(struct text *t, const struct flag_set *set, const u64 *args, int i);

shape_fn shape_mode, shape_map_offset; /* permissions in octal; an offset in hex */
/* syscall_shapes_rare.c */
shape_fn shape_ipc_key, shape_ipc_flags, shape_ipc_command, shape_mempolicy_mode;
shape_fn shape_fanotify_init, shape_pages, shape_ioprio, shape_keyring, shape_personality;
shape_fn shape_kcmp_index, shape_socketcall, shape_quota_command, shape_seccomp_flags,
	shape_swap_flags, shape_syslog_action;

/* Writes argument i, which has this kind, of all arguments of a call. */
void argument_put(struct text *t, enum argument_kind kind, const u64 args[6], int i);

#endif
