// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that note interrupts between CPUs (bpf/event.bpf.c). An event that fires in such an
 * interrupt does not belong to the thread below it. Ends are attached before begins, so that no
 * interrupt stays noted for good.
 */
#include <errno.h>

#include <bpf/libbpf.h>

#include "capture/kernel/event.h"
#include "capture/kernel/kernel.h"
#include "capture/kernel/types.h"
#include "programs.skel.h"

static const char *const vector_names[CAPTURE_VECTOR_PROGRAMS] = {
	"reschedule_exit",     "reschedule_entry",	    "call_function_exit",
	"call_function_entry", "call_function_single_exit", "call_function_single_entry",
};

static struct bpf_program *vector_program(const struct programs *programs, size_t i)
{
	return bpf_object__find_program_by_name(programs->obj, vector_names[i]);
}

void capture_vectors_choose(struct programs *programs, bool wanted)
{
	for (size_t i = 0; i < CAPTURE_VECTOR_PROGRAMS; i++)
		bpf_program__set_autoload(vector_program(programs, i),
					  wanted && capture_type_is_tracepoint(vector_names[i]));
}

int capture_vectors_attach(struct programs *programs, struct bpf_link **links, struct error *e)
{
	for (size_t i = 0; i < CAPTURE_VECTOR_PROGRAMS; i++) {
		struct bpf_program *program = vector_program(programs, i);

		if (!bpf_program__autoload(program))
			continue;
		links[i] = bpf_program__attach(program);
		if (!links[i])
			return error_set(e, errno, "cannot attach %s", vector_names[i]);
	}
	return 0;
}

void capture_vectors_detach(struct bpf_link **links)
{
	for (size_t i = 0; i < CAPTURE_VECTOR_PROGRAMS; i++) {
		bpf_link__destroy(links[i]);
		links[i] = NULL;
	}
}
