// SPDX-License-Identifier: Apache-2.0
/*
 * Drops capabilities. They belong to a thread, so each thread of capture drops its own. Threads
 * that are made later begin with the rest.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "capture/kernel/kernel.h"

/*
 * Capabilities for looking at processes that begin later: at their mappings, files and rings. The
 * last one, if it is there, is for mapped files whose name is gone.
 */
#define KEPT                                                                                       \
	((1ull << CAP_SYS_PTRACE) | (1ull << CAP_DAC_READ_SEARCH) |                                \
	 (1ull << CAP_CHECKPOINT_RESTORE))

/* Whether the system call bpf() fails if this thread lacks the capabilities `without`. */
static bool is_refused(struct __user_cap_header_struct *header,
		       const struct __user_cap_data_struct had[2], u64 without, int map)
{
	struct __user_cap_data_struct less[2] = {had[0], had[1]};
	struct context_location none;
	u32 key = 0; /* no process */
	bool refused;

	for (int half = 0; half < 2; half++)
		less[half].effective &= ~(u32)(without >> (32 * half));
	if (syscall(SYS_capset, header, less))
		return false;
	refused = bpf_map_lookup_elem(map, &key, &none) && errno == EPERM;
	syscall(SYS_capset, header, had);
	return refused;
}

bool capture_capabilities_suffice(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	u64 has;

	if (syscall(SYS_capget, &header, data))
		return false;
	has = data[0].effective | (u64)data[1].effective << 32;
	return has & 1ull << CAP_SYS_ADMIN || (has & 1ull << CAP_BPF && has & 1ull << CAP_PERFMON);
}

u64 capture_capabilities_bpf(int map)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct had[2];

	if (syscall(SYS_capget, &header, had))
		return 0;
	return is_refused(&header, had, 1ull << CAP_BPF | 1ull << CAP_SYS_ADMIN, map)
		       ? 1ull << CAP_BPF
		       : 0;
}

int capture_capabilities_only(u64 kept)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	/* programs that this one runs must not get them back; fails without CAP_SETPCAP */
	for (int cap = 0; cap < 64; cap++) {
		if (!(kept >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	}
	if (syscall(SYS_capget, &header, data))
		return -errno;
	for (int half = 0; half < 2; half++) {
		u32 mask = (u32)(kept >> (32 * half));

		data[half].permitted &= mask;
		data[half].effective &= mask;
		data[half].inheritable &= mask;
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

int capture_capabilities_drop(u64 more)
{
	return capture_capabilities_only(KEPT | more);
}
