// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Programs that do nothing, on the hot tracepoints: the cost of the attachment itself. */
#include "bpf/kernel.h"

char LICENSE[] SEC("license") = "GPL";

#define FLOOR(name)                                                                                \
	SEC("tp_btf/" #name) int BPF_PROG(name)                                                    \
	{                                                                                          \
		return 0;                                                                          \
	}

FLOOR(sys_enter)
FLOOR(sys_exit)
FLOOR(sched_switch)
FLOOR(sched_waking)
