// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Global functions, for the verifier: few threads that go to sleep have a client. */
#include "bpf/in_request.h"
#include "bpf/license.h"

#define SIDES_SERVED (FILE_LISTENS | FILE_ACCEPTED)

/* Whether the thread waits for clients again: whatever it has read is done. */
static __always_inline bool call_waits_for_clients(const struct thread_state *state)
{
	switch (state->row) {
	case SYSCALL_NR_epoll_wait:
	case SYSCALL_NR_epoll_pwait:
	case SYSCALL_NR_epoll_pwait2:
	case SYSCALL_NR_accept:
	case SYSCALL_NR_accept4:
		return true;
	case SYSCALL_NR_futex:
	case SYSCALL_NR_write:
	case SYSCALL_NR_writev:
	case SYSCALL_NR_sendto:
	case SYSCALL_NR_sendmsg:
	case SYSCALL_NR_sendfile:
		return false;
	}
	return state->file.kind >= FILE_KIND_tcp && state->file.kind <= FILE_KIND_unix &&
	       state->file.flags & SIDES_SERVED;
}

__noinline int in_request(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_known(task);
	u16 flag;

	if (!state)
		return 0;
	flag = in_request_flag(state, task, state->row, state->args[0]);
	if (!flag && state->request && call_waits_for_clients(state))
		state->request = 0;
	return flag;
}

__noinline int in_request_find(u64 sk_at)
{
	struct thread_state *state = state_known(bpf_get_current_task_btf());
	struct sock *sk = (struct sock *)sk_at;

	if (state)
		state->client_epoll = socket_epoll(sk, KERNEL_READ(sk, sk_socket, file));
	return 0;
}

__noinline int in_request_woken(u64 task_at, u32 epoll_fd, u32 fd, u32 flags)
{
	struct task_struct *task = (struct task_struct *)task_at;
	struct thread_state *state;

	if (!fd || !(flags & FILE_ACCEPTED))
		return 0;
	state = state_place(task);
	if (!state_is_placed(state, task)) /* one that is kept apart needs more than an address */
		return 0;
	state->serves = 1;
	state->client_epoll = epoll_of_fd(task, epoll_fd);
	return 0;
}
