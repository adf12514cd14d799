/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/identity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "elf/build_id.h"

#define BARE "file:"
#define SAMPLE 16384u
#define SAMPLES 64u /* a file that is not longer than all samples is read as a whole */

_Static_assert(ELF_BUILD_ID_TEXT <= FILE_IDENTITY_TEXT, "there is room for a build id");
/* the prefix, two numbers of 16 digits, seconds of 20 and nanoseconds of 9, the sum, separators */
_Static_assert(sizeof(BARE) + 16 + 16 + 20 + 9 + 16 + 4 <= FILE_IDENTITY_TEXT, "there is room");

/* The offset of sample `i` of `count`. The first begins at 0, the last ends with the file. */
static uint64_t sample_at(uint64_t size, uint64_t i, uint64_t count)
{
	if (size <= (uint64_t)SAMPLE * SAMPLES)
		return i * SAMPLE;
	return (size - SAMPLE) / (count - 1) * i + (size - SAMPLE) % (count - 1) * i / (count - 1);
}

static int sum_read(const struct elf_source *source, uint64_t *sum)
{
	uint64_t size = source->size, count = (size + SAMPLE - 1) / SAMPLE, made = 0;

	if (count > SAMPLES)
		count = SAMPLES;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = sample_at(size, i, count);
		size_t bytes = size - at < SAMPLE ? (size_t)(size - at) : SAMPLE;
		char sample[SAMPLE];
		int err = source->read(source, at, sample, bytes);

		if (err)
			return err;
		made = hash_pair(made, hash_bytes(sample, bytes));
	}
	*sum = made;
	return 0;
}

static int bare_read(const struct elf_source *source, const struct stat *info,
		     char text[FILE_IDENTITY_TEXT])
{
	uint64_t sum;
	int err = sum_read(source, &sum);

	if (err)
		return err;
	snprintf(text, FILE_IDENTITY_TEXT, BARE "%llx:%llx:%lld.%09ld:%016llx",
		 (unsigned long long)info->st_ino, (unsigned long long)info->st_size,
		 (long long)info->st_ctim.tv_sec, info->st_ctim.tv_nsec, (unsigned long long)sum);
	return 0;
}

int file_identity_read(int fd, const struct stat *info, char text[FILE_IDENTITY_TEXT])
{
	struct elf_source source = elf_source_file(fd, (uint64_t)info->st_size);
	/* a damaged ELF file, or no ELF file, gets the identity without a build id */
	int length = elf_build_id_read(&source, text);

	if (length > 0)
		return 0;
	return length && length != -ENOEXEC ? length : bare_read(&source, info, text);
}

bool file_identity_is(int fd, const struct stat *info, const char *text)
{
	struct elf_source source = elf_source_file(fd, (uint64_t)info->st_size);
	char found[FILE_IDENTITY_TEXT];

	if (file_identity_is_bare(text))
		return !bare_read(&source, info, found) && !strcmp(found, text);
	return elf_build_id_read(&source, found) > 0 && !strcmp(found, text);
}

bool file_identity_is_bare(const char *text)
{
	return !strncmp(text, BARE, sizeof(BARE) - 1);
}
