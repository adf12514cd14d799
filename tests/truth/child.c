/* SPDX-License-Identifier: Apache-2.0 */
/* A parent that waits until a child ends: child. */
#include "tests/truth/truth.h"

int main(void)
{
	int64_t *ended_ns = truth_share(sizeof(*ended_ns)), waited = 0;
	struct truth truth;

	truth_begin(&truth, "child", "wait4 for a child that sleeps");
	for (int i = 0; i < 5; i++) {
		pid_t child = fork();
		int64_t begin;

		TRUTH_TRY(child);
		if (!child) {
			sleep_until(truth_now() + 40 * MS);
			*ended_ns = truth_now();
			_exit(0);
		}
		begin = truth_now();
		TRUTH_TRY(syscall(SYS_wait4, child, NULL, 0, NULL));
		if (*ended_ns > begin)
			waited += *ended_ns - begin;
	}
	truth_end(&truth, "child", waited);
	return 0;
}
