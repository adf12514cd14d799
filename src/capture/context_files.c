/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/context_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"

#define FILES_MAX 16384 /* known files; when there are more, all are forgotten */

struct file_key {
	uint64_t device, inode, size;
	int64_t changed_s, changed_ns;
};

/* Most files do not have the variable: they share two answers. */
static struct elf_tls no_elf_file;
static const struct elf_tls nothing_glibc;
static const struct elf_tls nothing_musl = {.musl = 1};

struct context_files {
	struct bytes_map known; /* struct file_key -> const struct elf_tls * */
	struct elf_tls from_memory;
	unsigned long parsed;
};

struct context_files *context_files_new(void)
{
	return calloc(1, sizeof(struct context_files));
}

static bool is_shared_answer(const struct elf_tls *facts)
{
	return facts == &no_elf_file || facts == &nothing_glibc || facts == &nothing_musl;
}

static void files_forget(struct context_files *files)
{
	struct bytes_map_entry entry;
	size_t at = 0;

	while (bytes_map_next(&files->known, &at, &entry))
		if (!is_shared_answer(entry.value))
			free(entry.value);
	bytes_map_free(&files->known);
}

void context_files_free(struct context_files *files)
{
	if (!files)
		return;
	files_forget(files);
	free(files);
}

unsigned long context_files_parsed(const struct context_files *files)
{
	return files->parsed;
}

/*
 * A name under which the mapped file itself can be opened. map_files needs
 * more privilege than root, whose file may be another one by now: its inode
 * must be the mapped one.
 */
static int file_path(pid_t pid, const struct context_map *map, char *path, struct stat *info)
{
	snprintf(path, PATH_MAX, "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	if (!stat(path, info))
		return 0;
	if (map->name[0] != '/')
		return -ENOENT;
	if (snprintf(path, PATH_MAX, "/proc/%d/root%s", pid, map->name) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (stat(path, info))
		return -errno;
	return info->st_ino == map->inode ? 0 : -ESTALE;
}

static int file_parse(const char *path, const struct stat *expected, struct elf_tls *facts)
{
	struct elf_source source;
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &info))
		err = -errno;
	else if (info.st_ino != expected->st_ino || info.st_dev != expected->st_dev)
		err = -ESTALE;
	source = elf_source_file(fd, err ? 0 : (uint64_t)info.st_size);
	if (!err)
		err = elf_tls_read(&source, CONTEXT_VARIABLE, facts);
	close(fd);
	return err;
}

static int answer_keep(struct context_files *files, const struct file_key *key,
		       const struct elf_tls *found, const struct elf_tls **facts)
{
	struct elf_tls *kept;

	if (found->way == ELF_TLS_NONE) {
		kept = (struct elf_tls *)(found->musl ? &nothing_musl : &nothing_glibc);
	} else {
		kept = malloc(sizeof(*kept));
		if (!kept)
			return -ENOMEM;
		*kept = *found;
	}
	if (bytes_map_put(&files->known, key, sizeof(*key), kept)) {
		if (!is_shared_answer(kept))
			free(kept);
		return -ENOMEM;
	}
	*facts = kept;
	return 0;
}

static int file_learn(struct context_files *files, const char *path, const struct stat *info,
		      const struct file_key *key, const struct elf_tls **facts)
{
	struct elf_tls found = {0};
	int err;

	if (files->known.count >= FILES_MAX)
		files_forget(files);
	files->parsed++;
	err = file_parse(path, info, &found);
	if (!err)
		return answer_keep(files, key, &found, facts);
	if (err == -ENOEXEC)
		(void)bytes_map_put(&files->known, key, sizeof(*key), &no_elf_file);
	return err;
}

/* The file has no name any more, or none that may be opened. */
static int memory_parse(struct context_files *files, pid_t pid, const struct context_map *map,
			const struct elf_tls **facts)
{
	struct elf_source source = elf_source_memory(pid, map->start);
	int err;

	if (map->offset || !map->readable)
		return -ENOENT;
	files->parsed++;
	err = elf_tls_read(&source, CONTEXT_VARIABLE, &files->from_memory);
	if (!err)
		*facts = &files->from_memory;
	return err;
}

int context_files_get(struct context_files *files, pid_t pid, const struct context_map *map,
		      const struct elf_tls **facts)
{
	const struct elf_tls *known;
	struct file_key key;
	struct stat info;
	char path[PATH_MAX];

	if (file_path(pid, map, path, &info))
		return memory_parse(files, pid, map, facts);
	if (!S_ISREG(info.st_mode))
		return -ENOEXEC;
	key = (struct file_key){.device = info.st_dev,
				.inode = info.st_ino,
				.size = (uint64_t)info.st_size,
				.changed_s = info.st_ctim.tv_sec,
				.changed_ns = info.st_ctim.tv_nsec};
	known = bytes_map_get(&files->known, &key, sizeof(key));
	if (known == &no_elf_file)
		return -ENOEXEC;
	if (known) {
		*facts = known;
		return 0;
	}
	return file_learn(files, path, &info, &key, facts);
}
