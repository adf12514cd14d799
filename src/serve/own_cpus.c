/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread had which CPU, as a member of the answer of lanes. */
#include <errno.h>

#include "serve/own.h"

#define RUNS_OF_CPU 2000 /* a screen has about so many pixels */

static uint64_t member_of(const struct cpu_run *run, unsigned int member, uint64_t from_ns)
{
	switch (member) {
	case 0:
		return run->cpu;
	case 1:
		return run->begin_ns - from_ns;
	case 2:
		return run->end_ns - run->begin_ns;
	case 3:
		return run->busy_ns;
	case 4:
		return run->runs;
	default:
		return run->thread;
	}
}

static void runs_write(struct json *j, const struct cpu_runs *found, uint64_t from_ns)
{
	static const char *const members[] = {"cpu",	 "begin_ns", "duration_ns",
					      "busy_ns", "runs",     "thread"};

	for (unsigned int m = 0; m < sizeof(members) / sizeof(*members); m++) {
		json_array_begin(j, members[m]);
		for (size_t i = 0; i < found->list.count; i++)
			json_u64(j, NULL, member_of(&found->list.data[i], m, from_ns));
		json_array_end(j);
	}
	json_array_begin(j, "threads");
	for (size_t i = 0; i < found->threads.count; i++) {
		const struct cpu_thread *thread = &found->threads.data[i];

		json_object_begin(j, NULL);
		json_u64(j, "pid", thread->pid);
		json_u64(j, "tid", thread->tid);
		json_string(j, "name", thread->name);
		json_object_end(j);
	}
	json_array_end(j);
}

int own_cpus_write(struct query *q, struct json *j, uint64_t from_ns, uint64_t to_ns)
{
	const struct cpu_runs_query query = {from_ns, to_ns, (to_ns - from_ns) / RUNS_OF_CPU};
	const struct serve_more *more = q->source->more;
	struct cpu_runs found = {0};
	int err = more && more->cpus ? more->cpus(more->arg, &query, &found, q->e) : -ENOENT;

	if (err != -ENOMEM) {
		json_object_begin(j, "cpus");
		if (err)
			json_string(j, "why",
				    more && more->cpus ? q->e->text : "this server records no CPU");
		else
			json_string(j, "host", found.host);
		runs_write(j, &found, from_ns);
		json_object_end(j);
	}
	vec_free(&found.list);
	vec_free(&found.threads);
	return err == -ENOMEM ? err : 0;
}
