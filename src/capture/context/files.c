/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/context/files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "proc/mapped_file.h"

#define FILES_MAX 16384 /* known files; when there are more, all are forgotten */

struct file_key {
	uint64_t device, inode, size;
	int64_t changed_s, changed_ns;
};

static struct file_key key_of(const struct stat *info)
{
	return (struct file_key){.device = info->st_dev,
				 .inode = info->st_ino,
				 .size = (uint64_t)info->st_size,
				 .changed_s = info->st_ctim.tv_sec,
				 .changed_ns = info->st_ctim.tv_nsec};
}

/* Most files do not define the variable, and share these answers. */
static struct context_facts no_elf_file;
static const struct context_facts nothing_glibc;
static const struct context_facts nothing_musl = {.tls.musl = 1};

struct context_files {
	struct bytes_map known; /* struct file_key -> const struct context_facts * */
	struct context_facts from_memory;
	unsigned long parsed;
	struct foreign_looks *looks; /* NULL: nobody supervises */
};

struct context_files *context_files_new(void)
{
	return calloc(1, sizeof(struct context_files));
}

static bool is_shared_answer(const struct context_facts *facts)
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

void context_files_supervise(struct context_files *files, struct foreign_looks *looks)
{
	files->looks = looks;
}

unsigned long context_files_parsed(const struct context_files *files)
{
	return files->parsed;
}

struct parse {
	const struct stat *expected;
	struct context_facts facts;
};

static int source_parse(const struct elf_source *source, struct context_facts *facts)
{
	int err = elf_tls_read(source, CONTEXT_VARIABLE, &facts->tls);

	return err ? err : elf_go_read(source, &facts->go);
}

static int file_parse(void *arg, int fd)
{
	struct parse *parse = arg;
	struct elf_source source;
	struct stat info;

	if (fstat(fd, &info))
		return -errno;
	if (info.st_ino != parse->expected->st_ino || info.st_dev != parse->expected->st_dev)
		return -ESTALE;
	source = elf_source_file(fd, (uint64_t)info.st_size);
	return source_parse(&source, &parse->facts);
}

static int answer_keep(struct context_files *files, const struct file_key *key,
		       const struct context_facts *found, const struct context_facts **facts)
{
	struct context_facts *kept;

	if (found->tls.way == ELF_TLS_NONE && found->go.is == ELF_GO_NONE) {
		kept = (struct context_facts *)(found->tls.musl ? &nothing_musl : &nothing_glibc);
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

static int file_learn(struct context_files *files, const struct foreign_file *file, int found,
		      const struct stat *info, const struct context_facts **facts)
{
	struct file_key key = key_of(info);
	struct parse parse = {.expected = info};
	int err;

	if (files->known.count >= FILES_MAX)
		files_forget(files);
	files->parsed++;
	err = foreign_file_read(files->looks, file, found, file_parse, &parse);
	if (!err)
		return answer_keep(files, &key, &parse.facts, facts);
	if (err == -ENOEXEC)
		(void)bytes_map_put(&files->known, &key, sizeof(key), &no_elf_file);
	return err;
}

/* Reads the file from memory, since it has no name any more, or none that we can open. */
static int memory_parse(struct context_files *files, pid_t pid, const struct context_map *map,
			const struct context_facts **facts)
{
	struct elf_source source = elf_source_memory(pid, map->start);
	struct context_facts found = {0};
	int err, ended;

	if (map->offset || !map->readable)
		return -ENOENT;
	files->parsed++;
	err = foreign_look_begin(files->looks, FOREIGN_DEVICE(map->major, map->minor));
	if (err)
		return err;
	err = source_parse(&source, &found);
	ended = foreign_look_end(files->looks);
	if (ended || err)
		return ended ? ended : err;
	files->from_memory = found;
	*facts = &files->from_memory;
	return 0;
}

static int found_get(struct context_files *files, const struct foreign_file *file, int found,
		     const struct stat *info, const struct context_facts **facts)
{
	struct file_key key = key_of(info);
	const struct context_facts *known;

	if (!S_ISREG(info->st_mode))
		return -ENOEXEC;
	known = bytes_map_get(&files->known, &key, sizeof(key));
	if (known == &no_elf_file)
		return -ENOEXEC;
	if (!known)
		return file_learn(files, file, found, info, facts);
	*facts = known;
	return 0;
}

int context_files_get(struct context_files *files, pid_t pid, const struct context_map *map,
		      const struct context_facts **facts)
{
	const struct foreign_file file = {.pid = pid,
					  .start = map->start,
					  .end = map->end,
					  .inode = map->inode,
					  .major = map->major,
					  .minor = map->minor,
					  .name = map->name};
	struct stat info;
	int found = foreign_file_find(files->looks, &file, &info), err;

	if (found == -EBUSY || found == -ECANCELED)
		return found;
	if (found < 0)
		return memory_parse(files, pid, map, facts);
	err = found_get(files, &file, found, &info, facts);
	close(found);
	return err;
}
