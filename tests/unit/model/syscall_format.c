/* SPDX-License-Identifier: Apache-2.0 */
/* Names, classes and results of system calls; arguments against the real strace. */
#include "model/syscall_format.h"

#include <errno.h>

#include "record/call_memory.h"
#include "record/syscalls_compat.h"
#include "syscall_cases.h"
#include "syscall_numbers.h"
#include "tests/unit/check.h"

static size_t format_case(char *buf, size_t size, const struct syscall_case *c, u8 abi_flags)
{
	struct record_syscall r = {.nr = (u16)c->nr, .flags = abi_flags, .result = -ENOSYS};

	r.arg0 = (u64)c->args[0];
	r.arg1 = (u64)c->args[1];
	r.arg2 = (u64)c->args[2];
	r.arg3 = (u64)c->args[3];
	r.arg4 = (u64)c->args[4];
	r.arg5 = (u64)c->args[5];
	if (abi_flags & SYSCALL_COMPAT) {
		r.arg0 = (u32)r.arg0;
		r.arg1 = (u32)r.arg1;
		r.arg2 = (u32)r.arg2;
		r.arg3 = (u32)r.arg3;
		r.arg4 = (u32)r.arg4;
		r.arg5 = (u32)r.arg5;
	}
	return syscall_args_format(buf, size, &r, NULL);
}

/* The next line of strace that tells of a refused call, cut behind its arguments. */
static bool strace_next(FILE *out, char *line, size_t size)
{
	while (fgets(line, (int)size, out)) {
		char *end = strstr(line, " = -1 ENOSYS");

		if (!end)
			continue;
		while (end > line && end[-1] == ' ')
			end--;
		*end = '\0';
		return true;
	}
	return false;
}

/* Compares strace's lines with ours for all cases of one table. */
static void check_cases(FILE *out, const struct syscall_case *cases, size_t count, u8 abi_flags)
{
	char line[1024], args[512], ours[600];

	for (size_t i = 0; i < count; i++) {
		CHECK(strace_next(out, line, sizeof(line)));
		format_case(args, sizeof(args), &cases[i], abi_flags);
		snprintf(ours, sizeof(ours), "%s(%s)", syscall_name(abi_flags, (u16)cases[i].nr),
			 args);
		CHECK_STR(ours, line);
	}
}

/*
 * Calls that strace 6.1 shows otherwise for a reason: it knows fewer flags or commands (mount API,
 * file handles, pidfd_open, rseq, personality), knows old commands (quotactl, socket options and
 * protocols of rare families), has a text for other arguments (keyctl, ptrace, prctl, futex with an
 * unknown command, kexec_load), reads memory that is not recorded (CPU sets, node sets, semctl), or
 * decides by less which arguments are there (mremap, modes of open).
 */
static bool is_exempt(const char *line)
{
	static const char *const calls[] = {"arch_prctl(",
					    "fsmount(",
					    "futex(",
					    "getsockopt(",
					    "io_uring_register(",
					    "kexec_load(",
					    "keyctl(",
					    "mbind(",
					    "migrate_pages(",
					    "mincore(",
					    "move_mount(",
					    "move_pages(",
					    "mq_open(",
					    "mremap(",
					    "msgget(",
					    "name_to_handle_at(",
					    "open(",
					    "open_tree(",
					    "openat(",
					    "personality(",
					    "pidfd_open(",
					    "prctl(",
					    "ptrace(",
					    "quotactl(",
					    "quotactl_fd(",
					    "restart_syscall(",
					    "rseq(",
					    "semctl(",
					    "semget(",
					    "set_mempolicy(",
					    "setsockopt(",
					    "shmget(",
					    "socket(",
					    "socketpair(",
					    "mmap(",
					    "remap_file_pages("};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strncmp(line, calls[i], strlen(calls[i])) == 0)
			return true;
	}
	return false;
}

/* Whether the lines are equal, but for what strace knows to be empty: an address is shown then. */
static bool is_same(const char *ours, const char *theirs)
{
	while (*ours && *theirs) {
		bool is_empty = strncmp(theirs, "\"\"", 2) == 0 || strncmp(theirs, "[]", 2) == 0;

		if (is_empty) {
			ours += strcspn(ours, ",)");
			theirs += 2;
		} else if (*ours++ != *theirs++) {
			return false;
		}
	}
	return *ours == *theirs;
}

