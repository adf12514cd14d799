/* SPDX-License-Identifier: Apache-2.0 */
#include "model/syscall_shapes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "record/syscalls_compat.h"

/* ---- writing ---- */

void text_put(struct text *t, const char *format, ...)
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

/* With three digits where a digit follows, else with as few as will do. */
static void put_octal(struct text *t, unsigned char c, char next)
{
	text_put(t, next >= '0' && next <= '9' ? "\\%03o" : "\\%o", c);
}

void text_put_quoted(struct text *t, const char *string, bool cut)
{
	static const char plain[] = "\"\\\t\n\v\f\r", letters[] = "\"\\tnvfr";

	text_put(t, "\"");
	for (const char *c = string; *c; c++) {
		const char *known = strchr(plain, *c);

		if (known)
			text_put(t, "\\%c", letters[known - plain]);
		else if (*c >= ' ' && *c <= '~')
			text_put(t, "%c", *c);
		else
			put_octal(t, (unsigned char)*c, c[1]);
	}
	text_put(t, cut ? "\"..." : "\"");
}

static void put_flags(struct text *t, const struct flag_set *set, u32 value)
{
	u32 rest = value;
	bool any = false;

	for (const struct flag_name *f = set->names; f->name; f++) {
		if (f->value == 0 ? value == 0 : (rest & f->value) == f->value) {
			text_put(t, "%s%s", any ? "|" : "", f->name);
			rest &= ~(u32)f->value;
			any = true;
		}
	}
	if (any && rest)
		text_put(t, "|%#x", rest);
	else if (!any && rest)
		text_put(t, "%#x /* %s */", rest, set->unknown);
	else if (!any)
		text_put(t, "0");
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
		text_put(t, "%s", name);
	else
		text_put(t, "%#x /* %s */", value, set->unknown);
}

#define F(set, mask, unknown) static const struct flag_set set_##set = {flags_##set, unknown};
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
		text_put(t, "%#" PRIx64, (uint64_t)args[i]);
	else
		text_put(t, "NULL");
}

static void shape_int(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, "%d", (int)args[i]);
}

static void shape_uint(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, "%u", (u32)args[i]);
}

static void shape_long(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, "%" PRId64, (int64_t)args[i]);
}

static void shape_ulong(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, "%" PRIu64, (uint64_t)args[i]);
}

static void shape_hex(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, args[i] ? "%#x" : "%x", (u32)args[i]);
}

static void shape_lhex(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, "%#" PRIx64, (uint64_t)args[i]);
}

static void shape_octal(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, (u32)args[i] < 0100 ? "%03o" : "%#o", (u32)args[i]);
}

static void shape_dirfd(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((int)args[i] == AT_FDCWD)
		text_put(t, "AT_FDCWD");
	else
		text_put(t, "%d", (int)args[i]);
}

static void shape_statx_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 flags = (u32)args[i];

	if (flags & (AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC)) {
		put_flags(t, set, flags);
		return;
	}
	text_put(t, "AT_STATX_SYNC_AS_STAT");
	if (flags) {
		text_put(t, "|");
		put_flags(t, set, flags);
	}
}

static void shape_uid(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((u32)args[i] == UINT32_MAX)
		text_put(t, "-1");
	else
		text_put(t, "%u", (u32)args[i]);
}

static void shape_map_offset(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, args[i] ? "%#" PRIx64 : "%" PRIx64, (uint64_t)args[i]);
}

static void shape_open_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	static const char *const modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};
	u32 rest = (u32)args[i] & ~(u32)O_ACCMODE;

	text_put(t, "%s", modes[args[i] & O_ACCMODE]);
	for (const struct flag_name *f = set->names; f->name; f++) {
		if ((rest & f->value) == f->value && f->value) {
			text_put(t, "|%s", f->name);
			rest &= ~(u32)f->value;
		}
	}
	if (rest)
		text_put(t, "|%#x", rest);
}

static void shape_socket_type(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 flags = (u32)args[i] & ~15u;

	put_name(t, &set_socket_kind, (u32)args[i] & 15u);
	if (flags) {
		text_put(t, "|");
		put_flags(t, &set_socket_flags, flags);
	}
}

