/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a mapped file that must come from the disk: fault. */
#include "tests/truth/truth.h"

#define SIZE (16 << 20)
#define FAULTS 128

int main(void)
{
	struct blocked blocked = {0};
	struct rusage before, after;
	struct truth truth;
	int fd = truth_cold_file(SIZE, 0);
	volatile char *data = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	int sum = 0;

	if (data == MAP_FAILED || madvise((void *)data, SIZE, MADV_RANDOM))
		exit(1);
	getrusage(RUSAGE_THREAD, &before);
	truth_begin(&truth, "major_fault", "touch of a mapped file");
	for (int i = 0; i < FAULTS; i++) {
		blocked_begin(&blocked);
		sum += data[(i * 37 % FAULTS) * (SIZE / FAULTS)];
		blocked_end(&blocked);
	}
	truth_end(&truth, "fault", blocked.sum_ns);
	getrusage(RUSAGE_THREAD, &after);
	if (sum || after.ru_majflt - before.ru_majflt < FAULTS)
		TRUTH_SKIP("only %ld of %d faults went to the disk",
			   after.ru_majflt - before.ru_majflt, FAULTS);
	return 0;
}
