/* SPDX-License-Identifier: Apache-2.0 */
#include "up/task_names.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"

#define NAME_BYTES 16
#define PROCESSES_MAX 256
#define TASKS_MAX 4096
#define AGAIN_NS 1000000000u

struct task {
	u32 tid;
	char name[NAME_BYTES];
};

struct task_process {
	u64 read_ns;
	VEC(struct task) tasks;
};

static void name_read(u32 pid, struct task *task)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, task->tid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(task->name, sizeof(task->name), file))
		task->name[strcspn(task->name, "\n")] = '\0';
	fclose(file);
}

static void process_read(struct task_process *process, u32 pid)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	process->tasks.count = 0;
	process->read_ns = clock_now_ns();
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && process->tasks.count < TASKS_MAX && (entry = readdir(dir))) {
		struct task task = {.tid = (u32)strtoul(entry->d_name, NULL, 10)};

		if (!task.tid)
			continue;
		name_read(pid, &task);
		if (vec_push(&process->tasks, task))
			break;
	}
	if (dir)
		closedir(dir);
}

static u32 task_find(const struct task_process *process, const char *name)
{
	u32 found = 0;

	for (size_t i = 0; i < process->tasks.count; i++) {
		const struct task *task = &process->tasks.data[i];

		if (strncmp(task->name, name, NAME_BYTES - 1) != 0)
			continue;
		if (found)
			return 0;
		found = task->tid;
	}
	return found;
}

/* NULL: no memory. */
static struct task_process *process_get(struct task_names *names, u32 pid)
{
	struct task_process *process = map_get(&names->processes, pid);

	if (process)
		return process;
	if (names->processes.count >= PROCESSES_MAX)
		task_names_free(names);
	process = calloc(1, sizeof(*process));
	if (process && map_put(&names->processes, pid, process)) {
		free(process);
		return NULL;
	}
	return process;
}

u32 task_by_name(struct task_names *names, u32 pid, const char *name)
{
	struct task_process *process = process_get(names, pid);
	u32 found;

	if (!process)
		return 0;
	found = task_find(process, name);
	if (found || (process->read_ns && clock_now_ns() - process->read_ns < AGAIN_NS))
		return found;
	process_read(process, pid);
	return task_find(process, name);
}

bool task_is_of(u32 pid, u32 tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u", pid, tid);
	return access(path, F_OK) == 0;
}

void task_names_free(struct task_names *names)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&names->processes, &at, &entry)) {
		struct task_process *process = entry.value;

		vec_free(&process->tasks);
		free(process);
	}
	map_free(&names->processes);
}
