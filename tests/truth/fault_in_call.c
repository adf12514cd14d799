/* SPDX-License-Identifier: Apache-2.0 */
/* Reads into pages of a mapped file that must come from the disk: fault, inside of read(). */
#include "tests/truth/truth.h"

#define SIZE (16 << 20)
#define FAULTS 64

int main(void)
{
	struct blocked blocked = {0};
	struct rusage before, after;
	struct truth truth;
	int fd = truth_cold_file(SIZE, 0), zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *data = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	TRUTH_TRY(zero);
	if (data == MAP_FAILED || madvise(data, SIZE, MADV_RANDOM))
		exit(1);
	getrusage(RUSAGE_THREAD, &before);
	truth_begin(&truth, "fault_in_call", "read into a mapped file");
	for (int i = 0; i < FAULTS; i++) {
		blocked_begin(&blocked);
		TRUTH_TRY(read(zero, data + (i * 37 % FAULTS) * (SIZE / FAULTS) + 17, 4));
		blocked_end(&blocked);
	}
	truth_end(&truth, "fault", blocked.sum_ns);
	getrusage(RUSAGE_THREAD, &after);
	if (after.ru_majflt - before.ru_majflt < FAULTS)
		TRUTH_SKIP("only %ld of %d faults went to the disk",
			   after.ru_majflt - before.ru_majflt, FAULTS);
	return 0;
}
