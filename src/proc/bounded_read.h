/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files whose reads can block without limit. A read of /proc/PID/cmdline, for one, reads the
 * memory of a process, which may be mapped from a file system that does not answer.
 *
 * A thread of its own reads, and the caller waits a tenth of a second for it. A thread that is
 * stuck is left behind with its own memory, and ends once its read returns. Another thread takes
 * its place, until BOUNDED_STUCK_MAX threads are stuck: then nothing is read any more.
 */
#ifndef PROC_BOUNDED_READ_H
#define PROC_BOUNDED_READ_H

#include <stdbool.h>
#include <stddef.h>

#define BOUNDED_STUCK_MAX 8
#define BOUNDED_BYTES_MAX 1024

struct bounded_thread;

/* Starts with all zero. For one calling thread. */
struct bounded_reader {
	struct bounded_thread *thread; /* owned; NULL: none runs */
	unsigned int stuck;	       /* threads that were left behind */
};

/*
 * Reads at most `room` bytes, and at most BOUNDED_BYTES_MAX, from the begin of a file. Returns the
 * number of bytes, 0 if the file cannot be read, or not in time. *cut tells whether the file is
 * longer, or the read was given up.
 */
size_t bounded_read(struct bounded_reader *reader, const char *path, char *to, size_t room,
		    bool *cut);

/* Ends the thread. The reader can be used again afterwards. */
void bounded_reader_end(struct bounded_reader *reader);

#endif