static void check_random_cases(FILE *out)
{
	unsigned long state = SYSCALL_RANDOM_SEED;
	char line[1024], args[512], ours[600];

	for (int i = 0; i < SYSCALL_RANDOM_CASES; i++) {
		const struct syscall_case c = syscall_random_case(&state);

		CHECK(strace_next(out, line, sizeof(line)));
		format_case(args, sizeof(args), &c, 0);
		snprintf(ours, sizeof(ours), "%s(%s)", syscall_name(0, (u16)c.nr), args);
		if (!is_exempt(line) && !is_same(ours, line))
			CHECK_STR(ours, line);
	}
}

TEST(arguments_read_as_strace_prints_them)
{
	const char *truth = getenv("SYSCALL_TRUTH");
	char command[4096], line[1024];
	FILE *out;

	if (!truth || system("strace -V >/dev/null 2>&1") != 0)
		SKIP("strace is not installed");
	snprintf(command, sizeof(command),
		 "strace -o '|cat' -e 'inject=!exit_group,execve:error=ENOSYS' '%s'", truth);
	out = popen(command, "r");
	CHECK(out != NULL);
	if (!strace_next(out, line, sizeof(line)))
		SKIP("strace cannot trace here");
	CHECK_STR(line, "getpid()");
	check_cases(out, syscall_cases, SYSCALL_CASES_COUNT, 0);
	check_random_cases(out);
	if (!strace_next(out, line, sizeof(line)))
		SKIP("this kernel has no 32-bit calls");
	CHECK_STR(line, "getpid()");
	check_cases(out, syscall_compat_cases, SYSCALL_COMPAT_CASES_COUNT, SYSCALL_COMPAT);
	while (fgets(line, sizeof(line), out))
		; /* strace complains if nobody reads its end */
	pclose(out);
}

TEST(paths_stand_in_quotes)
{
	struct record_syscall r = {.nr = SYSCALL_NR_renameat2, .arg0 = (u64)AT_FDCWD, .arg1 = 1};
	const struct syscall_paths paths = {.asked = {"a \"b\"\n", "\1\0012\303\251/x"}};
	const struct syscall_paths cut = {.asked = {"long", NULL}, .cut = {true, false}};
	char buf[128];

	r.arg2 = 5;
	r.arg3 = 0xdead0;
	syscall_args_format(buf, sizeof(buf), &r, &paths);
	CHECK_STR(buf, "AT_FDCWD, \"a \\\"b\\\"\\n\", 5, \"\\1\\0012\\303\\251/x\", 0");
	syscall_args_format(buf, sizeof(buf), &r, &cut);
	CHECK_STR(buf, "AT_FDCWD, \"long\"..., 5, 0xdead0, 0");
}

TEST(texts_stand_in_place_of_arguments)
{
	const struct record_syscall r = {
		.nr = SYSCALL_NR_execve, .arg0 = 1, .arg1 = 0xdead0, .arg2 = 0xdead8};
	const struct syscall_paths paths = {.asked = {"/bin/true"}, .shown = {[1] = "[\"true\"]"}};
	char buf[128];

	syscall_args_format(buf, sizeof(buf), &r, &paths);
	CHECK_STR(buf, "\"/bin/true\", [\"true\"], 0xdead8");
}

/* strace says two names for each. */
TEST(files_are_cloned_from_a_descriptor)
{
	const struct syscall_case clone = {SYSCALL_NR_ioctl, {3, FICLONE, 4}};
	const struct syscall_case range = {SYSCALL_NR_ioctl, {3, FICLONERANGE, 0xdead0}};
	char buf[64];

	format_case(buf, sizeof(buf), &clone, 0);
	CHECK_STR(buf, "3, FICLONE, 4");
	format_case(buf, sizeof(buf), &range, 0);
	CHECK_STR(buf, "3, FICLONERANGE, 0xdead0");
}

TEST(arguments_are_cut_to_the_buffer)
{
	const struct syscall_case c = {SYSCALL_NR_open, {0xdead0, O_CLOEXEC}};
	char buf[12] = "xxxxxxxxxxx";

	CHECK_EQ(format_case(buf, 8, &c, 0), strlen("0xdead0, O_RDONLY|O_CLOEXEC"));
	CHECK_STR(buf, "0xdead0");
	CHECK_EQ(buf[8], 'x');
	CHECK_EQ(format_case(NULL, 0, &c, 0), strlen("0xdead0, O_RDONLY|O_CLOEXEC"));
}

