// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * What the memory behind an argument of a call holds, read when the call ends: its page is in
 * memory then, as the kernel itself has just read it.
 */
#include "bpf/call_memory.h"
#include "bpf/call.h"
#include "bpf/license.h"
#include "bpf/state.h"

#define POLLS_MAX 32 /* of more, only so many are looked at */
#define POLL_READY_SHIFT 48
#define VECTORS_MAX 6

/* The rest of a call's arguments, from `from` on. */
static __always_inline u64 *memory_room(struct thread_state *state, u64 at)
{
	BOUND(at, 7);
	if (at > CALL_MEMORY_ARGS - 1)
		at = CALL_MEMORY_ARGS - 1;
	return &state->args[at];
}

static __always_inline void memory_polls(struct thread_state *state, const u64 args[6], u64 from,
					 long result)
{
	u64 count = (u32)args[1], at = from;

	for (u64 i = 0; i < POLLS_MAX; i++) {
		u64 polled = 0;

		if (i >= count || at >= CALL_MEMORY_ARGS ||
		    bpf_probe_read_user(&polled, sizeof(polled), (void *)(args[0] + 8 * i)))
			return;
		if (count > CALL_MEMORY_ARGS - from && result > 0 && !(polled >> POLL_READY_SHIFT))
			continue;
		*memory_room(state, at) = polled;
		at++;
	}
}

static __always_inline u64 memory_size(u64 bytes)
{
	return bytes >= CALL_MEMORY_SIZE_MAX ? CALL_MEMORY_SIZE_MAX : bytes + 1;
}

static __always_inline void memory_vectors(struct thread_state *state, const u64 args[6], u64 from)
{
	u64 count = args[2];

	for (u64 i = 0; i < VECTORS_MAX; i++) {
		u64 vector[2] = {}, at = from + i / 2, *room;

		if (i >= count || at >= CALL_MEMORY_ARGS ||
		    bpf_probe_read_user(vector, sizeof(vector),
					(void *)(args[1] + sizeof(vector) * i)))
			return;
		room = memory_room(state, at);
		*room |= memory_size(vector[1]) << (i & 1 ? 32 : 0);
	}
}

/* Not static, so that the verifier looks at it once. */
__noinline int call_memory_read(struct thread_state *state, long result)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	u64 args[6];

	if (!state)
		return 0;
	call_registers(args, regs, false);
	state->args[3] = state->args[4] = state->args[5] = 0;
	switch (state->row) {
	case SYSCALL_NR_poll:
		memory_polls(state, args, 3, result);
		break;
	case SYSCALL_NR_ppoll:
		state->args[3] = args[3];
		state->args[4] = args[4];
		memory_polls(state, args, 5, result);
		break;
	case SYSCALL_NR_readv:
	case SYSCALL_NR_writev:
		memory_vectors(state, args, 3);
		break;
	case SYSCALL_NR_preadv:
	case SYSCALL_NR_pwritev:
		state->args[3] = args[3];
		memory_vectors(state, args, 4);
		break;
	}
	return 0;
}
