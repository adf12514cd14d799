/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of the host, which kernel programs and so all records read. A process in a time
 * namespace reads others (clock.h): what stands beside records is read here, and
 * what only waits or measures may be read there. In nanoseconds; threads may call all at once.
 */
#ifndef BASE_HOST_CLOCK_H
#define BASE_HOST_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * What the clock `id` of a process is ahead of the host's: CLOCK_MONOTONIC or
 * CLOCK_BOOTTIME, others are never. `process`: its name in /proc. 0 on kernels without time
 * namespaces; -ENOTSUP where the kernel does not tell, as the process has made a namespace
 * only for its children; -ESRCH if it is gone; -EPROTO or another errno.
 */
int host_clock_offset(const char *process, clockid_t id, int64_t *ahead_ns);

/*
 * Which namespace a process is in, "time:[4026531834]": `name` as in /proc/PID/ns, `process` its
 * name in /proc. 0 or a negative errno.
 */
int host_clock_namespace(const char *process, const char *name, char *text, size_t size);

/*
 * The host's clock `id`, as host_clock_offset() of this process says: it is asked once.
 * Where it does not know, the process's own; host_clock_check() then tells why.
 */
uint64_t host_clock_read_ns(clockid_t id);
int host_clock_check(void);

/* The host's CLOCK_MONOTONIC: the time of all records. */
static inline uint64_t host_clock_now_ns(void)
{
	return host_clock_read_ns(CLOCK_MONOTONIC);
}

/* A time of the host's CLOCK_MONOTONIC as this process's own, for a wait until then. */
uint64_t host_clock_own_ns(uint64_t host_ns);

#endif
