// SPDX-License-Identifier: Apache-2.0
/* Chooses among the features of the kernel (feature_table.c), attaches and detaches them. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/cpu_list.h"
#include "base/host_clock.h"
#include "capture/kernel/kernel.h"
#include "programs.skel.h"

#define KERNEL_ENOTSUPP 524 /* an errno of the kernel that no header for user space has */

static struct bpf_program *feature_program(const struct capture *c, const char *name)
{
	return bpf_object__find_program_by_name(c->programs->obj, name);
}

static bool feature_is_fault(const char *name)
{
	return strncmp(name, "page_fault", 10) == 0 || strcmp(name, "cpuhp_exit") == 0;
}

/* Whether the program is attached only while calls are recorded. */
static bool feature_is_call(const char *name)
{
	return strncmp(name, "sys_", 4) == 0 || feature_is_fault(name);
}

/* Whether the program stands in for those of calls while they are not attached. */
static bool feature_is_wait(const char *name)
{
	return strcmp(name, "vm_unmapped_area") == 0; /* a call that maps is seen by itself */
}

/* Whether the program is for byte ranges of connections. */
static bool feature_is_bytes(const struct capture_feature *f)
{
	const char *name = f->instead_of ? f->instead_of : f->name;

	return strncmp(name, "sock_", 5) == 0 || strncmp(name, "tcp_", 4) == 0 ||
	       strncmp(name, "unix_", 5) == 0;
}

static bool feature_wanted(const struct capture_options *options, const struct capture_feature *f)
{
	const char *name = f->instead_of ? f->instead_of : f->name;

	if (feature_is_fault(name))
		return !options->no_faults;
	if (strncmp(name, "block_", 6) == 0)
		return !options->no_blocks;
	return !feature_is_bytes(f) || !options->no_bytes;
}

int capture_features_choose(struct capture *c, const struct capture_options *options,
			    struct error *e)
{
	int count = capture_features_probe(c->features, CAPTURE_FEATURES_MAX, e);

	if (count < 0)
		return count;
	c->feature_count = count;
	capture_features_try_functions(c->features, c->feature_count);
	for (size_t i = 0; i < c->feature_count; i++) {
		struct capture_feature *feature = &c->features[i];
		struct bpf_program *program = feature_program(c, feature->name);

		if (feature->needed && !feature->available)
			return error_say(e, ENOTSUP,
					 "this kernel has no tracepoint %s (%s): another kernel is "
					 "needed, and 'fathom doctor' shows what this one has",
					 feature->name, feature->what);
		if (!program)
			continue;
		feature->on = feature->available && feature_wanted(options, feature);
		feature->tells &= feature_wanted(options, feature);
		bpf_program__set_autoload(program, feature->on);
	}
	return 0;
}

