/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments as text. RECORD_SYSCALLS names the kind of each argument; the
 * table `kinds` below says how a kind is written: a static function and,
 * where it has names, a set of flags. A kind without a row is written in hex.
 */
#include "model/syscall_format.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "model/syscall_flags.h"

/* ---- the kinds that the list of calls uses ---- */

#define ARGUMENT_KINDS(K)                                                                          \
	K(address) K(dirfd) K(fd) K(hex) K(int) K(lhex) K(long) K(map_offset) K(mode) K(offset)    \
	K(path) K(pid) K(size) K(uid) K(uint) K(ulong) K(unused) K(device) K(ipc_key)              \
	K(shm_get_flags) K(sem_get_flags) K(msg_get_flags) K(socket_type) K(socket_protocol)       \
	K(socket_option) K(futex_operation) K(futex_timeout) K(futex_value3) K(fcntl_argument)     \
	K(ioctl_argument) K(bpf_command) K(delete_module_flags) K(fanotify_event_flags)            \
	K(fanotify_init_flags) K(fanotify_mark_flags) K(fanotify_mask) K(finit_module_flags)       \
	K(fsconfig_command) K(fsmount_flags) K(fsopen_flags) K(fspick_flags) K(futex2_flags)       \
	K(handle_flags) K(io_uring_register_operation) K(ioprio) K(ioprio_who) K(kcmp_type)        \
	K(kexec_file_flags) K(kexec_flags) K(keyctl_operation) K(keyring) K(landlock_flags)        \
	K(landlock_rule) K(mbind_flags) K(membarrier_command) K(memfd_secret_flags)                \
	K(mempolicy_flags) K(mempolicy_mode) K(mlock_flags) K(mount_attributes) K(mount_flags)     \
	K(move_mount_flags) K(move_pages_flags) K(msg_command) K(msg_flags) K(open_tree_flags)     \
	K(perf_flags) K(personality) K(pidfd_flags) K(pkey_rights) K(ptrace_request)               \
	K(reboot_command) K(reboot_magic) K(reboot_magic2) K(rseq_flags) K(seccomp_flags)          \
	K(seccomp_operation) K(sem_command) K(setns_flags) K(shadow_stack_flags) K(shm_at_flags)   \
	K(shm_command) K(swap_flags) K(syslog_action) K(umount_flags) K(userfaultfd_flags)         \
	K(xattr_flags)

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

#define KINDS0()
#define KINDS1(a) ARG_##a
#define KINDS2(a, b) ARG_##a, ARG_##b
#define KINDS3(a, b, c) ARG_##a, ARG_##b, ARG_##c
#define KINDS4(a, b, c, d) ARG_##a, ARG_##b, ARG_##c, ARG_##d
#define KINDS5(a, b, c, d, e) ARG_##a, ARG_##b, ARG_##c, ARG_##d, ARG_##e
#define KINDS6(a, b, c, d, e, f) ARG_##a, ARG_##b, ARG_##c, ARG_##d, ARG_##e, ARG_##f
#define ROW(nr, name, nargs, fd, classes, kinds) [nr] = { KINDS##nargs kinds },
static const u8 call_kinds[SYSCALL_TABLE_SIZE][6] = { RECORD_SYSCALLS(ROW) };
#undef ROW

/* ---- writing ---- */

struct text {
	char *buf;
	size_t size, len;
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *format, ...)
{
	size_t left = t->len < t->size ? t->size - t->len : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(left ? t->buf + t->len : NULL, left, format, args);
	va_end(args);
	if (n > 0)
		t->len += (size_t)n;
}

static void put_flags(struct text *t, const struct flag_set *set, u32 value)
{
	u32 rest = value;
	bool any = false;

	for (const struct flag_name *f = set->names; f->name; f++) {
		if (f->value == 0 ? value == 0 : (rest & f->value) == f->value) {
			put(t, "%s%s", any ? "|" : "", f->name);
			rest &= ~(u32)f->value;
			any = true;
		}
	}
	if (any && rest)
		put(t, "|%#x", rest);
	else if (!any && rest)
		put(t, "%#x /* %s */", rest, set->unknown);
	else if (!any)
		put(t, "0");
}

