/* SPDX-License-Identifier: Apache-2.0 */
#include "model/syscall_shapes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

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

/* Octal, with three digits if a digit follows, otherwise with as few as possible. */
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

void text_put_flags(struct text *t, const struct flag_set *set, u64 value)
{
	u64 rest = value;
	bool any = false;

	for (const struct flag_name *f = set->names; f->name; f++) {
		if (f->value == 0 ? value == 0 : (rest & f->value) == f->value) {
			text_put(t, "%s%s", any ? "|" : "", f->name);
			rest &= ~f->value;
			any = true;
		}
	}
	if (any && rest)
		text_put(t, "|%#" PRIx64, (uint64_t)rest);
	else if (!any && rest && set->unknown)
		text_put(t, "%#" PRIx64 " /* %s */", (uint64_t)rest, set->unknown);
	else if (!any && rest)
		text_put(t, "%#" PRIx64, (uint64_t)rest);
	else if (!any)
		text_put(t, "0");
}

const char *flag_name_of(const struct flag_name *names, u64 value)
{
	while (names->name && names->value != value)
		names++;
	return names->name;
}

void text_put_name(struct text *t, const struct flag_set *set, u32 value)
{
	const char *name = flag_name_of(set->names, value);

	if (name)
		text_put(t, "%s", name);
	else
		text_put(t, "%#x /* %s */", value, set->unknown);
}

#define F(set, mask, unknown) const struct flag_set set_##set = {flags_##set, unknown};
SYSCALL_FLAG_SETS(F)
#undef F

void text_put_huge(struct text *t, const struct flag_set *set, u32 value, const char *prefix)
{
	u32 flags = value & 0x3ffffff, size = value >> 26;

	if (flags || !size)
		text_put_flags(t, set, flags);
	if (size)
		text_put(t, "%s%u<<%s_HUGE_SHIFT", flags ? "|" : "", size, prefix);
}

/* ---- one function per shape ---- */

static void shape_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put_flags(t, set, (u32)args[i]);
}

static void shape_flags_long(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put_flags(t, set, args[i]);
}

static void shape_name(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put_name(t, set, (u32)args[i]);
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

void shape_mode(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 mode = (u16)args[i]; /* the kernel reads no more */

	text_put(t, mode < 0100 ? "%03o" : "%#o", mode);
}

/* The mode of a new file: its type, its other bits by name, its permissions. */
static void shape_node_mode(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const u64 rights = args[i] & 0777;
	u32 type = (u32)args[i] & S_IFMT;
	const char *name = flag_name_of(flags_node_type, type);

	if (type && !name) {
		shape_mode(t, set, args, i);
		return;
	}
	if (name)
		text_put(t, "%s|", name);
	text_put(t, "%s%s%s", args[i] & S_ISUID ? "S_ISUID|" : "",
		 args[i] & S_ISGID ? "S_ISGID|" : "", args[i] & S_ISVTX ? "S_ISVTX|" : "");
	shape_mode(t, set, &rights, 0);
}

/* A device number of 32 bits, split as the kernel does. */
static void shape_device(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 device = (u32)args[i];

	text_put(t, "makedev(%#x, %#x)", device >> 8 & 0xfff,
		 (device & 0xff) | (device >> 12 & 0xfff00));
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
		text_put_flags(t, set, flags);
		return;
	}
	text_put(t, "AT_STATX_SYNC_AS_STAT");
	if (flags & 0x9b00) {
		text_put(t, "|");
		text_put_flags(t, set, flags);
	} else if (flags) {
		text_put(t, "|%#x", flags);
	}
}

static void shape_uid(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((u32)args[i] == UINT32_MAX)
		text_put(t, "-1");
	else
		text_put(t, "%u", (u32)args[i]);
}

void shape_map_offset(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, args[i] ? "%#" PRIx64 : "%" PRIx64, (uint64_t)args[i]);
}

static void shape_mmap_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	static const char *const types[] = {"MAP_FILE", "MAP_SHARED", "MAP_PRIVATE",
					    "MAP_SHARED_VALIDATE"};
	u32 type = (u32)args[i] & MAP_TYPE, flags = (u32)args[i] & ~(u32)MAP_TYPE;

	if (type < sizeof(types) / sizeof(types[0]))
		text_put(t, "%s", types[type]);
	else
		text_put(t, "%#x /* %s */", type, set->unknown);
	if (flags) {
		text_put(t, "|");
		text_put_huge(t, set, flags, "MAP");
	}
}