static void shape_socket_protocol(struct text *t, const struct flag_set *set, const u64 *args,
				  int i)
{
	u32 family = (u32)args[0];

	if (family == AF_INET || family == AF_INET6)
		put_name(t, &set_inet_protocol, (u32)args[i]);
	else if (family == AF_NETLINK)
		put_name(t, &set_netlink_protocol, (u32)args[i]);
	else
		text_put(t, "%u", (u32)args[i]);
}

static void shape_socket_option(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((u32)args[1] == SOL_SOCKET)
		put_name(t, &set_socket_options, (u32)args[i]);
	else if ((u32)args[1] == IPPROTO_TCP)
		put_name(t, &set_tcp_options, (u32)args[i]);
	else if ((u32)args[1] == IPPROTO_IP)
		put_name(t, &set_ip_options, (u32)args[i]);
	else if ((u32)args[1] == IPPROTO_IPV6)
		put_name(t, &set_ipv6_options, (u32)args[i]);
	else
		text_put(t, "%u", (u32)args[i]);
}

static void shape_signal(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const char *name = name_of(set->names, (u32)args[i]);

	if (name)
		text_put(t, "%s", name);
	else if ((u32)args[i] >= 32 && (u32)args[i] <= 64)
		text_put(t, args[i] == 32 ? "SIGRTMIN" : "SIGRT_%u", (u32)args[i] - 32);
	else
		text_put(t, "%d", (int)args[i]);
}

static void shape_clone_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 flags = (u32)args[i] & ~0xffu, signal = (u32)args[i] & 0xff;

	if (flags)
		put_flags(t, set, flags);
	if (flags && signal)
		text_put(t, "|");
	if (signal)
		shape_signal(t, &set_signal, (u64[]){signal}, 0);
	if (!flags && !signal)
		text_put(t, "0");
}

/* Of the others the kernel takes no clock. */
static bool futex_waits(u32 operation)
{
	u32 command = operation & FUTEX_CMD_MASK;

	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET ||
	       command == FUTEX_WAIT_REQUEUE_PI || command == FUTEX_LOCK_PI2;
}

static void shape_futex(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 op = (u32)args[i];
	const char *name = name_of(flags_futex_command, op & FUTEX_CMD_MASK);

	if (!name || (op & FUTEX_CLOCK_REALTIME && !futex_waits(op))) {
		text_put(t, "%#x /* FUTEX_??? */", op);
		return;
	}
	text_put(t, "%s%s%s", name, op & FUTEX_PRIVATE_FLAG ? "_PRIVATE" : "",
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
		text_put(t, "%u", (u32)args[i]);
	else
		shape_address(t, set, args, i);
}

static void shape_futex_value3(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if (!futex_has_bitset((u32)args[1]))
		text_put(t, "%u", (u32)args[i]);
	else if ((u32)args[i] == FUTEX_BITSET_MATCH_ANY)
		text_put(t, "FUTEX_BITSET_MATCH_ANY");
	else
		shape_hex(t, set, args, i);
}

static void shape_prctl_argument(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	switch ((u32)args[0]) {
	case PR_SET_PDEATHSIG:
		shape_signal(t, &set_signal, args, i);
		break;
	case PR_SET_KEEPCAPS:
	case PR_SET_TIMERSLACK:
	case PR_SET_NO_NEW_PRIVS:
	case PR_SET_CHILD_SUBREAPER:
	case PR_SET_THP_DISABLE:
		shape_ulong(t, set, args, i);
		break;
	default:
		shape_lhex(t, set, args, i);
	}
}

static void shape_fcntl_argument(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	switch ((u32)args[1]) {
	case F_SETFD:
		put_flags(t, &set_fd_flags, (u32)args[i]);
		break;
	case F_ADD_SEALS:
		put_flags(t, &set_seals, (u32)args[i]);
		break;
	case F_SETLEASE:
		put_name(t, &set_lease, (u32)args[i]);
		break;
	case F_SETSIG:
		shape_signal(t, &set_signal, args, i);
		break;
	case F_SETFL:
		shape_open_flags(t, &set_open_flags, args, i);
		break;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETOWN:
	case F_SETPIPE_SZ:
		text_put(t, "%d", (int)args[i]);
		break;
	default:
		text_put(t, "%#" PRIx64, (uint64_t)args[i]);
	}
}

static void shape_ioctl(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	static const char *const directions[] = {"_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
						 "_IOC_READ|_IOC_WRITE"};
	u32 r = (u32)args[i];
	const char *name = name_of(set->names, r);

	if (name)
		text_put(t, "%s", name);
	else
		text_put(t, "_IOC(%s, %#x, %#x, %#x)", directions[r >> 30], r >> 8 & 0xff, r & 0xff,
			 r >> 16 & 0x3fff);
}

static void shape_socketcall(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
#define ROW(call, name, native) [call] = "SYS_" #name,
	static const char *const names[SYSCALL_SOCKETCALLS] = {RECORD_SOCKETCALLS(ROW)};
#undef ROW
	const char *name = args[i] < SYSCALL_SOCKETCALLS ? names[args[i]] : NULL;

	if (name)
		text_put(t, "%s", name);
	else
		text_put(t, "%" PRIu64, (uint64_t)args[i]);
}

static void shape_ipc_key(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((u32)args[i])
		text_put(t, "%#x", (u32)args[i]);
	else
		text_put(t, "IPC_PRIVATE");
}

/* Flags, and in the low bits who may use what is made. */
static void shape_ipc_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const u64 mode = args[i] & 0777;
	u32 flags = (u32)args[i] & ~0777u;

	if (flags) {
		put_flags(t, set, flags);
		text_put(t, "|");
	}
	shape_octal(t, NULL, &mode, 0);
}

