/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Touches COUNT pages of the file PATH, each far from the others: the first of two in a span of its
 * own, the second in none, with no call of the kernel in between. COUNT 0: in a span, reads a byte
 * from standard input into its first page.
 */
#include <fathom/fathom.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STEP ((size_t)1 << 18)

/* The recorder sees the program with a span first. */
static void be_seen(void)
{
	struct timespec while_ns = {.tv_nsec = 300000000};
	struct fathom_span span = fathom_span_begin("seen");

	nanosleep(&while_ns, NULL);
	fathom_span_end(&span);
}

static int reads(const char *path)
{
	int fd = open(path, O_RDWR);
	void *page = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct fathom_span span;
	ssize_t n;

	if (page == MAP_FAILED || madvise(page, STEP, MADV_RANDOM) || fathom_init("touches"))
		return 1;
	span = fathom_span_begin("touch");
	n = read(0, page, 1);
	fathom_span_end(&span);
	return n == 1 ? 0 : 2;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0;
	int fd = count ? open(argv[1], O_RDONLY) : -1;
	volatile char *data;
	int sum = 0;

	if (argc > 2 && !count)
		return reads(argv[1]);
	if (fd < 0 || fathom_init("touches"))
		return 1;
	data = mmap(NULL, (size_t)count * STEP, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED || madvise((void *)data, (size_t)count * STEP, MADV_RANDOM))
		return 1;
	be_seen();
	for (int i = 0; i < count; i += 2) {
		struct fathom_span span = fathom_span_begin("touch");

		sum += data[(size_t)i * STEP];
		fathom_span_end(&span);
		sum += data[(size_t)(i + 1) * STEP];
	}
	return sum ? 2 : 0;
}