static const char *name_of(const struct flag_name *names, u32 value)
{
	while (names->name && names->value != value)
		names++;
	return names->name;
}

static void put_name(struct text *t, const struct flag_set *set, u32 value)
{
	const char *name = name_of(set->names, value);

	if (name)
		put(t, "%s", name);
	else
		put(t, "%#x /* %s */", value, set->unknown);
}

#define F(set, mask, unknown) static const struct flag_set set_##set = { flags_##set, unknown };
SYSCALL_FLAG_SETS(F)
#undef F

/* ---- one function per shape: `args` are all arguments, i is the one to write ---- */

typedef void shape_fn(struct text *t, const struct flag_set *set, const u64 *args, int i);

static void shape_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put_flags(t, set, (u32)args[i]);
}

static void shape_name(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put_name(t, set, (u32)args[i]);
}

static void shape_address(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if (args[i])
		put(t, "%#" PRIx64, (uint64_t)args[i]);
	else
		put(t, "NULL");
}

static void shape_int(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put(t, "%d", (int)args[i]);
}

static void shape_uint(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put(t, "%u", (u32)args[i]);
}

static void shape_long(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put(t, "%" PRId64, (int64_t)args[i]);
}

static void shape_ulong(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put(t, "%" PRIu64, (uint64_t)args[i]);
}

static void shape_hex(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put(t, args[i] ? "%#x" : "%x", (u32)args[i]);
}

static void shape_lhex(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put(t, "%#" PRIx64, (uint64_t)args[i]);
}

static void shape_octal(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put(t, (u32)args[i] < 0100 ? "%03o" : "%#o", (u32)args[i]);
}

static void shape_dirfd(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((int)args[i] == AT_FDCWD)
		put(t, "AT_FDCWD");
	else
		put(t, "%d", (int)args[i]);
}

static void shape_statx_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 flags = (u32)args[i];

	if (flags & (AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC)) {
		put_flags(t, set, flags);
		return;
	}
	put(t, "AT_STATX_SYNC_AS_STAT");
	if (flags) {
		put(t, "|");
		put_flags(t, set, flags);
	}
}

static void shape_uid(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((u32)args[i] == UINT32_MAX)
		put(t, "-1");
	else
		put(t, "%u", (u32)args[i]);
}

static void shape_map_offset(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	put(t, args[i] ? "%#" PRIx64 : "%" PRIx64, (uint64_t)args[i]);
}

static void shape_open_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	static const char *const modes[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE" };
	u32 rest = (u32)args[i] & ~(u32)O_ACCMODE;

	put(t, "%s", modes[args[i] & O_ACCMODE]);
	for (const struct flag_name *f = set->names; f->name; f++) {
		if ((rest & f->value) == f->value && f->value) {
			put(t, "|%s", f->name);
			rest &= ~(u32)f->value;
		}
	}
	if (rest)
		put(t, "|%#x", rest);
}

static void shape_socket_type(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 flags = (u32)args[i] & ~15u;

	put_name(t, &set_socket_kind, (u32)args[i] & 15u);
	if (flags) {
		put(t, "|");
		put_flags(t, &set_socket_flags, flags);
	}
}

static void shape_socket_protocol(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 family = (u32)args[0];

	if (family == AF_INET || family == AF_INET6)
		put_name(t, &set_inet_protocol, (u32)args[i]);
	else if (family == AF_NETLINK)
		put_name(t, &set_netlink_protocol, (u32)args[i]);
	else
		put(t, "%u", (u32)args[i]);
}

static void shape_socket_option(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((u32)args[1] == SOL_SOCKET)
		put_name(t, &set_socket_options, (u32)args[i]);
	else if ((u32)args[1] == 6)
		put_name(t, &set_tcp_options, (u32)args[i]);
	else
		put(t, "%u", (u32)args[i]);
}

static void shape_signal(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const char *name = name_of(set->names, (u32)args[i]);

	if (name)
		put(t, "%s", name);
	else if ((u32)args[i] >= 32 && (u32)args[i] <= 64)
		put(t, args[i] == 32 ? "SIGRTMIN" : "SIGRT_%u", (u32)args[i] - 32);
	else
		put(t, "%d", (int)args[i]);
}

