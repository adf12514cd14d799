/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The end of a call that a signal has interrupted. */
#ifndef BPF_SYSCALL_H
#define BPF_SYSCALL_H

#include "bpf/thread_state.h"

/*
 * Ends the call of the running thread, which a signal has interrupted. The call fails if a handler
 * is about to run (`handled`, with the flags of its action), unless it will begin again behind it.
 */
int call_interrupted(bool handled, u64 flags);

#endif
