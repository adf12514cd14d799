/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of the host. Kernel programs, and so all records, use them. A process in a time
 * namespace has other clocks (clock.h). Use these functions for times that are compared with
 * records; clock.h suffices for waits and measurements. Nanoseconds. All functions are thread-safe.
 */
#ifndef BASE_HOST_CLOCK_H
#define BASE_HOST_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * How far the clock `id` of a process is ahead of the host's clock, in *ahead_ns. Only
 * CLOCK_MONOTONIC and CLOCK_BOOTTIME can differ. `process` is the name of the process in /proc.
 * Returns 0, and an offset of 0 on kernels without time namespaces. -ENOTSUP if the kernel does not
 * say, because the process has made a namespace only for its children; -ESRCH if it is gone;
 * -EPROTO or another errno.
 */
int host_clock_offset(const char *process, clockid_t id, int64_t *ahead_ns);

/*
 * Writes the namespace of a process, "time:[4026531834]". `name` is a name in /proc/PID/ns,
 * `process` the name of the process in /proc. 0 or a negative errno.
 */
int host_clock_namespace(const char *process, const char *name, char *text, size_t size);

/*
 * The host's clock `id`, by the host_clock_offset() of this process, which is read once. If that
 * failed, it is the process's own clock, and host_clock_check() returns the reason, a negative
 * errno.
 */
uint64_t host_clock_read_ns(clockid_t id);
int host_clock_check(void);

/* The host's CLOCK_MONOTONIC: the time of all records. */
static inline uint64_t host_clock_now_ns(void)
{
	return host_clock_read_ns(CLOCK_MONOTONIC);
}

/* Converts a time of the host's CLOCK_MONOTONIC to this process's clock, to wait for it. */
uint64_t host_clock_own_ns(uint64_t host_ns);

#endif
