/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/filter.h"

#include <fnmatch.h>
#include <string.h>

#include "base/hash.h"

/* ---- what it asks for ---- */

bool filter_of_process(const struct filter *f)
{
	return f->pids_count || f->tid || f->program || f->command || f->cgroup;
}

bool filter_of_call(const struct filter *f)
{
	return f->file || f->peer || f->syscall;
}

bool filter_is_empty(const struct filter *f)
{
	return !filter_of_process(f) && !filter_of_call(f) && !f->service && !f->name;
}

unsigned int filter_kinds(const struct filter *f)
{
	unsigned int kinds = OF_ANY | OF_FUNCTION | (filter_is_empty(f) ? OF_COST | OF_REQUEST : 0);

	if (f->name)
		kinds &= OF_SPAN | OF_FUNCTION;
	if (filter_of_call(f))
		kinds &= OF_CALL | OF_WAIT;
	return kinds;
}

struct sum_choice filter_sums(const struct filter *f)
{
	struct sum_choice choice = {.tid = f->tid};

	if (f->pids_count == 1)
		choice.pid = f->pids[0];
	if (f->pids_count || f->program || f->command || f->cgroup || f->service)
		choice.by |= SUM_BY_PROCESS;
	if (f->file)
		choice.by |= SUM_BY_FILE | SUM_BY_PROCESS;
	if (f->peer)
		choice.by |= SUM_BY_FILE;
	if (f->syscall)
		choice.by |= SUM_BY_CALL;
	return choice;
}

/* ---- texts ---- */

bool filter_fits(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}

bool filter_fits_list(const char *patterns, const char *text)
{
	while (*patterns) {
		size_t length = strcspn(patterns, ",");
		char one[128];

		if (length < sizeof(one)) {
			memcpy(one, patterns, length);
			one[length] = '\0';
			if (filter_fits(one, text))
				return true;
		}
		patterns += length + (patterns[length] == ',');
	}
	return false;
}

#define CGROUP_MOUNT "/sys/fs/cgroup/"

bool filter_fits_tree(const char *pattern, const char *path)
{
	size_t length;

	if (strncmp(pattern, CGROUP_MOUNT, strlen(CGROUP_MOUNT)) == 0)
		pattern += strlen(CGROUP_MOUNT) - 1;
	while (*pattern == '/')
		pattern++;
	while (*path == '/')
		path++;
	length = strlen(pattern);
	while (length && pattern[length - 1] == '/')
		length--;
	if (strncmp(pattern, path, length) == 0 &&
	    (!length || !path[length] || path[length] == '/'))
		return true;
	return filter_fits(pattern, path);
}

/* ---- subjects ---- */

static bool key_fits(const char *key, const char *pattern, const struct subject *of,
		     bool (*fits)(const char *pattern, const char *text))
{
	struct key_value value;

	return !pattern ||
	       (key_find(key, strlen(key))->tell(of, &value) && fits(pattern, value.text));
}

static bool pid_is_among(const struct filter *f, u32 pid)
{
	for (size_t i = 0; i < f->pids_count; i++)
		if (f->pids[i] == pid)
			return true;
	return !f->pids_count;
}

static bool process_fits(const struct filter *f, const struct subject *of)
{
	return pid_is_among(f, of->pid) && key_fits("program", f->program, of, filter_fits) &&
	       key_fits("command", f->command, of, filter_fits) &&
	       key_fits("cgroup", f->cgroup, of, filter_fits_tree);
}

enum { MEMO_FITS = 1, MEMO_DIFFERS };

bool filter_takes_process(struct filter_use *use, const struct subject *of)
{
	typeof(use->memo[0]) *memo = &use->memo[hash_pair(of->pid, of->time_ns) % FILTER_MEMO];

	if (!memo->state || memo->pid != of->pid || memo->time_ns != of->time_ns) {
		memo->pid = of->pid;
		memo->time_ns = of->time_ns;
		memo->state = process_fits(use->filter, of) ? MEMO_FITS : MEMO_DIFFERS;
	}
	return memo->state == MEMO_FITS;
}

bool filter_takes(struct filter_use *use, const struct subject *of)
{
	const struct filter *f = use->filter;

	/* an exec gives any thread of a process the number of its leader */
	if (f->tid && of->tid && of->tid != f->tid && !(of->life && of->life->left_tid == f->tid))
		return false;
	return filter_takes_process(use, of) && key_fits("service", f->service, of, filter_fits) &&
	       key_fits("name", f->name, of, filter_fits) &&
	       key_fits("syscall", f->syscall, of, filter_fits_list) &&
	       key_fits("file", f->file, of, filter_fits) &&
	       key_fits("peer", f->peer, of, filter_fits);
}
