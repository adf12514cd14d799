/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/filter_options.h"

struct filter filter_of(const struct filter_options *o)
{
	return (struct filter){.pids = o->pids.data,
			       .pids_count = o->pids.count,
			       .tid = o->tid,
			       .program = o->program,
			       .command = o->command,
			       .service = o->service,
			       .name = o->name,
			       .cgroup = o->cgroup,
			       .file = o->file,
			       .peer = o->peer,
			       .syscall = o->syscall};
}

void filter_options_release(struct filter_options *o)
{
	vec_free(&o->pids);
}
