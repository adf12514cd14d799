/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of --on-chunk. Each test has its own process, since their thread never ends. */
#include "recorder/hook.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/check.h"

#define CANNOT 99 /* exit status of a child that could not begin */

static int child_status(int (*run)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(run());
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool never(void)
{
	return false;
}

/* Raises the limit on descriptors, as a recorder does after hooks_open(). */
static int raise_and_run(void)
{
	char text[32] = "", path[] = "/tmp/fathom-hook-XXXXXX";
	struct rlimit files;
	int fd = mkstemp(path);

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &files) || files.rlim_max < 200)
		return CANNOT;
	files.rlim_cur = 100;
	if (setrlimit(RLIMIT_NOFILE, &files) || hooks_open(NULL, NULL))
		return CANNOT;
	files.rlim_cur = 200;
	if (setrlimit(RLIMIT_NOFILE, &files))
		return CANNOT;
	hook_run("ulimit -n >\"$1\"", path);
	hooks_wait(never);
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	unlink(path);
	return strcmp(text, "100\n") != 0;
}

TEST(a_command_may_open_as_many_files_as_before_recording)
{
	CHECK_EQ(child_status(raise_and_run), 0);
}

/* From now on no thread of this process can drop capabilities. */
static int capset_forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_capset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int refuse_and_run(void)
{
	time_t begin = time(NULL);

	if (capset_forbid() || hooks_open(NULL, NULL))
		return CANNOT;
	for (int i = 0; i < 100; i++) {
		hook_run("true", "/nowhere"); /* before and after the thread finds out */
		usleep(1000);
	}
	hooks_wait(never);
	return time(NULL) - begin > 40; /* it would wait for a minute */
}

TEST(nobody_waits_for_commands_that_are_refused)
{
	int status = child_status(refuse_and_run);

	if (status == CANNOT)
		SKIP("no seccomp here");
	CHECK_EQ(status, 0);
}

static bool at_once(void)
{
	return true;
}

/* All commands hang. The messages of the first 12 s go to `told`. */
static void hang(FILE *told)
{
	char path[16];

	if (dup2(fileno(told), STDERR_FILENO) < 0 || hooks_open(NULL, NULL))
		_exit(CANNOT);
	for (int i = 0; i < 11; i++) {
		snprintf(path, sizeof(path), "/chunk-%d", i);
		hook_run("exec sleep 100 #", path);
	}
	for (int tenths = 0; tenths < 120; tenths++) {
		hooks_reap();
		usleep(100000);
	}
	hooks_wait(at_once);
	_exit(0);
}

TEST(commands_that_hang_are_told_once_and_do_not_hold_the_end_up)
{
	FILE *told = tmpfile();
	char text[2048];
	size_t length;
	int status, grouped = 0;
	pid_t pid = fork();

	CHECK(told != NULL);
	if (pid == 0)
		hang(told);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	rewind(told);
	length = fread(text, 1, sizeof(text) - 1, told);
	text[length] = '\0';
	fclose(told);
	for (const char *at = strstr(text, "(pid "); at; at = strstr(at + 1, "(pid ")) {
		pid_t child = atoi(at + 5);

		grouped += getpgid(child) == child;
		kill(child, SIGKILL);
	}
	CHECK_EQ(status, 0);
	CHECK_EQ(grouped, 8); /* a Ctrl-C for the recorder does not reach them */
	CHECK(strncmp(text,
		      "fathom: --on-chunk is slower than the recording: 8 commands run, and "
		      "/chunk-8 ",
		      66) == 0);
	CHECK(strchr(text, '\n') && strchr(text, '\n')[1]);
	CHECK(strncmp(strchr(text, '\n') + 1, "fathom: --on-chunk still runs for /chunk-0 (pid ",
		      48) == 0);
	CHECK(strstr(text, ", /chunk-7 (pid "));
	CHECK(strstr(text, "; it was not run for 3 chunks, from /chunk-8 on\n"));
	CHECK(strchr(strchr(text, '\n') + 1, '\n') == text + length - 1);
}

TEST_MAIN()
