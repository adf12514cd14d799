/* SPDX-License-Identifier: Apache-2.0 */
/* Data that is waited for until it is on the disk: disk. */
#include "tests/truth/truth.h"

int main(void)
{
	static char data[65536];
	struct blocked blocked = {0};
	struct truth truth;
	int fd = truth_cold_file(sizeof(data), 0);

	truth_begin(&truth, "fsync", "fsync after each write");
	for (int i = 0; i < 30; i++) {
		memset(data, i, sizeof(data));
		TRUTH_TRY(pwrite(fd, data, sizeof(data), i * (off_t)sizeof(data)));
		blocked_begin(&blocked);
		TRUTH_TRY(fsync(fd));
		blocked_end(&blocked);
	}
	truth_end(&truth, "disk", blocked.sum_ns);
	return 0;
}
