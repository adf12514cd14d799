// SPDX-License-Identifier: Apache-2.0
/* Computes how many descriptors a recording needs: for programs, maps, links and events. */
#include <errno.h>
#include <sys/resource.h>

#include <bpf/libbpf.h>

#include "capture/kernel/kernel.h"

#define ALWAYS 256 /* programs, maps, links and the recorder's own files take about 160 */
#define PER_CPU 4  /* an event and a link for each of two ends of page faults */
#define PER_EVENT 2

static rlim_t descriptors_wanted(const struct capture *c)
{
	int cpus = libbpf_num_possible_cpus();

	return ALWAYS + PER_CPU * (rlim_t)(cpus > 0 ? cpus : 1) +
	       PER_EVENT * (rlim_t)c->event_count;
}

void capture_descriptors_room(const struct capture *c)
{
	rlim_t wanted = descriptors_wanted(c);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void capture_descriptors_hint(const struct capture *c, int err, struct error *e)
{
	unsigned long long wanted = descriptors_wanted(c);
	struct rlimit limit;

	if (err != -EMFILE || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (wanted <= limit.rlim_cur) /* more are open: inherited ones, or rings */
		wanted += limit.rlim_cur;
	error_hint(e, "%llu file descriptors are enough: raise the limit ('ulimit -n %llu')",
		   wanted, wanted);
}
