/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments as text: the arguments of a call, their kinds, and the number that the kernel
 * reads. syscall_shapes.c writes each kind.
 */
#include "model/syscall_format.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "model/syscall_shapes.h"
#include "record/syscalls_compat.h"

#define KINDS0()
#define KINDS1(a) ARG_##a
#define KINDS2(a, b) ARG_##a, ARG_##b
#define KINDS3(a, b, c) ARG_##a, ARG_##b, ARG_##c
#define KINDS4(a, b, c, d) ARG_##a, ARG_##b, ARG_##c, ARG_##d
#define KINDS5(a, b, c, d, e) ARG_##a, ARG_##b, ARG_##c, ARG_##d, ARG_##e
#define KINDS6(a, b, c, d, e, f) ARG_##a, ARG_##b, ARG_##c, ARG_##d, ARG_##e, ARG_##f
#define ROW(nr, name, nargs, fd, classes, kinds) [nr] = {KINDS##nargs kinds},
static const u8 call_kinds[SYSCALL_TABLE_SIZE][6] = {RECORD_SYSCALLS(ROW)};
#undef ROW

/* The arguments of a call, each in one value. */
struct call {
	int nr; /* number of the 64-bit call; -1: none */
	int count;
	bool compat, succeeded;
	u8 kinds[6]; /* enum argument_kind */
	u64 args[6];
};

/* ---- 32-bit calls ---- */

/* In two registers, the lower half first; _hilo: the upper half first. */
enum { ARG_offset_lohi = ARG_KINDS, ARG_offset_hilo };

/* 32-bit calls whose arguments differ from those of the 64-bit call. */
#define COMPAT(nr, ...) [nr] = {__VA_ARGS__}
static const u8 compat_kinds[SYSCALL_COMPAT_TABLE_SIZE][6] = {
	COMPAT(7, ARG_pid, ARG_address, ARG_wait_flags),  /* waitpid */
	COMPAT(13, ARG_address),			  /* time */
	COMPAT(22, ARG_path),				  /* umount */
	COMPAT(25, ARG_address),			  /* stime */
	COMPAT(34, ARG_int),				  /* nice */
	COMPAT(48, ARG_signal, ARG_address),		  /* signal */
	COMPAT(67, ARG_signal, ARG_address, ARG_address), /* sigaction */
	COMPAT(72, ARG_hex, ARG_hex, ARG_hex),		  /* sigsuspend */
	COMPAT(73, ARG_address),			  /* sigpending */
	COMPAT(82, ARG_address),			  /* select */
	COMPAT(90, ARG_address),			  /* mmap */
	COMPAT(102, ARG_socketcall, ARG_address),	  /* socketcall */
	COMPAT(120, ARG_clone_flags, ARG_address, ARG_address, ARG_address, ARG_address),
	COMPAT(126, ARG_sigmask_how, ARG_address, ARG_address),	       /* sigprocmask */
	COMPAT(140, ARG_fd, ARG_offset_hilo, ARG_address, ARG_whence), /* _llseek */
	COMPAT(180, ARG_fd, ARG_address, ARG_size, ARG_offset_lohi),   /* pread64 */
	COMPAT(181, ARG_fd, ARG_address, ARG_size, ARG_offset_lohi),   /* pwrite64 */
	COMPAT(192, ARG_address, ARG_size, ARG_mmap_prot, ARG_mmap_flags, ARG_fd, ARG_pages),
	COMPAT(193, ARG_path, ARG_offset_lohi),				    /* truncate64 */
	COMPAT(194, ARG_fd, ARG_offset_lohi),				    /* ftruncate64 */
	COMPAT(225, ARG_fd, ARG_offset_lohi, ARG_size),			    /* readahead */
	COMPAT(250, ARG_fd, ARG_offset_lohi, ARG_size, ARG_fadvise_advice), /* fadvise64 */
	COMPAT(268, ARG_path, ARG_size, ARG_address),			    /* statfs64 */
	COMPAT(269, ARG_fd, ARG_size, ARG_address),			    /* fstatfs64 */
	COMPAT(272, ARG_fd, ARG_offset_lohi, ARG_offset_lohi, ARG_fadvise_advice),
	COMPAT(314, ARG_fd, ARG_offset_lohi, ARG_offset_lohi, ARG_sync_range_flags),
	COMPAT(324, ARG_fd, ARG_fallocate_mode, ARG_offset_lohi, ARG_offset_lohi),
	COMPAT(333, ARG_fd, ARG_address, ARG_ulong, ARG_offset_lohi), /* preadv */
	COMPAT(334, ARG_fd, ARG_address, ARG_ulong, ARG_offset_lohi), /* pwritev */
	COMPAT(378, ARG_fd, ARG_address, ARG_ulong, ARG_offset_lohi, ARG_read_write_flags),
	COMPAT(379, ARG_fd, ARG_address, ARG_ulong, ARG_offset_lohi, ARG_read_write_flags),
};

