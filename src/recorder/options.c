/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/options.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

struct capture_options recorder_capture_options(const struct recorder_options *o)
{
	return (struct capture_options){
		.host = o->host,
		.pids = o->pids,
		.pid_count = o->pid_count,
		.pids_alone = o->pids_alone,
		.cgroups = o->cgroups,
		.cgroup_count = o->cgroup_count,
		.syscalls = o->syscalls,
		.events = o->events,
		.event_count = o->event_count,
		.spans_only = o->spans_only,
		.no_calls = o->no_calls,
		.calls_may_end = o->budget_ppm,
		.no_bytes = o->no_bytes,
		.detail_scopes = o->detail_scopes,
		.detail_scope_count = o->detail_scope_count,
		.stacks_min_ns = o->stacks_min_ns,
		.sample_hz = o->sample_hz,
		.stack_bytes = o->stack_bytes,
		.drop_capabilities = true,
		.flight = o->flight,
		.buffer_bytes = o->buffer_bytes,
	};
}

static u64 capabilities_for(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, 0) || st.st_uid != geteuid() ? 1ull << CAP_DAC_OVERRIDE : 0;
}

u64 recorder_directory_capabilities(const struct recording_hold *hold,
				    const struct chunk_owner *owner)
{
	if (owner)
		return 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_CHOWN;
	return capabilities_for(hold->dir, ".");
}

u64 recorder_settle_capabilities(const struct recorder_options *o, const struct chunk_owner *owner)
{
	return o->settle && !owner ? capabilities_for(AT_FDCWD, ".") : 0;
}

enum capture_detail recorder_own_detail(const struct recorder_options *o)
{
	if (o->detail_scope_count)
		return CAPTURE_DETAIL_SCOPES;
	return o->no_calls ? CAPTURE_DETAIL_WAITS : CAPTURE_DETAIL_CALLS;
}
