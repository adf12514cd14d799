// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Records descriptors that are opened and closed, with the names of their files. Called by the
 * programs of syscall.bpf.c for the few calls that matter (fd_calls there).
 */
#include "bpf/fd.h"
#include "bpf/license.h"
#include "bpf/path.h"
#include "bpf/ring.h"
#include "bpf/socket.h"
#include "bpf/state.h"
#include "record/syscalls.h"

#define SOL_SOCKET 1
#define SCM_RIGHTS 1
#define SCM_PIDFD 4
#define CONTROLS_MAX 4
#define MESSAGES_MAX 16
#define RIGHTS_NAMED 64 /* of one call: each costs a walk to the root, with a CPU held up */

#define F_DUPFD 0
#define F_SETFD 2
#define F_DUPFD_CLOEXEC 1030
#define CLOSE_RANGE_UNSHARE 2
#define FD_MAX 0x7fffffff
#define CLOSE_RANGE_CLOEXEC 4

/* One buffer for each program that calls, since a program does not nest on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_scratch);
} fd_paths SEC(".maps");

static __always_inline u32 fd_name_put(struct path_scratch *scratch, struct task_struct *task,
				       u32 fd, s32 from, u8 op)
{
	struct file *file = file_of_fd(task, fd);

	fd_renewed(task, fd);
	if (!file || !scratch)
		return 0;
	fd_fill(scratch, task, file, fd, op);
	scratch->r.from = from;
	return fd_bytes(&scratch->r);
}

/* Records a descriptor that is open now, with its name. Not 0: the record was lost. */
__noinline int fd_name(u32 fd, s32 from, u8 op)
{
	struct path_scratch *scratch;
	u32 zero = 0, bytes;

	scratch = bpf_map_lookup_elem(&fd_paths, &zero);
	bytes = fd_name_put(scratch, bpf_get_current_task_btf(), fd, from, op);
	return scratch && bytes && !short_emit(&scratch->r.head, bytes);
}

/*
 * Fills the record of a descriptor that was just opened, in `fd_paths`. Returns its bytes, which
 * fd_name_emit() takes; 0: it is not open.
 */
__noinline int fd_name_fill(u32 fd)
{
	struct path_scratch *scratch;
	u32 zero = 0;

	scratch = bpf_map_lookup_elem(&fd_paths, &zero);
	return fd_name_put(scratch, bpf_get_current_task_btf(), fd, -1, FD_open);
}

__noinline int fd_name_emit(u32 bytes)
{
	struct path_scratch *scratch;
	u32 zero = 0;

	scratch = bpf_map_lookup_elem(&fd_paths, &zero);
	if (scratch && bytes)
		short_emit(&scratch->r.head, bytes);
	return 0;
}

/*
 * Records the addresses of a socket, once they are known; nothing if it is no socket. Not 0: the
 * record was lost.
 */
__noinline int fd_socket(u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file = file_of_fd(task, fd);
	struct socket_scratch *scratch;
	u32 zero = 0;
	u64 bytes;

	scratch = bpf_map_lookup_elem(&fd_paths, &zero);
	if (!file || !scratch)
		return 0;
	bytes = socket_fill(scratch, task, file);
	return bytes && !rare_emit(&scratch->r.head, bytes);
}

/* Records a change without a name. */
static __noinline int fd_change(u32 fd, u32 from, u8 op, u8 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct {
		u8 bytes[128];
	} out = {};
	struct record_fd *r = (void *)&out;

	r->head.kind = RECORD_fd;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->fd = fd;
	r->from = from;
	r->op = op;
	r->flags = flags;
	short_emit(&r->head, 64);
	return 0;
}

int fd_closes(u32 fd)
{
	return fd_change(fd, -1, FD_close, 0);
}

static __always_inline int fd_pair(u64 at, bool sockets)
{
	u32 fds[2] = {};

	if (bpf_probe_read_user(fds, sizeof(fds), (void *)at)) {
		ring_count_incomplete();
		return 0;
	}
	fd_name(fds[0], -1, FD_open);
	fd_name(fds[1], -1, FD_open);
	if (!sockets)
		return 0;
	fd_socket(fds[0]);
	return fd_socket(fds[1]);
}

/* Records the descriptor that the call wrote to an address, if it is open now. */
static __always_inline int fd_at(u64 at)
{
	u32 fd;

	if (bpf_probe_read_user(&fd, sizeof(fd), (void *)at)) {
		ring_count_incomplete();
		return 0;
	}
	return fd_name(fd, -1, FD_open);
}

/* Records the pidfd of a new process, in its maker. In the child the result is 0. */
static __always_inline int fd_of_child(u32 flags, u64 at)
{
	return flags & CLONE_PIDFD ? fd_at(at) : 0;
}