/* Takes an argument from its registers, and returns their number. */
static int compat_take(struct call *c, u8 kind, const u64 *registers)
{
	int i = c->count++;

	c->kinds[i] = kind;
	c->args[i] = registers[0];
	switch ((int)kind) {
	case ARG_offset_lohi:
		c->kinds[i] = ARG_offset;
		c->args[i] = registers[0] | registers[1] << 32;
		return 2;
	case ARG_offset_hilo:
		c->kinds[i] = ARG_offset;
		c->args[i] = registers[0] << 32 | registers[1];
		return 2;
	case ARG_long:
	case ARG_offset:
		c->args[i] = (u64)(s64)(s32)registers[0];
		return 1;
	default:
		return 1;
	}
}

static bool compat_call(struct call *c, u16 nr, const u64 registers[6])
{
	const u8 *kinds = nr < SYSCALL_COMPAT_TABLE_SIZE ? compat_kinds[nr] : NULL;

	u64 all[7] = {
		0}; /* an offset in the last two registers is complete, whatever the table says */

	memcpy(all, registers, 6 * sizeof(*registers));
	c->compat = true;
	c->nr = syscall_native(nr);
	if (kinds && kinds[0] == ARG_none)
		kinds = c->nr >= 0 ? call_kinds[c->nr] : NULL;
	if (!kinds)
		return false;
	for (int i = 0, at = 0; i < 6 && at < 6 && kinds[i] != ARG_none; i++)
		at += compat_take(c, kinds[i], all + at);
	return true;
}

static bool native_call(struct call *c, u16 nr, const u64 registers[6])
{
	if (nr >= SYSCALL_TABLE_SIZE || !syscall_name(0, nr))
		return false;
	c->nr = nr;
	for (; c->count < 6 && call_kinds[nr][c->count] != ARG_none; c->count++) {
		c->kinds[c->count] = call_kinds[nr][c->count];
		c->args[c->count] = registers[c->count];
	}
	return true;
}

/* ---- calls with an argument that determines the number of arguments ---- */

static bool fcntl_has_argument(u32 command)
{
	static const u32 without[] = {F_GETFD,	  F_GETFL,	F_GETOWN,   F_GETSIG,
				      F_GETLEASE, F_GETPIPE_SZ, F_GET_SEALS};

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		if (without[i] == command)
			return false;
	}
	return true;
}

/* The number of arguments of a futex command. */
static int futex_arguments(u32 operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
		return 3;
	case FUTEX_WAIT:
	case FUTEX_LOCK_PI:
	case 13: /* FUTEX_LOCK_PI2 */
		return 4;
	case FUTEX_REQUEUE:
	case FUTEX_WAIT_REQUEUE_PI:
		return 5;
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		return 2;
	default:
		return 6;
	}
}

