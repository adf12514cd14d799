// SPDX-License-Identifier: Apache-2.0
/*
 * Chooses between the two objects of kernel programs (bpf/meson.build). They have the same
 * programs, maps and data, so one skeleton serves both.
 */
#include <errno.h>
#include <stdlib.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "capture/kernel/kernel.h"
#include "capture/kernel/types.h"

#ifdef __clang_analyzer__ /* the analyzer does not see that libbpf frees it */
static inline void skeleton_free(struct bpf_object_skeleton *s)
{
	bpf_object__destroy_skeleton(s);
	free(s);
}
#define bpf_object__destroy_skeleton skeleton_free
#endif
#include "plain.skel.h"
#include "programs.skel.h"

/* Whether the kernel has bpf_rdonly_cast(). False also without BTF, which is an error later. */
static bool kernel_casts(void)
{
	return capture_type_id("bpf_rdonly_cast", BTF_KIND_FUNC);
}

struct programs *capture_programs_open(void)
{
	struct programs *programs;
	int err;

	if (kernel_casts())
		return programs__open();
	programs = calloc(1, sizeof(*programs));
	err = programs ? programs__create_skeleton(programs) : -ENOMEM;
	if (!err) {
		programs->skeleton->data = (void *)plain__elf_bytes(&programs->skeleton->data_sz);
		err = bpf_object__open_skeleton(programs->skeleton, NULL);
	}
	if (!err)
		return programs;
	programs__destroy(programs);
	errno = -err;
	return NULL;
}