/* Opens a software event of a CPU that is online, with period 1. */
static int perf_open(u64 event, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event,
		.sample_period = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Attaches a program to an event of a CPU. NULL with errno, for example if the CPU is gone. */
static struct bpf_link *perf_attach(struct bpf_program *program, u64 event, int cpu)
{
	int fd = perf_open(event, cpu);
	struct bpf_link *link = fd < 0 ? NULL : bpf_program__attach_perf_event(program, fd);
	int err = errno;

	if (fd >= 0 && !link)
		close(fd);
	errno = err;
	return link;
}

static bool faults_on(const struct capture *c)
{
	for (size_t i = 0; i < c->feature_count; i++) {
		if (strcmp(c->features[i].name, "page_fault_user") == 0)
			return c->features[i].on;
	}
	return false;
}

static u64 *fault_ends_since(const struct capture *c, u32 cpu)
{
	return &c->controls[cpu].fault_ends_ns;
}

static void fault_ends_detach(struct capture *c, u32 cpu)
{
	struct capture_fault_ends *ends = &c->fault_ends[cpu];

	__atomic_store_n(fault_ends_since(c, cpu), FAULT_ENDS_NONE, __ATOMIC_SEQ_CST);
	bpf_link__destroy(ends->minor);
	bpf_link__destroy(ends->major);
	*ends = (struct capture_fault_ends){NULL, NULL};
}

/* Whether an error means that memory or descriptors ran out. */
static bool feature_starves(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM;
}

/* Whether an error means that this kernel has no such place, or no program can be attached there.
 */
static bool feature_is_missing(int err)
{
	switch (err) {
	case ENOENT:
	case ESRCH:
	case ENODEV:
	case EINVAL:
	case ENOSYS:
	case EOPNOTSUPP:
	case KERNEL_ENOTSUPP:
	case EADDRNOTAVAIL:
	case EBUSY: /* a live patch has replaced the function */
		return true;
	default:
		return false;
	}
}

/* Attaches the ends of page faults on one CPU. No error if the CPU goes offline meanwhile. */
static int fault_ends_attach(struct capture *c, u32 cpu)
{
	struct capture_fault_ends *ends = &c->fault_ends[cpu];
	struct programs *p = c->programs;
	u64 none = FAULT_ENDS_NONE;

	errno = 0;
	if (!ends->minor)
		ends->minor = perf_attach(p->progs.fault_minor_end, PERF_COUNT_SW_PAGE_FAULTS_MIN,
					  cpu);
	if (!ends->major)
		ends->major = perf_attach(p->progs.fault_major_end, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
					  cpu);
	if (!ends->minor || !ends->major)
		return feature_starves(errno) ? -errno : 0;
	__atomic_compare_exchange_n(fault_ends_since(c, cpu), &none, host_clock_now_ns(), false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return 0;
}

void capture_features_cpus_changed(struct capture *c)
{
	for (u32 cpu = 0; c->fault_ends && cpu < c->ring_count; cpu++) {
		if (__atomic_load_n(fault_ends_since(c, cpu), __ATOMIC_RELAXED) !=
		    FAULT_ENDS_CHANGED)
			continue;
		fault_ends_detach(c, cpu);
		fault_ends_attach(c, cpu);
	}
}

int capture_features_cpus(struct capture *c)
{
	char online[CPU_LIST_BYTES];
	bool known = c->fault_ends && cpu_list_online(online) == 0;
	int err = 0;

	for (u32 cpu = 0; c->fault_ends && cpu < c->ring_count && !err; cpu++) {
		bool gone = known && !cpu_list_has(online, cpu);

		/* a CPU without events may have come back since the list was read, and told so */
		if (gone && (c->fault_ends[cpu].minor || c->fault_ends[cpu].major))
			fault_ends_detach(c, cpu);
		else if (!gone && __atomic_load_n(fault_ends_since(c, cpu), __ATOMIC_RELAXED) ==
					  FAULT_ENDS_NONE)
			err = fault_ends_attach(c, cpu);
	}
	return err;
}

bool capture_features_open_events(const struct capture *c)
{
	if (!faults_on(c))
		return false;
	return !c->fault_ends || c->ring_count > 1;
}

static void faults_detach(struct capture *c)
{
	for (u32 cpu = 0; c->fault_ends && cpu < c->ring_count; cpu++)
		fault_ends_detach(c, cpu);
	free(c->fault_ends);
	c->fault_ends = NULL;
}

/*
 * Attaches the ends of page faults on all CPUs. If that is not allowed (perf_event_paranoid, a
 * seccomp filter), faults are not recorded at all: each would seem to last until the next system
 * call.
 */
static int faults_attach(struct capture *c)
{
	int err;

	c->fault_ends = calloc(c->ring_count, sizeof(*c->fault_ends));
	if (!c->fault_ends)
		return -ENOMEM;
	for (u32 cpu = 0; cpu < c->ring_count; cpu++)
		*fault_ends_since(c, cpu) = FAULT_ENDS_NONE;
	err = capture_features_cpus(c);
	for (u32 cpu = 0; cpu < c->ring_count && !err; cpu++) {
		if (c->fault_ends[cpu].minor && c->fault_ends[cpu].major)
			return 0;
	}
	faults_detach(c);
	for (size_t i = 0; i < c->feature_count && !err; i++)
		c->features[i].on &= !feature_is_fault(c->features[i].name);
	return err;
}

static int feature_attach(struct capture *c, size_t i, struct error *e)
{
	struct capture_feature *feature = &c->features[i];
	struct bpf_program *program = feature_program(c, feature->name);

	c->links[i] = bpf_program__attach(program);
	c->program_fds[i] = bpf_program__fd(program);
	if (c->links[i])
		return 0;
	if (feature->needed || !feature_is_missing(errno))
		return capture_messages_fail(e, errno, feature->name);
	feature->on = false;
	return 0;
}

int capture_features_calls_attach(struct capture *c, struct error *e)
{
	int err = faults_on(c) ? faults_attach(c) : 0;

	for (size_t i = 0; i < c->feature_count && !err; i++)
		if (c->features[i].on && feature_is_call(c->features[i].name))
			err = feature_attach(c, i, e);
	if (err)
		capture_features_calls_detach(c);
	return err ? error_set(e, err, "cannot attach to the kernel") : 0;
}

int capture_features_waits_attach(struct capture *c, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < c->feature_count && !err; i++)
		if (c->features[i].on && feature_is_wait(c->features[i].name) && !c->links[i])
			err = feature_attach(c, i, e);
	return err ? error_set(e, err, "cannot attach to the kernel") : 0;
}

int capture_features_bytes_attach(struct capture *c, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < c->feature_count && !err; i++)
		if (c->features[i].on && feature_is_bytes(&c->features[i]) && !c->links[i])
			err = feature_attach(c, i, e);
	if (err)
		capture_features_bytes_detach(c);
	return err ? error_set(e, err, "cannot attach to the kernel") : 0;
}

void capture_features_bytes_detach(struct capture *c)
{
	for (size_t i = c->feature_count; i-- > 0;) {
		if (!feature_is_bytes(&c->features[i]))
			continue;
		bpf_link__destroy(c->links[i]);
		c->links[i] = NULL;
	}
}

void capture_features_calls_detach(struct capture *c)
{
	faults_detach(c);
	for (size_t i = c->feature_count; i-- > 0;) {
		if (!feature_is_call(c->features[i].name))
			continue;
		bpf_link__destroy(c->links[i]);
		c->links[i] = NULL;
	}
}

/* Those of calls come last, so that what they depend on is followed then. */
int capture_features_attach(struct capture *c, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < c->feature_count && !err; i++)
		if (c->features[i].on && !feature_is_call(c->features[i].name) &&
		    !feature_is_wait(c->features[i].name))
			err = feature_attach(c, i, e);
	if (err)
		error_set(e, err, "cannot attach to the kernel");
	else if (c->filters & FILTER_CALLS)
		err = capture_features_waits_attach(c, e);
	if (!err && (!(c->filters & FILTER_CALLS) || c->filters & FILTER_SCOPES))
		err = capture_features_calls_attach(c, e);
	if (err)
		capture_features_detach(c);
	return err;
}

void capture_features_detach(struct capture *c)
{
	faults_detach(c);
	for (size_t i = CAPTURE_FEATURES_MAX; i-- > 0;) {
		bpf_link__destroy(c->links[i]);
		c->links[i] = NULL;
	}
}
