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
	static const struct context_location none;
	struct context_location usual = *found;

	if (!found->known || found->dynamic || (kept && !context_location_is_same(kept, found)))
		return none;
	usual.flags |= CONTEXT_ASSUMED;
	return usual;
}
