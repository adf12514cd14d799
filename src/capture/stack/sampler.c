// SPDX-License-Identifier: Apache-2.0
#include "capture/stack/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/cpu_list.h"

struct sampler {
	u64 period_ns;
	u32 cpus;
	struct bpf_link *links[]; /* by CPU */
};

int sampler_new(struct sampler **out, u32 cpus, u64 hz)
{
	struct sampler *s = calloc(1, sizeof(*s) + cpus * sizeof(s->links[0]));

	if (!s)
		return -ENOMEM;
	s->cpus = cpus;
	s->period_ns = 1000000000ull / hz;
	*out = s;
	return 0;
}

/* The clock of a CPU. It does not run the program while the CPU has nothing to do. */
static int clock_open(const struct sampler *s, u32 cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = s->period_ns,
		.exclude_idle = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct bpf_link *clock_attach(const struct sampler *s, struct bpf_program *program, u32 cpu)
{
	int fd = clock_open(s, cpu);
	struct bpf_link *link = fd < 0 ? NULL : bpf_program__attach_perf_event(program, fd);
	int err = errno;

	if (fd >= 0 && !link)
		close(fd);
	errno = err;
	return link;
}

int sampler_attach(struct sampler *s, struct bpf_program *program)
{
	char online[CPU_LIST_BYTES];
	bool known = cpu_list_online(online) == 0, any = false;
	int err = ENODEV;

	for (u32 cpu = 0; cpu < s->cpus; cpu++) {
		if (known && !cpu_list_has(online, cpu)) {
			bpf_link__destroy(s->links[cpu]);
			s->links[cpu] = NULL;
			continue;
		}
		if (!s->links[cpu]) {
			s->links[cpu] = clock_attach(s, program, cpu);
			err = s->links[cpu] ? err : errno;
		}
		any |= s->links[cpu] != NULL;
	}
	return any ? 0 : -err;
}

void sampler_detach(struct sampler *s)
{
	for (u32 cpu = 0; s && cpu < s->cpus; cpu++) {
		bpf_link__destroy(s->links[cpu]);
		s->links[cpu] = NULL;
	}
}

void sampler_free(struct sampler *s)
{
	sampler_detach(s);
	free(s);
}
