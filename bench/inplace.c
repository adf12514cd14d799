/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `inplace SECONDS PID...`: prints the run time of the kernel programs that the processes hold,
 * as the kernel accounts for it. There is a line for each program that ran:
 *
 *	NUMBER_OF_THE_PROCESS NAME RUNS NS_PER_RUN
 *
 * and one for "0 floor": a program that does nothing, at the same time and places.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "floor.skel.h"

#define PROGRAMS_MAX 512
#define NAME_MAX_BYTES 128

struct program {
	int fd;
	int owner; /* index of its process, from 1; 0: the floor */
	__u64 runs, ns;
};

static struct program programs[PROGRAMS_MAX];
static size_t program_count;

static int program_read(struct program *p)
{
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);
	int err = bpf_obj_get_info_by_fd(p->fd, &info, &size);

	if (err)
		return err;
	p->runs = info.run_cnt - p->runs;
	p->ns = info.run_time_ns - p->ns;
	return 0;
}

/* The name of its function; the kernel's name of the program is truncated. */
static void program_name(const struct program *p, char name[NAME_MAX_BYTES])
{
	struct bpf_func_info function = {0};
	struct bpf_prog_info info = {.nr_func_info = 1,
				     .func_info_rec_size = sizeof(function),
				     .func_info = (uintptr_t)&function};
	__u32 size = sizeof(info);
	int err = bpf_obj_get_info_by_fd(p->fd, &info, &size);
	struct btf *btf = err ? NULL : btf__load_from_kernel_by_id(info.btf_id);
	const struct btf_type *type = btf ? btf__type_by_id(btf, function.type_id) : NULL;

	snprintf(name, NAME_MAX_BYTES, "%s",
		 type ? btf__name_by_offset(btf, type->name_off) : info.name);
	btf__free(btf);
}

static void program_add(int fd, int owner)
{
	if (fd >= 0 && program_count < PROGRAMS_MAX)
		programs[program_count++] = (struct program){.fd = fd, .owner = owner};
}

/* The programs that a process holds open. */
static int programs_of(const char *pid, int owner)
{
	char path[64], line[128];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		char file[sizeof(path) + 256];
		unsigned int id;
		FILE *f;

		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		f = entry->d_name[0] == '.' ? NULL : fopen(file, "r");
		if (!f)
			continue;
		/* a link names its program, too */
		while (fgets(line, sizeof(line), f) && strncmp(line, "link_id", 7) != 0) {
			if (sscanf(line, "prog_id: %u", &id) == 1)
				program_add(bpf_prog_get_fd_by_id(id), owner);
		}
		fclose(f);
	}
	closedir(dir);
	return 0;
}

static struct floor *floor_start(void)
{
	struct floor *floor = floor__open_and_load();
	struct bpf_program *program;

	if (!floor || floor__attach(floor)) {
		floor__destroy(floor);
		return NULL;
	}
	bpf_object__for_each_program(program, floor->obj) program_add(bpf_program__fd(program), 0);
	return floor;
}

static void tell(void)
{
	__u64 runs = 0, ns = 0;

	for (size_t i = 0; i < program_count; i++) {
		struct program *p = &programs[i];
		char name[NAME_MAX_BYTES];

		if (program_read(p))
			continue;
		program_name(p, name);
		if (p->owner && p->runs)
			printf("%d %s %llu %.1f\n", p->owner, name, p->runs,
			       (double)p->ns / (double)p->runs);
		runs += p->owner ? 0 : p->runs;
		ns += p->owner ? 0 : p->ns;
	}
	printf("0 floor %llu %.1f\n", runs, runs ? (double)ns / (double)runs : 0.0);
}

int main(int argc, char **argv)
{
	struct floor *floor = floor_start();
	int stats;

	if (argc < 3 || !floor) {
		fprintf(stderr, argc < 3 ? "usage: inplace SECONDS PID...\n"
					 : "inplace: cannot load programs\n");
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		if (programs_of(argv[i], i - 1))
			fprintf(stderr, "inplace: %s: no such process\n", argv[i]);
	}
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	for (size_t i = 0; i < program_count; i++)
		program_read(&programs[i]);
	usleep((useconds_t)(atof(argv[1]) * 1e6));
	tell();
	if (stats >= 0)
		close(stats);
	floor__destroy(floor);
	return stats < 0;
}
