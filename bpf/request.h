/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The request to io_uring in which a worker of the kernel sleeps. A worker between two requests
 * has none.
 */
#ifndef BPF_REQUEST_H
#define BPF_REQUEST_H

#include "bpf/file.h"
#include "bpf/kernel_versions.h"

/*
 * Fills in the file of the request of a task, given by its address, or that the request has none. A
 * global function for the verifier, since rare.
 */
__weak __noinline int request_fill(struct file_ref *ref, u64 task_at)
{
	struct io_kiocb *request = uring_worked_on((struct task_struct *)task_at);
	struct file_ref found = {};
	struct file *file;

	if (!ref || !request)
		return 0;
	file = KERNEL_READ(request, file);
	if (file)
		file_fill(&found, file);
	if (!found.kind)
		found = (struct file_ref){.flags = FILE_NONE_REQUEST};
	*ref = found;
	return 0;
}

#endif
