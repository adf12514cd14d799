/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/context/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "proc/maps.h"

bool context_location_is_same(const struct context_location *a, const struct context_location *b)
{
	struct context_location place = *a;

	place.flags = b->flags;
	place.light = b->light;
	return !memcmp(&place, b, sizeof(place));
}

bool context_program_is(pid_t pid, const struct context_program *program)
{
	struct statx info;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", context_maps_thread(pid));
	/* on some file systems stat() gives another device number than the kernel */
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_SIZE, &info) &&
	       info.stx_ino == program->inode && info.stx_size == program->bytes;
}

struct context_location context_program_learn(const struct context_location *kept,
					      const struct context_location *found)
{
	struct context_location usual = {0};
	/* one that was kept for its goroutines says nothing about contexts */
	bool differs = kept && (kept->known || !kept->light.id) &&
		       !context_location_is_same(kept, found);

	if (found->known && !found->dynamic && !differs) {
		usual = *found;
		usual.flags |= CONTEXT_ASSUMED;
	}
	usual.light = found->light;
	return usual;
}
