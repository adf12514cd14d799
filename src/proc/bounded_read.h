/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files that can block for as long as somebody else wants: /proc/PID/cmdline reads the
 * memory of a process, which may be mapped from a file system that does not answer.
 *
 * A thread reads, and who asks waits a tenth of a second for it. One that is stuck is left
 * behind, with memory of its own, and ends by itself once it is let go; another takes its
 * place, but for the last of BOUNDED_STUCK_MAX: then nothing is read any more.
 */
#ifndef PROC_BOUNDED_READ_H
#define PROC_BOUNDED_READ_H

#include <stdbool.h>
#include <stddef.h>

#define BOUNDED_STUCK_MAX 8
#define BOUNDED_BYTES_MAX 1024

struct bounded_thread;

/* Zeros: no thread yet. Of one thread, which asks. */
struct bounded_reader {
	struct bounded_thread *thread; /* owned, with what it is doing */
	unsigned int stuck;
};

/*
 * Reads at most `room` bytes, and BOUNDED_BYTES_MAX, from the begin of a file. How many there
 * were: 0 if it cannot be read, or not in time. *cut: it went on, or was given up.
 */
size_t bounded_read(struct bounded_reader *reader, const char *path, char *to, size_t room,
		    bool *cut);

/* Ends the thread. The reader can be used again. */
void bounded_reader_end(struct bounded_reader *reader);

#endif