static int ptrace_arguments(u32 request)
{
	switch (request) {
	case PTRACE_TRACEME:
		return 1;
	case PTRACE_KILL:
	case PTRACE_ATTACH:
	case PTRACE_INTERRUPT:
	case PTRACE_LISTEN:
		return 2;
	default:
		return 4;
	}
}

/* The kernel refuses most newer options if unused arguments are not 0, so these are shown. */
static int prctl_arguments(const u64 args[6])
{
	switch ((u32)args[0]) {
	case PR_SET_SECCOMP:
		return args[1] == SECCOMP_MODE_STRICT ? 2 : args[1] == SECCOMP_MODE_FILTER ? 3 : 5;
	case PR_GET_DUMPABLE:
	case PR_GET_KEEPCAPS:
	case PR_GET_SECCOMP:
	case PR_GET_SECUREBITS:
	case PR_GET_TIMERSLACK:
	case PR_GET_TIMING:
	case PR_TASK_PERF_EVENTS_DISABLE:
	case PR_TASK_PERF_EVENTS_ENABLE:
		return 1;
	case PR_SET_PDEATHSIG:
	case PR_GET_PDEATHSIG:
	case PR_SET_DUMPABLE:
	case PR_SET_KEEPCAPS:
	case PR_SET_NAME:
	case PR_GET_NAME:
	case PR_CAPBSET_READ:
	case PR_CAPBSET_DROP:
	case PR_SET_SECUREBITS:
	case PR_SET_TIMERSLACK:
	case PR_SET_CHILD_SUBREAPER:
	case PR_GET_CHILD_SUBREAPER:
	case PR_SET_PTRACER:
	case PR_SET_TIMING:
	case PR_GET_TSC:
	case PR_SET_TSC:
	case PR_GET_TID_ADDRESS:
	case PR_GET_SPECULATION_CTRL:
		return 2;
	case PR_SET_SPECULATION_CTRL:
		return 3;
	default:
		return 5;
	}
}

