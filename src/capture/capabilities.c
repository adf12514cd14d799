// SPDX-License-Identifier: Apache-2.0
/*
 * Giving privileges up. Capabilities belong to a thread: each thread of capture
 * calls this, and threads that are made later begin with what is left.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/internal.h"

/*
 * To look into processes that begin later: their memory maps, files and rings;
 * the last one, where it is there, for mapped files whose name is gone.
 */
#define KEPT                                                                                       \
	((1ull << CAP_SYS_PTRACE) | (1ull << CAP_DAC_READ_SEARCH) |                                \
	 (1ull << CAP_CHECKPOINT_RESTORE))

int capture_capabilities_drop(u64 more)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	u64 keep = KEPT | more;

	/* nor may a program that this one runs have them; without CAP_SETPCAP, let it be */
	for (int cap = 0; cap < 64; cap++) {
		if (!(keep >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	}
	if (syscall(SYS_capget, &header, data))
		return -errno;
	for (int half = 0; half < 2; half++) {
		u32 mask = keep >> (32 * half);

		data[half].permitted &= mask;
		data[half].effective &= mask;
		data[half].inheritable &= mask;
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}
