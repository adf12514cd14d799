// SPDX-License-Identifier: Apache-2.0
/* Runs a program on each CPU, which interrupts the thread there: bpf/running.bpf.c. */
#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "capture/kernel/kernel.h"
#include "programs.skel.h"

void capture_running_tell(struct capture *c)
{
	int program = bpf_program__fd(c->programs->progs.running_tell);

	for (u32 cpu = 0; cpu < c->ring_count; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, run, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

		int err = bpf_prog_test_run_opts(program, &run);

		if (err && err != -ENXIO) /* -ENXIO: the CPU is offline */
			c->counts.incomplete++;
	}
}