static void shape_memfd_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put_huge(t, set, (u32)args[i], "MFD");
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
	u32 type = (u32)args[i], flags = type & ~15u;
	const char *name = flag_name_of(flags_socket_kind, type & 15u);

	if (!name) {
		text_put_flags(t, &set_socket_flags, type);
		return;
	}
	text_put(t, flags ? "%s|" : "%s", name);
	if (flags)
		text_put_flags(t, &set_socket_flags, flags);
}

static void shape_socket_protocol(struct text *t, const struct flag_set *set, const u64 *args,
				  int i)
{
	u32 family = (u32)args[0];

	if (family == AF_INET || family == AF_INET6)
		text_put_name(t, &set_inet_protocol, (u32)args[i]);
	else if (family == AF_NETLINK)
		text_put_name(t, &set_netlink_protocol, (u32)args[i]);
	else
		text_put(t, "%" PRIu64, (uint64_t)args[i]);
}

static void shape_socket_option(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	static const struct {
		u32 level;
		const struct flag_set *set;
	} levels[] = {
		{SOL_SOCKET, &set_socket_options}, {IPPROTO_TCP, &set_tcp_options},
		{IPPROTO_IP, &set_ip_options},	   {IPPROTO_IPV6, &set_ipv6_options},
		{IPPROTO_UDP, &set_udp_options},   {SOL_NETLINK, &set_netlink_options},
		{SOL_PACKET, &set_packet_options},
	};

	for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++) {
		if (levels[l].level == (u32)args[1]) {
			text_put_name(t, levels[l].set, (u32)args[i]);
			return;
		}
	}
	text_put(t, "%u", (u32)args[i]);
}

static void shape_signal(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const char *name = flag_name_of(set->names, (u32)args[i]);

	if (name)
		text_put(t, "%s", name);
	else if ((u32)args[i] >= 32 && (u32)args[i] <= 64)
		text_put(t, args[i] == 32 ? "SIGRTMIN" : "SIGRT_%u", (u32)args[i] - 32);
	else
		text_put(t, "%d", (int)args[i]);
}

static void shape_clone_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u64 flags = args[i] & ~(u64)0xff;
	u32 signal = (u32)args[i] & 0xff;

	if (flags)
		text_put_flags(t, set, flags);
	if (flags && signal)
		text_put(t, "|");
	if (signal)
		shape_signal(t, &set_signal, (u64[]){signal}, 0);
	if (!flags && !signal)
		text_put(t, "0");
}

/* The kernel uses no clock for the other commands. */
static bool futex_waits(u32 operation)
{
	u32 command = operation & FUTEX_CMD_MASK;

	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET ||
	       command == FUTEX_WAIT_REQUEUE_PI || command == FUTEX_LOCK_PI2;
}

static void shape_futex(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 op = (u32)args[i];
	const char *name = flag_name_of(flags_futex_command, op & FUTEX_CMD_MASK);

	if (!name || (op & FUTEX_CLOCK_REALTIME && !futex_waits(op))) {
		text_put(t, "%#x /* FUTEX_??? */", op);
		return;
	}
	text_put(t, "%s%s%s", name, op & FUTEX_PRIVATE_FLAG ? "_PRIVATE" : "",
		 op & FUTEX_CLOCK_REALTIME ? "|FUTEX_CLOCK_REALTIME" : "");
}

/* Commands whose fourth argument is a number, not a time-out. */
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

/* The second argument of prctl. */
static void put_prctl_second(struct text *t, const struct flag_set *set, const u64 *args)
{
	switch ((u32)args[0]) {
	case PR_SET_PDEATHSIG:
		shape_signal(t, &set_signal, args, 1);
		break;
	case PR_SET_DUMPABLE:
		text_put_name(t, &set_dumpable, (u32)args[1]);
		break;
	case PR_SET_SECCOMP:
		text_put_name(t, &set_seccomp_mode, (u32)args[1]);
		break;
	case PR_SET_SECUREBITS:
		text_put_flags(t, &set_secure_bits, (u32)args[1]);
		break;
	case PR_CAPBSET_READ:
	case PR_CAPBSET_DROP:
		text_put_name(t, &set_capability, (u32)args[1]);
		break;
	case PR_CAP_AMBIENT:
		text_put_name(t, &set_ambient_command, (u32)args[1]);
		break;
	case PR_SET_TIMERSLACK:
		shape_long(t, set, args, 1);
		break;
	case PR_SET_NAME:
	case PR_GET_NAME:
	case PR_GET_PDEATHSIG:
	case PR_GET_CHILD_SUBREAPER:
	case PR_GET_TSC:
	case PR_GET_TID_ADDRESS:
		shape_address(t, set, args, 1);
		break;
	case PR_SET_TIMING:
	case PR_SET_KEEPCAPS:
	case PR_SET_NO_NEW_PRIVS:
	case PR_SET_CHILD_SUBREAPER:
	case PR_SET_THP_DISABLE:
		shape_ulong(t, set, args, 1);
		break;
	default:
		shape_lhex(t, set, args, 1);
	}
}

