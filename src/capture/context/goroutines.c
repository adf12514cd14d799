/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/context/goroutines.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "elf/go.h"
#include "proc/bounded_read.h"

struct look {
	struct goroutines_probe found;
	struct bytes_map known; /* struct file -> not NULL: it was looked at */
	struct bounded_reader reader;
};

struct file {
	uint64_t device, inode;
};

/* Whether reading the file takes no longer than a moment, on whatever file system it is. */
static bool file_answers(struct look *look, const char *path)
{
	char begin[64];
	bool cut;

	return bounded_read(&look->reader, path, begin, sizeof(begin), &cut) == sizeof(begin);
}

static struct elf_go file_read(const char *path, uint64_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_source source = elf_source_file(fd, bytes);
	struct elf_go go = {0};

	if (fd < 0)
		return go;
	(void)elf_go_read(&source, &go);
	close(fd);
	return go;
}

static const char *why_not(const struct elf_go *go)
{
#if defined(__x86_64__)
	return go->is == ELF_GO_UNVERSED ? "another version" : "stripped, with C code";
#else
	return "not on this machine";
#endif
}

static void program_count(struct goroutines_probe *found, pid_t pid, const struct elf_go *go)
{
	found->programs += go->is != ELF_GO_NONE;
	if (go->is == ELF_GO_NONE || go->is == ELF_GO_LOCATED)
		return;
	if (found->unread++)
		return;
	found->pid = pid;
	found->why = why_not(go);
	memcpy(found->version, go->version, sizeof(found->version));
}

_Static_assert(sizeof(((struct goroutines_probe *)NULL)->version) == ELF_GO_VERSION_BYTES,
	       "a version fits");

static int process_look(struct look *look, pid_t pid)
{
	struct file file;
	struct elf_go go;
	struct statx info;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	/* this asks no file system, which may not answer */
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_SIZE, &info))
		return 0;
	file = (struct file){(uint64_t)info.stx_dev_major << 32 | info.stx_dev_minor, info.stx_ino};
	if (bytes_map_get(&look->known, &file, sizeof(file)))
		return 0;
	err = bytes_map_put(&look->known, &file, sizeof(file), look);
	if (err || !file_answers(look, path))
		return err;
	go = file_read(path, info.stx_size);
	program_count(&look->found, pid, &go);
	return 0;
}

int goroutines_probe(struct goroutines_probe *probe)
{
	struct look look = {.found = {.first = ELF_GO_FIRST, .last = ELF_GO_LAST}};
	DIR *all = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	while (all && !err && (entry = readdir(all)))
		if (atoi(entry->d_name) > 0)
			err = process_look(&look, atoi(entry->d_name));
	if (all)
		closedir(all);
	bytes_map_free(&look.known);
	bounded_reader_end(&look.reader);
	if (!err)
		*probe = look.found;
	return err;
}