static void shape_clone_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 flags = (u32)args[i] & ~0xffu, signal = (u32)args[i] & 0xff;

	if (flags)
		put_flags(t, set, flags);
	if (flags && signal)
		put(t, "|");
	if (signal)
		shape_signal(t, &set_signal, (u64[]){ signal }, 0);
	if (!flags && !signal)
		put(t, "0");
}

static void shape_futex(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 op = (u32)args[i];
	const char *name = name_of(flags_futex_command, op & FUTEX_CMD_MASK);

	if (!name) {
		put(t, "%#x /* FUTEX_??? */", op);
		return;
	}
	put(t, "%s%s%s", name, op & FUTEX_PRIVATE_FLAG ? "_PRIVATE" : "",
	    op & FUTEX_CLOCK_REALTIME ? "|FUTEX_CLOCK_REALTIME" : "");
}

/* Commands whose fourth argument is a number and no time-out. */
static bool futex_requeues(u32 operation)
{
	u32 command = operation & FUTEX_CMD_MASK;

	return command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE ||
	       command == FUTEX_WAKE_OP || command == FUTEX_CMP_REQUEUE_PI;
}

static bool futex_has_bitset(u32 operation)
{
	u32 command = operation & FUTEX_CMD_MASK;

	return command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE_BITSET;
}

static void shape_futex_timeout(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if (futex_requeues((u32)args[1]))
		put(t, "%u", (u32)args[i]);
	else
		shape_address(t, set, args, i);
}

static void shape_futex_value3(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if (!futex_has_bitset((u32)args[1]))
		put(t, "%u", (u32)args[i]);
	else if ((u32)args[i] == FUTEX_BITSET_MATCH_ANY)
		put(t, "FUTEX_BITSET_MATCH_ANY");
	else
		shape_hex(t, set, args, i);
}

static void shape_fcntl_argument(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	switch ((u32)args[1]) {
	case F_SETFD:
		put_flags(t, &set_fd_flags, (u32)args[i]);
		break;
	case F_SETFL:
		shape_open_flags(t, &set_open_flags, args, i);
		break;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETOWN:
	case F_SETPIPE_SZ:
		put(t, "%d", (int)args[i]);
		break;
	default:
		put(t, "%#" PRIx64, (uint64_t)args[i]);
	}
}

static void shape_ioctl(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	static const char *const directions[] = { "_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
						  "_IOC_READ|_IOC_WRITE" };
	u32 r = (u32)args[i];
	const char *name = name_of(set->names, r);

	if (name)
		put(t, "%s", name);
	else
		put(t, "_IOC(%s, %#x, %#x, %#x)", directions[r >> 30], r >> 8 & 0xff, r & 0xff,
		    r >> 16 & 0x3fff);
}

/* ---- the table ---- */

static const struct argument_shape {
	shape_fn *write;
	const struct flag_set *set;
} shapes[ARG_KINDS] = {
	/* the sets whose values are not just flags or names stand in `special` */
#define F(set, mask, unknown) [ARG_##set] = { (mask) ? shape_flags : shape_name, &set_##set },
	SYSCALL_FLAG_SETS(F)
#undef F
	[ARG_address] = { shape_address, NULL },
	[ARG_path] = { shape_address, NULL },
	[ARG_ioctl_argument] = { shape_lhex, NULL },
	[ARG_fd] = { shape_int, NULL },
	[ARG_dirfd] = { shape_dirfd, NULL },
	[ARG_int] = { shape_int, NULL },
	[ARG_pid] = { shape_int, NULL },
	[ARG_uint] = { shape_uint, NULL },
	[ARG_long] = { shape_long, NULL },
	[ARG_offset] = { shape_long, NULL },
	[ARG_ulong] = { shape_ulong, NULL },
	[ARG_size] = { shape_ulong, NULL },
	[ARG_lhex] = { shape_lhex, NULL },
	[ARG_map_offset] = { shape_map_offset, NULL },
	[ARG_mode] = { shape_octal, NULL },
	[ARG_uid] = { shape_uid, NULL },
	[ARG_socket_type] = { shape_socket_type, NULL },
	[ARG_socket_protocol] = { shape_socket_protocol, NULL },
	[ARG_socket_option] = { shape_socket_option, NULL },
	[ARG_futex_operation] = { shape_futex, NULL },
	[ARG_futex_timeout] = { shape_futex_timeout, NULL },
	[ARG_futex_value3] = { shape_futex_value3, NULL },
	[ARG_fcntl_argument] = { shape_fcntl_argument, NULL },
};