/* Does the same for clone3, which has both in memory, also in 32-bit programs. */
static __always_inline int fd_of_child3(u64 args)
{
	struct {
		u64 flags, pidfd;
	} asked;

	if (bpf_probe_read_user(&asked, sizeof(asked), (void *)args)) {
		ring_count_incomplete();
		return 0;
	}
	return fd_of_child(asked.flags, asked.pidfd);
}

static __always_inline int fd_control(u64 fd, u64 command, u64 value, long result)
{
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		return fd_name(result, fd, FD_dup);
	if (command == F_SETFD)
		return fd_change(fd, -1, FD_cloexec, value & 1 ? FD_CLOEXEC_SET : 0);
	return 0;
}

static __always_inline int fd_range(u64 first, u64 last, u64 flags)
{
	if (flags & CLOSE_RANGE_UNSHARE)
		fd_change(-1, -1, FD_unshare, 0);
	if (last > FD_MAX)
		last = FD_MAX;
	if (flags & CLOSE_RANGE_CLOEXEC)
		return fd_change(first, last, FD_cloexec, FD_CLOEXEC_SET);
	return fd_change(first, last, FD_close_range, 0);
}

/* ---- descriptors that came with a message (SCM_RIGHTS) ---- */

/* The fields that are needed of a message header and of a control message header. */
struct message_end {
	u64 control, control_len;
};

struct message_native {
	u64 name, name_len, parts, parts_count;
	struct message_end end;
	u64 flags;
};

struct message_compat_end {
	u32 control, control_len;
};

struct message_compat {
	u32 name, name_len, parts, parts_count;
	struct message_compat_end end;
	u32 flags;
};

struct control_native {
	u64 len; /* with its header */
	s32 level, type;
};

struct control_compat {
	u32 len;
	s32 level, type;
};

/* One buffer, since call chains are deep here: 32-bit fields are widened in place. */
union message {
	struct message_end end;
	struct message_compat_end compat;
};

union control {
	struct control_native header;
	struct control_compat compat;
};

static __always_inline long message_read(union message *m, u64 address, bool compat)
{
	long err;

	if (!compat)
		return bpf_probe_read_user(
			&m->end, sizeof(m->end),
			(void *)(address + __builtin_offsetof(struct message_native, end)));
	err = bpf_probe_read_user(
		&m->compat, sizeof(m->compat),
		(void *)(address + __builtin_offsetof(struct message_compat, end)));
	m->end = (struct message_end){m->compat.control, m->compat.control_len};
	return err;
}

static __always_inline long control_read(union control *c, u64 address, bool compat)
{
	long err;

	if (!compat)
		return bpf_probe_read_user(&c->header, sizeof(c->header), (void *)address);
	err = bpf_probe_read_user(&c->compat, sizeof(c->compat), (void *)address);
	c->header = (struct control_native){c->compat.len, c->compat.level, c->compat.type};
	return err;
}

/* The descriptors that a call received: how many were told, and whether there are more. */
struct rights {
	u32 named;
	u32 is_cut;
};

/*
 * Records the descriptors of one control message. This and fd_message() are not static: so the
 * verifier checks each once, and not for each turn of the loops around, which is too much for
 * kernels before 6.4.
 */
__noinline int fd_rights(struct rights *rights, u64 at, u64 end)
{
	s32 fd;

	if (!rights)
		return 0;
	for (int i = 0; i < RIGHTS_NAMED && at + sizeof(fd) <= end; i++, at += sizeof(fd)) {
		if (rights->named >= RIGHTS_NAMED)
			break;
		if (bpf_probe_read_user(&fd, sizeof(fd), (void *)at))
			break;
		rights->named++;
		fd_name(fd, -1, FD_open);
		fd_socket(fd);
	}
	if (at + sizeof(fd) <= end)
		rights->is_cut = 1;
	return 0;
}

static __always_inline bool control_has_fds(const union control *c)
{
	return c->header.level == SOL_SOCKET &&
	       (c->header.type == SCM_RIGHTS || c->header.type == SCM_PIDFD);
}

static __always_inline u64 control_align(u32 compat)
{
	return compat ? 3 : 7;
}

static __always_inline u64 control_size(u32 compat)
{
	return compat ? sizeof(struct control_compat) : sizeof(struct control_native);
}