static void shape_prctl_argument(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if (i == 1)
		put_prctl_second(t, set, args);
	else if ((u32)args[0] == PR_CAP_AMBIENT && args[1] >= PR_CAP_AMBIENT_IS_SET &&
		 args[1] <= PR_CAP_AMBIENT_LOWER)
		text_put_name(t, &set_capability, (u32)args[i]);
	else
		shape_lhex(t, set, args, i);
}

static void shape_fcntl_argument(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	switch ((u32)args[1]) {
	case F_SETFD:
		text_put_flags(t, &set_fd_flags, (u32)args[i]);
		break;
	case F_ADD_SEALS:
		text_put_flags(t, &set_seals, (u32)args[i]);
		break;
	case F_SETLEASE:
		text_put_name(t, &set_lease, (u32)args[i]);
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
	const char *name = flag_name_of(set->names, r);

	if (name)
		text_put(t, "%s", name);
	else
		text_put(t, "_IOC(%s, %#x, %#x, %#x)", directions[r >> 30], r >> 8 & 0xff, r & 0xff,
			 r >> 16 & 0x3fff);
}

static void shape_ioctl_argument(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if (ioctl_takes_number((u32)args[1]))
		text_put(t, "%d", (int)args[i]);
	else
		shape_lhex(t, set, args, i);
}

/* ---- the table ---- */

static const struct argument_shape {
	shape_fn *write;
	const struct flag_set *set;
} shapes[ARG_KINDS] = {
/* `special` has the sets whose values are not only flags or names */
#define F(set, mask, unknown)                                                                      \
	[ARG_##set] = {(mask) == 2 ? shape_flags_long                                              \
		       : (mask)	   ? shape_flags                                                   \
				   : shape_name,                                                      \
		       &set_##set},
	SYSCALL_FLAG_SETS(F)
#undef F
		[ARG_address] = {shape_address, NULL},
	[ARG_path] = {shape_address, NULL},
	[ARG_ioctl_argument] = {shape_ioctl_argument, NULL},
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
	[ARG_mode] = {shape_mode, NULL},
	[ARG_node_mode] = {shape_node_mode, NULL},
	[ARG_device] = {shape_device, NULL},
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
	[ARG_kcmp_index] = {shape_kcmp_index, NULL},
	[ARG_ioprio] = {shape_ioprio, NULL},
	[ARG_fanotify_event_flags] = {shape_open_flags, &set_open_flags},
};

static shape_fn *const special[ARG_KINDS] = {
	[ARG_open_flags] = shape_open_flags,
	[ARG_clone_flags] = shape_clone_flags,
	[ARG_signal] = shape_signal,
	[ARG_ioctl_request] = shape_ioctl,
	[ARG_statx_flags] = shape_statx_flags,
	[ARG_shm_get_flags] = shape_ipc_flags,
	[ARG_sem_get_flags] = shape_ipc_flags,
	[ARG_msg_get_flags] = shape_ipc_flags,
	[ARG_msg_command] = shape_ipc_command,
	[ARG_sem_command] = shape_ipc_command,
	[ARG_shm_command] = shape_ipc_command,
	[ARG_mmap_flags] = shape_mmap_flags,
	[ARG_memfd_flags] = shape_memfd_flags,
	[ARG_mempolicy_mode] = shape_mempolicy_mode,
	[ARG_keyring] = shape_keyring,
	[ARG_personality] = shape_personality,
	[ARG_quota_command] = shape_quota_command,
	[ARG_seccomp_flags] = shape_seccomp_flags,
	[ARG_swap_flags] = shape_swap_flags,
	[ARG_syslog_action] = shape_syslog_action,
	[ARG_fanotify_init_flags] = shape_fanotify_init,
};

void argument_put(struct text *t, enum argument_kind kind, const u64 args[6], int i)
{
	const struct argument_shape *shape = &shapes[kind];
	shape_fn *write = special[kind] ? special[kind] : shape->write;

	(write ? write : shape_hex)(t, shape->set, args, i);
}
