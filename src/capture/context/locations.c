// SPDX-License-Identifier: Apache-2.0
#include "capture/context/locations.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "capture/context/program.h"
#include "capture/state.h"
#include "programs.skel.h"

int capture_context_set(struct capture *c, pid_t pid, const struct context_location *location)
{
	int locations = bpf_map__fd(c->programs->maps.locations);
	struct context_location there;
	u32 key = pid;

	if (!location || !context_location_tells(location))
		bpf_map_delete_elem(locations, &key);
	else if (!bpf_map_lookup_elem(locations, &key, &there) &&
		 !memcmp(&there, location, sizeof(there)))
		return 0; /* the programs have assumed it by themselves, or inherited it */
	else if (bpf_map_update_elem(locations, &key, location, BPF_ANY))
		return -errno;
	/* copies of locations that threads have are void from here on */
	__atomic_fetch_add(&c->programs->bss->context_generation, 1, __ATOMIC_RELEASE);
	return 0;
}

bool capture_context_executed(struct capture *c, pid_t pid, struct context_executed *executed)
{
	u32 key = pid;

	return !bpf_map_lookup_elem(bpf_map__fd(c->programs->maps.executed), &key, executed);
}

void capture_context_learn(struct capture *c, const struct context_program *program,
			   const struct context_location *found)
{
	int programs = bpf_map__fd(c->programs->maps.program_locations);
	struct context_location kept, learned;
	bool known = !bpf_map_lookup_elem(programs, program, &kept);

	learned = context_program_learn(known ? &kept : NULL, found);
	if (!known || memcmp(&learned, &kept, sizeof(kept)) != 0)
		(void)bpf_map_update_elem(programs, program, &learned, BPF_ANY);
}
