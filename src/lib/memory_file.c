/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FREE 3 /* the first descriptor without a meaning of its own */

/*
 * Sets the size. A file that grows beyond RLIMIT_FSIZE, even in memory, raises SIGXFSZ, which ends
 * the program. Another thread may lower the limit at any time. So the signal is blocked
 * (lib/quiet.h), and one that our call raised is taken back. One that was pending before is not
 * ours.
 */
static int size_set(int fd, size_t bytes)
{
	static const struct timespec at_once = {0, 0};
	struct rlimit allowed;
	sigset_t pending, limit;

	if (getrlimit(RLIMIT_FSIZE, &allowed) == 0 && allowed.rlim_cur < bytes)
		return -EFBIG;
	if (sigpending(&pending) < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) == 0)
		return 0;
	if (errno != EFBIG)
		return -errno;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	if (!sigismember(&pending, SIGXFSZ))
		(void)sigtimedwait(&limit, NULL, &at_once);
	return -EFBIG;
}

int fathom_memory_file_create(const char *name, unsigned int flags, size_t bytes)
{
	int first = memfd_create(name, flags), fd = first, err;

	if (first >= 0 && first < FIRST_FREE) {
		fd = fcntl(first, F_DUPFD_CLOEXEC, FIRST_FREE);
		err = errno;
		close(first);
		errno = err;
	}
	if (fd < 0)
		return -errno;
	err = size_set(fd, bytes);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
