// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that the kernel's list of tasks does not show to programs. Some virtual machines hide
 * their first process so. /proc has their names. If the user named such a process, nothing can be
 * recorded of it, and it is counted.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/host_clock.h"
#include "capture/scope/scope.h"
#include "capture/state.h"
#include "programs.skel.h"

#define INITIAL_PID_NAMESPACE 0xeffffffcu

/* Calls each(arg, number) for each entry of the directory that is a number. */
static int numbers_each(const char *path, void *arg, int (*each)(void *arg, u32 number))
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			err = each(arg, (u32)strtoul(entry->d_name, NULL, 10));
	if (dir)
		closedir(dir);
	return err;
}

struct telling {
	struct capture *c;
	const struct capture_sink *sink;
	u32 pid;
};

static int thread_tell(void *arg, u32 tid)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	struct telling *t = arg;
	union {
		struct record_name r;
		u8 slots[2 * RECORD_SLOT_BYTES];
	} out = {.r = {.head = {.kind = RECORD_name, .slots = 1, .cpu = 0xffff}}};
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", t->pid, tid);
	/* read before the name, so that a later name gets a later time */
	out.r.head.time_ns = host_clock_now_ns();
	out.r.head.tid = tid;
	out.r.head.pid = t->pid;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, out.r.comm, sizeof(out.r.comm) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	out.r.comm[n] = '\0';
	out.r.comm[strcspn(out.r.comm, "\n")] = '\0';
	out.r.comm_len = (u16)strlen(out.r.comm);
	return t->sink->record(t->sink->arg, &stream, &out.r.head);
}

static int process_tell(void *arg, u32 pid)
{
	struct telling *t = arg;
	char path[64];

	if (map_get(&t->c->shown, pid) || pid == (u32)getpid() || pid == (u32)t->c->child)
		return 0;
	t->pid = pid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return numbers_each(path, t, thread_tell);
}

int capture_hidden_tell(struct capture *c, const struct capture_sink *sink)
{
	struct telling t = {.c = c, .sink = sink};
	struct stat st;

	/* in a pid namespace /proc has other numbers than records have */
	if (!c->programs->rodata->scope_host || stat("/proc/self/ns/pid", &st) ||
	    st.st_ino != INITIAL_PID_NAMESPACE)
		return 0;
	return numbers_each("/proc", &t, process_tell);
}

void capture_hidden_count(struct capture *c)
{
	int pids = bpf_map__fd(c->programs->maps.scope_pids);
	u32 pid, *from = NULL;

	while (bpf_map_get_next_key(pids, from, &pid) == 0) {
		from = &pid;
		if (map_get(&c->shown, pid))
			continue;
		c->counts.hidden_pids++;
		c->counts.hidden_pid = pid;
	}
}
