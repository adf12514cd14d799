/* SPDX-License-Identifier: Apache-2.0 */
/* Records page faults with their ends, or none. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/capture/recording.h"

static int truth_faults(void)
{
	char *memory = mmap(NULL, 500 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	madvise(memory, 500 * 4096, MADV_NOHUGEPAGE);
	syscall(SYS_getppid); /* between: only the faults that are wanted */
	for (int i = 0; i < 500; i++)
		memory[i * 4096] = 1;
	syscall(SYS_getppid);
	return 0;
}

static const struct truth truths[] = {
	{"faults", truth_faults},
	{NULL, NULL},
};

/* The call with this number is refused from now on. */
static int call_refuse(u32 nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool feature_is_on(const struct capture *c, const char *name)
{
	size_t count;
	const struct capture_feature *features = capture_features(c, &count);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(features[i].name, name) == 0)
			return features[i].on;
	}
	return false;
}

TEST(page_faults_are_recorded)
{
	struct seen s = {0};
	int status;

	need_root();
	status = truth_record(&s, "faults");
	CHECK_EQ(status, 0);
	CHECK_EQ(s.counted, 2);
	CHECK(s.faults >= 500);
	CHECK(s.faults < 520);
	capture_close(s.c);
}

/* A fault that is not seen to end would last until the next call. */
TEST(page_faults_without_their_ends_are_not_recorded)
{
	struct seen s = {0};
	int status;
	pid_t pid;

	need_root();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (call_refuse(SYS_perf_event_open))
			_exit(77);
		status = truth_record(&s, "faults");
		CHECK_EQ(status, 0);
		CHECK_EQ(s.counted, 2);
		CHECK_EQ(s.records[RECORD_fault], 0);
		CHECK(!feature_is_on(s.c, "page_fault_user"));
		capture_close(s.c);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no calls can be refused here");
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	return truth_main(truths, argc, argv);
}