static shape_fn *const special[ARG_KINDS] = {
	[ARG_open_flags] = shape_open_flags,
	[ARG_clone_flags] = shape_clone_flags,
	[ARG_signal] = shape_signal,
	[ARG_ioctl_request] = shape_ioctl,
	[ARG_statx_flags] = shape_statx_flags,
};

/* ---- calls of which an argument decides how many there are ---- */

static bool fcntl_has_argument(u32 command)
{
	static const u32 without[] = { F_GETFD, F_GETFL, F_GETOWN, F_GETSIG, F_GETLEASE,
				       F_GETPIPE_SZ, F_GET_SEALS };

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		if (without[i] == command)
			return false;
	}
	return true;
}

/* Of the futex commands: which have how many arguments. */
static int futex_arguments(u32 operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
		return 3;
	case FUTEX_WAIT:
	case FUTEX_LOCK_PI:
		return 4;
	case FUTEX_REQUEUE:
		return 5;
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		return 2;
	default:
		return 6;
	}
}

static int arguments_shown(u16 nr, int count, const u64 *args)
{
	for (int i = 0; i + 1 < count; i++) {
		u32 flags = (u32)args[i];

		if (call_kinds[nr][i] == ARG_open_flags && call_kinds[nr][i + 1] == ARG_mode &&
		    !(flags & O_CREAT) && (flags & O_TMPFILE) != O_TMPFILE)
			return i + 1;
	}
	if (nr == SYSCALL_NR_fcntl && !fcntl_has_argument((u32)args[1]))
		return 2;
	if (nr == SYSCALL_NR_mremap && !(args[3] & (MREMAP_FIXED | MREMAP_DONTUNMAP)))
		return 4;
	if (nr == SYSCALL_NR_futex)
		return futex_arguments((u32)args[1]);
	return count;
}

/* Arguments in the middle that the call does not look at. */
static bool argument_is_unused(u16 nr, int i, const u64 *args)
{
	if (call_kinds[nr][i] == ARG_unused)
		return true;
	if (nr != SYSCALL_NR_futex || !futex_has_bitset((u32)args[1]))
		return false;
	return i == 4 || (i == 3 && (args[1] & FUTEX_CMD_MASK) == FUTEX_WAKE_BITSET);
}

static void put_unknown(struct text *t, const u64 *args)
{
	for (int i = 0; i < 6; i++)
		put(t, "%s%#" PRIx64, i ? ", " : "", (uint64_t)args[i]);
}

static void put_arguments(struct text *t, u16 nr, const u64 *args)
{
	const u8 *kinds = call_kinds[nr];
	int count = 0, written = 0;

	while (count < 6 && kinds[count] != ARG_none)
		count++;
	count = arguments_shown(nr, count, args);
	for (int i = 0; i < count; i++) {
		const struct argument_shape *shape = &shapes[kinds[i]];
		shape_fn *write = special[kinds[i]] ? special[kinds[i]] : shape->write;

		if (argument_is_unused(nr, i, args))
			continue;
		if (written++)
			put(t, ", ");
		(write ? write : shape_hex)(t, shape->set, args, i);
	}
}

size_t syscall_args_format(char *buf, size_t size, const struct record_syscall *r)
{
	const u64 args[6] = { r->arg0, r->arg1, r->arg2, r->arg3, r->arg4, r->arg5 };
	struct text t = { .buf = buf, .size = size };

	if (size)
		buf[0] = '\0';
	if (r->flags & SYSCALL_COMPAT || r->nr >= SYSCALL_TABLE_SIZE || !syscall_name(0, r->nr))
		put_unknown(&t, args);
	else
		put_arguments(&t, r->nr, args);
	return t.len;
}
