/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a call did to descriptors, for the programs of syscall.bpf.c alone. */
#ifndef BPF_SYSCALL_FILES_H
#define BPF_SYSCALL_FILES_H

#include "bpf/call.h"
#include "bpf/call_begin.h"
#include "bpf/fd.h"
#include "bpf/file.h"
#include "bpf/state.h"
#include "record/syscalls.h"

#define EINPROGRESS 115

const u8 fd_calls[SYSCALL_TABLE_SIZE] = FD_CALLS_INIT;

static __always_inline bool syscall_sends(u32 class)
{
	return class == FD_CALL_SEND || class == FD_CALL_SEND4;
}

/*
 * Whether the flags of a send say that it does not connect. Sends are frequent, and few connect.
 * Those of 32-bit programs are checked later.
 */
static __always_inline bool syscall_cannot_connect(u32 class, const struct thread_state *state,
						   struct pt_regs *regs)
{
	return !state->compat &&
	       !((class == FD_CALL_SEND ? regs->dx : regs->r10) & FD_SEND_CONNECTS);
}

static __always_inline bool syscall_only_sends(u32 class, const struct thread_state *state,
					       struct pt_regs *regs)
{
	return syscall_sends(class) &&
	       (state->file.kind != FILE_KIND_tcp || syscall_cannot_connect(class, state, regs));
}

/*
 * Whether the call reads an option of a socket that is no descriptor. Such calls are frequent.
 * Those of 32-bit programs are checked later.
 */
static __always_inline bool syscall_only_reads_option(u32 class, const struct thread_state *state,
						      struct pt_regs *regs)
{
	return class == FD_CALL_OPTION && !state->compat && (u32)regs->dx != FD_OPTION;
}

/* Whether the call writes the descriptors that it opened to where its fourth argument points. */
static __always_inline bool syscall_writes_to_fourth(u32 class)
{
	return class == FD_CALL_PAIR4 || class == FD_CALL_OPTION;
}

/* Whether the call may begin a connection that is established after its end. */
static __always_inline bool syscall_connects(u32 class)
{
	return class == FD_CALL_CONNECT || class == FD_CALL_SEND || class == FD_CALL_SEND4;
}

/* Records what the call did to descriptors, behind its own record. */
static __always_inline void syscall_files(struct thread_state *state, struct pt_regs *regs,
					  long result)
{
	u32 class = fd_calls[call_row_of(state)];
	u64 args[6], arg0;

	if (!record_files || !state->in_syscall || class == 0 || class == FD_CALL_CLOSE ||
	    syscall_only_sends(class, state, regs) ||
	    syscall_only_reads_option(class, state, regs) ||
	    ((class == FD_CALL_RIGHTS || class == FD_CALL_RIGHTS_MANY) &&
	     state->file.kind != FILE_KIND_unix) ||
	    (result < 0 && !(syscall_connects(class) && result == -EINPROGRESS)))
		return;
	call_arguments(args, regs, state->nr, state->compat);
	if (class == FD_CALL_SEND4) {
		class = FD_CALL_SEND;
		args[2] = args[3];
	}
	arg0 = syscall_writes_to_fourth(class) ? args[3] : args[0];
	if (state->compat)
		class |= FD_CALL_COMPAT;
	fd_after(class, arg0, args[1], args[2], result);
}

#endif
