/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that must go to the disk: disk. */
#include "tests/truth/truth.h"

#define SIZE (16 << 20)
#define READS 128

static void reads(const char *what, int flags)
{
	struct blocked blocked = {0};
	struct truth truth;
	int fd = truth_cold_file(SIZE, flags);
	void *data;

	if (posix_memalign(&data, 4096, 4096))
		exit(1);
	TRUTH_TRY(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM)); /* no read-ahead */
	truth_begin(&truth, "cold_read", what);
	for (int i = 0; i < READS; i++) {
		blocked_begin(&blocked);
		TRUTH_TRY(pread(fd, data, 4096, (off_t)(i * 37 % READS) * (SIZE / READS)));
		blocked_end(&blocked);
	}
	truth_end(&truth, "disk", blocked.sum_ns);
	free(data);
	close(fd);
}

int main(void)
{
	reads("pages that are not cached", 0);
	reads("O_DIRECT", O_DIRECT);
	return 0;
}