/* Records the descriptors in the control messages of a received message. */
__noinline int fd_message(u64 address, u32 compat, struct rights *rights)
{
	u64 header, at, end;
	union control control = {};
	union message m = {};

	if (!rights)
		return 0;
	if (message_read(&m, address, compat)) {
		rights->is_cut = 1;
		return 0;
	}
	at = m.end.control;
	end = at + m.end.control_len;
	header = control_size(compat);
	for (int i = 0; i < CONTROLS_MAX && at + header <= end; i++) {
		barrier_var(compat); /* computed again: the stack is short */
		if (control_read(&control, at, compat))
			break;
		if (control.header.len < header || control.header.len > end - at)
			return 0; /* the program's own, or the end */
		if (control_has_fds(&control))
			fd_rights(rights, at + header, at + control.header.len);
		at += (control.header.len + control_align(compat)) & ~control_align(compat);
	}
	if (at + header <= end)
		rights->is_cut = 1;
	return 0;
}

static __always_inline int fd_messages(u64 address, long count, u32 compat)
{
	/* each is followed by its length */
	u64 size = compat ? sizeof(struct message_compat) + 4 : sizeof(struct message_native) + 8;
	struct rights rights = {};

	for (int i = 0; i < MESSAGES_MAX && i < count; i++)
		fd_message(address + i * size, compat, &rights);
	if (count > MESSAGES_MAX || rights.is_cut)
		ring_count_incomplete();
	return 0;
}

/* The commands of bpf(2) whose result is a descriptor. */
#define BPF_COMMANDS                                                                               \
	(1ull << 0 | 1ull << 5 | 1ull << 7 | 1ull << 13 | 1ull << 14 | 1ull << 17 | 1ull << 18 |   \
	 1ull << 19 | 1ull << 28 | 1ull << 30 | 1ull << 32 | 1ull << 33 | 1ull << 36)

/* Whether the result of an ioctl is a descriptor, for the requests that programs use. */
static __always_inline bool ioctl_opens(u32 request)
{
	return request == 0x5441 /* TIOCGPTPEER */ || request == 0xaa00 /* USERFAULTFD_IOC_NEW */ ||
	       request == 0xb701 /* NS_GET_USERNS */ || request == 0xb702 /* NS_GET_PARENT */ ||
	       (request >= 0xff01 && request <= 0xff0a) /* PIDFD_GET_..._NAMESPACE */ ||
	       request == 0xae01 /* KVM_CREATE_VM */ || request == 0xae41 /* KVM_CREATE_VCPU */;
}

/* Records what a call of class `class` did that did not fail. */
int fd_after(u32 class, u64 arg0, u64 arg1, u64 arg2, long result)
{
	switch (class & FD_CALL_MASK) {
	case FD_CALL_RESULT:
		return fd_name(result, -1, FD_open);
	case FD_CALL_ACCEPT:
		fd_name(result, -1, FD_open);
		return fd_socket(result);
	case FD_CALL_CONNECT:
		return fd_socket(arg0);
	case FD_CALL_DUP:
		return fd_name(result, arg0, FD_dup);
	case FD_CALL_PAIR:
	case FD_CALL_PAIR4: /* arg0 is where */
		return fd_pair(arg0, (class & FD_CALL_MASK) == FD_CALL_PAIR4);
	case FD_CALL_RANGE:
		return fd_range(arg0, arg1, arg2);
	case FD_CALL_CONTROL:
		return fd_control(arg0, arg1, arg2, result);
	case FD_CALL_IOCTL:
		return ioctl_opens(arg1) ? fd_name(result, -1, FD_open) : 0;
	case FD_CALL_BPF:
		return arg0 < 64 && (BPF_COMMANDS >> (arg0 & 63) & 1) ? fd_name(result, -1, FD_open)
								      : 0;
	case FD_CALL_RIGHTS:
		return fd_messages(arg1, 1, class & FD_CALL_COMPAT);
	case FD_CALL_RIGHTS_MANY:
		return fd_messages(arg1, result, class & FD_CALL_COMPAT);
	case FD_CALL_SEND:
		return arg2 & FD_SEND_CONNECTS ? fd_socket(arg0) : 0;
	case FD_CALL_SECCOMP: /* SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER */
		return arg0 == 1 && (arg1 & 8) ? fd_name(result, -1, FD_open) : 0;
	case FD_CALL_CLONE:
		return result ? fd_of_child(arg0, arg2) : 0;
	case FD_CALL_CLONE3:
		return result ? fd_of_child3(arg0) : 0;
	case FD_CALL_OPTION: /* arg0 is where */
		return (u32)arg1 == FD_OPTION_LEVEL && (u32)arg2 == FD_OPTION ? fd_at(arg0) : 0;
	case FD_CALL_UNSHARE:
		return arg0 & CLONE_FILES ? fd_change(-1, -1, FD_unshare, 0) : 0;
	}
	return 0;
}