/* Only devices have a number. */
static bool is_device(u64 mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

/* These types compare a property of the process, and have no further arguments. */
static bool kcmp_is_whole(u32 type)
{
	return type >= KCMP_VM && type <= KCMP_SYSVSEM;
}

/* Actions 2 to 4 read a buffer, and 8 has a level. */
static int syslog_arguments(u32 action)
{
	return (action >= 2 && action <= 4) || action == 8 || action > 10 ? 3 : 1;
}

static int arguments_shown(const struct call *c)
{
	const u64 *args = c->args;
	int nr = c->nr, count = c->count;

	for (int i = 0; i + 1 < count; i++) {
		u32 flags = (u32)args[i];

		if (c->kinds[i] == ARG_node_mode && !is_device(args[i]))
			return i + 1;
		if (c->kinds[i] == ARG_open_flags && c->kinds[i + 1] == ARG_mode &&
		    !(flags & O_CREAT) && (flags & O_TMPFILE) != O_TMPFILE)
			return i + 1;
	}
	if (nr == SYSCALL_NR_fcntl && !fcntl_has_argument((u32)args[1]))
		return 2;
	if (nr == SYSCALL_NR_ioctl && !ioctl_has_argument((u32)args[1]))
		return 2;
	if (nr == SYSCALL_NR_prctl)
		return prctl_arguments(args);
	if (nr == SYSCALL_NR_mremap && !(args[3] & (MREMAP_FIXED | MREMAP_DONTUNMAP)))
		return 4;
	if (nr == SYSCALL_NR_membarrier && !(args[1] & 1))
		return 2;
	if (nr == SYSCALL_NR_reboot && (u32)args[2] != 0xa1b2c3d4 /* LINUX_REBOOT_CMD_RESTART2 */)
		return 3;
	if (nr == SYSCALL_NR_syslog)
		return syslog_arguments((u32)args[0]);
	if (nr == SYSCALL_NR_kcmp && kcmp_is_whole((u32)args[2]))
		return 3;
	if (nr == SYSCALL_NR_ptrace)
		return ptrace_arguments((u32)args[0]);
	if (nr == SYSCALL_NR_futex)
		return futex_arguments((u32)args[1]);
	return count;
}

/* Arguments in the middle that the kernel does not read. */
static bool argument_is_unused(const struct call *c, int i)
{
	if (c->kinds[i] == ARG_unused)
		return true;
	if (c->nr != SYSCALL_NR_futex)
		return false;
	switch ((u32)c->args[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT_BITSET:
		return i == 4;
	case FUTEX_WAKE_BITSET:
		return i == 3 || i == 4;
	case FUTEX_LOCK_PI:
	case 13: /* FUTEX_LOCK_PI2 */
		return i == 2;
	default:
		return false;
	}
}

/* ---- all ---- */

static void put_unknown(struct text *t, const u64 *args)
{
	for (int i = 0; i < 6; i++)
		text_put(t, "%s%#" PRIx64, i ? ", " : "", (uint64_t)args[i]);
}

/*
 * Writes the arguments of clone with their names, since their order differs between
 * tables; only those that are read with these flags.
 */
static void put_clone(struct text *t, const struct call *c)
{
	const int tls = c->compat ? 3 : 4, child = c->compat ? 4 : 3;
	const u64 flags = c->args[0];

	text_put(t, "child_stack=");
	argument_put(t, ARG_address, c->args, 1);
	text_put(t, ", flags=");
	argument_put(t, ARG_clone_flags, c->args, 0);
	if (flags & (CLONE_PARENT_SETTID | CLONE_PIDFD)) {
		text_put(t, ", parent_tid=");
		argument_put(t, ARG_address, c->args, 2);
	}
	if (flags & CLONE_SETTLS) {
		text_put(t, ", tls=");
		argument_put(t, ARG_address, c->args, tls);
	}
	if (flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)) {
		text_put(t, ", child_tidptr=");
		argument_put(t, ARG_address, c->args, child);
	}
}

/* No path is recorded for an empty path, as in the C library's fstat(), or if it was lost. */
static bool path_is_empty(const struct call *c, int i)
{
	const int flags = c->nr == SYSCALL_NR_newfstatat ? 3 : c->nr == SYSCALL_NR_statx ? 2 : -1;

	return c->succeeded && c->args[i] && flags >= 0 && c->args[flags] & AT_EMPTY_PATH;
}

static void put_arguments(struct text *t, const struct call *c, const struct syscall_paths *paths)
{
	int count = arguments_shown(c), written = 0, path = 0;

	if (c->nr == SYSCALL_NR_clone) {
		put_clone(t, c);
		return;
	}
	for (int i = 0; i < count; i++) {
		bool is_path = c->kinds[i] == ARG_path && path < 2;
		const char *string = is_path && paths ? paths->asked[path] : NULL;
		const char *shown = paths ? paths->shown[i] : NULL;

		if (is_path && !string && path_is_empty(c, i))
			string = "";
		if (argument_is_unused(c, i))
			continue;
		if (written++)
			text_put(t, ", ");
		if (string)
			text_put_quoted(t, string, *string && paths->cut[path]);
		else if (shown)
			text_put(t, "%s", shown);
		else
			argument_put(t, c->kinds[i], c->args, i);
		path += is_path;
	}
}

size_t syscall_args_format(char *buf, size_t size, const struct record_syscall *r,
			   const struct syscall_paths *paths)
{
	const u64 registers[6] = {r->arg0, r->arg1, r->arg2, r->arg3, r->arg4, r->arg5};
	struct text t = {.buf = buf, .size = size};
	struct call c = {.succeeded = r->result >= 0};

	if (size)
		buf[0] = '\0';
	if (r->flags & SYSCALL_COMPAT ? compat_call(&c, r->nr, registers)
				      : native_call(&c, r->nr, registers))
		put_arguments(&t, &c, paths);
	else
		put_unknown(&t, registers);
	return t.len;
}
