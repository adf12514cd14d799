// SPDX-License-Identifier: Apache-2.0
/*
 * Where calls are not recorded, the programs read from the kernel's own variables whether a CPU is
 * in a softirq (bpf/cpu.h), so none is attached to the begin and end of softirqs. These variables
 * are found here, by their offsets in the memory of each CPU. If a kernel has them elsewhere, the
 * programs are attached as where calls are recorded.
 */
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "capture/kernel/kernel.h"
#include "programs.skel.h"

#define MEMBER_DEPTH 4 /* of structs without a name in one another */

/* The section of variables that each CPU has; NULL: the kernel does not describe it. */
static const struct btf_type *cpu_section(const struct btf *btf)
{
	s32 id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);

	return id > 0 ? btf__type_by_id(btf, id) : NULL;
}

/* The offset of a variable, and its type. 0: there is none, or it is the first, which none is. */
static u32 variable_find(const struct btf *btf, const char *name, u32 *type)
{
	const struct btf_type *section = cpu_section(btf);
	const struct btf_var_secinfo *v = section ? btf_var_secinfos(section) : NULL;

	for (u32 i = 0; v && i < btf_vlen(section); i++) {
		const struct btf_type *variable = btf__type_by_id(btf, v[i].type);

		if (strcmp(btf__name_by_offset(btf, variable->name_off), name) != 0)
			continue;
		*type = variable->type;
		return v[i].offset;
	}
	return 0;
}

/* The offset in bytes of a member, also of one in members without a name. -1: there is none. */
static s64 member_find(const struct btf *btf, u32 id, const char *name, u32 depth)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	for (u32 i = 0; t && btf_is_composite(t) && i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		u32 bits = btf_member_bit_offset(t, i);
		s64 inner = -1;

		if (strcmp(btf__name_by_offset(btf, m->name_off), name) == 0)
			return bits / 8;
		if (!m->name_off && depth)
			inner = member_find(btf, m->type, name, depth - 1);
		if (inner >= 0)
			return bits / 8 + inner;
	}
	return -1;
}

/* The offset of a member of a variable; 0: there is none. */
static u32 variable_member(const struct btf *btf, const char *variable, const char *member)
{
	u32 type, at = variable_find(btf, variable, &type);
	s64 inner = at ? member_find(btf, type, member, MEMBER_DEPTH) : -1;

	return inner < 0 ? 0 : at + (u32)inner;
}

/* Linux 6.2 to 6.14 have the variables that are used most in one struct. */
static u32 hot_variable(const struct btf *btf, const char *name, const char *member)
{
	u32 type, at = variable_find(btf, name, &type);

	return at ? at : variable_member(btf, "pcpu_hot", member);
}

void capture_softirqs_find(struct programs *programs, const struct btf *btf)
{
	u32 type, run_queue = variable_find(btf, "runqueues", &type);
	u32 running = hot_variable(btf, "current_task", "current_task");
	u32 preempt = hot_variable(btf, "__preempt_count", "preempt_count");
	u32 raised = hot_variable(btf, "__softirq_pending", "softirq_pending");
	u32 counts = variable_member(btf, "kstat", "softirqs");
	u32 receives = variable_member(btf, "softnet_data", "in_net_rx_action");
	u32 thread = variable_find(btf, "ksoftirqd", &type);

	/* a real-time kernel counts softirqs by thread */
	if (!run_queue || !running || !preempt || !raised || !counts || !receives || !thread ||
	    capture_type_has("task_struct", "softirq_disable_cnt"))
		return;
	programs->rodata->cpu_run_queue = run_queue;
	programs->rodata->cpu_running_task = running;
	programs->rodata->cpu_preempt_count = preempt;
	programs->rodata->cpu_softirqs_raised = raised;
	programs->rodata->cpu_softirq_counts = counts;
	programs->rodata->cpu_receives = receives;
	programs->rodata->cpu_softirq_thread = thread;
}

/* Whether the variables are there on each CPU that is online. */
static bool memory_is_found(struct capture *c)
{
	int program = bpf_program__fd(c->programs->progs.cpu_memory_try);
	bool found = false;

	for (u32 cpu = 0; cpu < c->ring_count; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, run, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

		if (bpf_prog_test_run_opts(program, &run))
			continue; /* it is offline */
		if (!run.retval)
			return false;
		found = true;
	}
	return found;
}

static void feature_drop(struct capture_feature *f)
{
	f->on = f->tells = false;
}

void capture_softirqs_read(struct capture *c, bool wanted)
{
	bool read = wanted && c->programs->rodata->cpu_run_queue && memory_is_found(c);

	c->programs->bss->softirqs_read = read;
	for (size_t i = 0; i < c->feature_count; i++) {
		struct capture_feature *f = &c->features[i];

		if (strncmp(f->name, read ? "softirq_" : "timer_expire_", read ? 8 : 13) == 0)
			feature_drop(f);
	}
}