TEST(numbers_without_a_row_show_all_arguments)
{
	const struct syscall_case c = {400, {1, 2, 3, 4, 5, 6}};
	char buf[64];

	CHECK_STR(syscall_name(0, 400), NULL);
	CHECK_STR(syscall_name(0, 60000), NULL);
	format_case(buf, sizeof(buf), &c, 0);
	CHECK_STR(buf, "0x1, 0x2, 0x3, 0x4, 0x5, 0x6");
}

TEST(numbers_are_those_of_the_kernel_headers)
{
	for (size_t i = 0; i < sizeof(syscall_numbers) / sizeof(syscall_numbers[0]); i++)
		CHECK_STR(syscall_name(0, (u16)syscall_numbers[i].nr), syscall_numbers[i].name);
	CHECK_STR(syscall_name(SYSCALL_COMPAT, 3), "read");
	CHECK_STR(syscall_name(SYSCALL_COMPAT, 162), "nanosleep");
	CHECK_EQ(syscall_native(162), SYSCALL_NR_nanosleep);
	CHECK_EQ(syscall_native(102), -1);
}

TEST(tables_for_kernel_programs)
{
	static const u8 nargs[SYSCALL_TABLE_SIZE] = CALL_MEMORY_NARGS_INIT;
	static const u8 fdarg[SYSCALL_TABLE_SIZE] = SYSCALL_FDARG_INIT;

	CHECK_EQ(nargs[SYSCALL_NR_getpid], 0);
	CHECK_EQ(nargs[SYSCALL_NR_mmap], 6);
	CHECK_EQ(nargs[SYSCALL_NR_openat], 4);
	CHECK_EQ(nargs[SYSCALL_NR_writev], CALL_HAS_MEMORY | 3);
	CHECK_EQ(nargs[SYSCALL_NR_pwritev2], 6);
	CHECK_EQ(nargs[400], 6);
	CHECK_EQ(nargs[511], 6);
	CHECK_EQ(fdarg[SYSCALL_NR_read], 1);
	CHECK_EQ(fdarg[SYSCALL_NR_mmap], 5);
	CHECK_EQ(fdarg[SYSCALL_NR_poll], 0);
	for (int nr = 0; nr < SYSCALL_TABLE_SIZE; nr++)
		CHECK((nargs[nr] & 7) <= 6 && fdarg[nr] <= (nargs[nr] & 7));
}

TEST(results)
{
	CHECK(syscall_result_is_error(-2) && !syscall_is_restart(-2));
	CHECK(!syscall_result_is_error(-512) && syscall_is_restart(-512) &&
	      syscall_is_restart(-516));
	CHECK(!syscall_is_restart(-517) && !syscall_is_restart(-511));
	CHECK(!syscall_result_is_error(0) && !syscall_result_is_error(-4096));
	CHECK_STR(syscall_errno_name(-2), "ENOENT");
	CHECK_STR(syscall_errno_name(ETIMEDOUT), "ETIMEDOUT");
	CHECK_STR(syscall_errno_name(-512), "ERESTARTSYS");
	CHECK_STR(syscall_errno_name(-516), "ERESTART_RESTARTBLOCK");
	CHECK_STR(syscall_errno_name(-519), "ENOPARAM");
	CHECK_STR(syscall_errno_name(-520), NULL);
	CHECK_STR(syscall_errno_name(-524), "ENOTSUPP");
	CHECK_STR(syscall_errno_name(-531), "ENOGRACE");
	CHECK_STR(syscall_errno_name(-532), NULL);
	CHECK_STR(syscall_errno_name(5000), NULL);
}

static void check_stat(s64 result, u64 path, const char *args)
{
	struct record_syscall r = {.nr = SYSCALL_NR_newfstatat,
				   .arg0 = 3,
				   .arg1 = path,
				   .arg2 = 0xdead8,
				   .arg3 = 0x1000, /* AT_EMPTY_PATH */
				   .result = result};
	char text[128];

	syscall_args_format(text, sizeof(text), &r, NULL);
	CHECK_STR(text, args);
}

/* It is not told. */
TEST(the_path_of_an_fstat_is_empty)
{
	check_stat(0, 0xdead0, "3, \"\", 0xdead8, AT_EMPTY_PATH");
	check_stat(-EFAULT, 0xdead0, "3, 0xdead0, 0xdead8, AT_EMPTY_PATH");
	check_stat(0, 0, "3, NULL, 0xdead8, AT_EMPTY_PATH");
}

TEST_MAIN()