/* An offset that counts pages. */
static void shape_pages(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const u64 offset = args[i] << 12;

	shape_map_offset(t, set, &offset, 0);
}

/* ---- the table ---- */

static const struct argument_shape {
	shape_fn *write;
	const struct flag_set *set;
} shapes[ARG_KINDS] = {
/* the sets whose values are not just flags or names stand in `special` */
#define F(set, mask, unknown) [ARG_##set] = {(mask) ? shape_flags : shape_name, &set_##set},
	SYSCALL_FLAG_SETS(F)
#undef F
		[ARG_address] = {shape_address, NULL},
	[ARG_path] = {shape_address, NULL},
	[ARG_ioctl_argument] = {shape_lhex, NULL},
	[ARG_fd] = {shape_int, NULL},
	[ARG_dirfd] = {shape_dirfd, NULL},
	[ARG_int] = {shape_int, NULL},
	[ARG_pid] = {shape_int, NULL},
	[ARG_uint] = {shape_uint, NULL},
	[ARG_long] = {shape_long, NULL},
	[ARG_offset] = {shape_long, NULL},
	[ARG_ulong] = {shape_ulong, NULL},
	[ARG_size] = {shape_ulong, NULL},
	[ARG_lhex] = {shape_lhex, NULL},
	[ARG_map_offset] = {shape_map_offset, NULL},
	[ARG_mode] = {shape_octal, NULL},
	[ARG_uid] = {shape_uid, NULL},
	[ARG_socket_type] = {shape_socket_type, NULL},
	[ARG_socket_protocol] = {shape_socket_protocol, NULL},
	[ARG_socket_option] = {shape_socket_option, NULL},
	[ARG_futex_operation] = {shape_futex, NULL},
	[ARG_futex_timeout] = {shape_futex_timeout, NULL},
	[ARG_futex_value3] = {shape_futex_value3, NULL},
	[ARG_fcntl_argument] = {shape_fcntl_argument, NULL},
	[ARG_prctl_argument] = {shape_prctl_argument, NULL},
	[ARG_socketcall] = {shape_socketcall, NULL},
	[ARG_pages] = {shape_pages, NULL},
	[ARG_ipc_key] = {shape_ipc_key, NULL},
	[ARG_setns_flags] = {shape_flags, &set_unshare_flags},
};

static shape_fn *const special[ARG_KINDS] = {
	[ARG_open_flags] = shape_open_flags,   [ARG_clone_flags] = shape_clone_flags,
	[ARG_signal] = shape_signal,	       [ARG_ioctl_request] = shape_ioctl,
	[ARG_statx_flags] = shape_statx_flags, [ARG_shm_get_flags] = shape_ipc_flags,
	[ARG_sem_get_flags] = shape_ipc_flags, [ARG_msg_get_flags] = shape_ipc_flags,
};

void argument_put(struct text *t, enum argument_kind kind, const u64 args[6], int i)
{
	const struct argument_shape *shape = &shapes[kind];
	shape_fn *write = special[kind] ? special[kind] : shape->write;

	(write ? write : shape_hex)(t, shape->set, args, i);
}
