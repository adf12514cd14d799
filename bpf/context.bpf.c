// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Whether a thread context that was read before still holds if its page cannot be read now. */
#include "bpf/context.h"
#include "bpf/license.h"

#define ENOENT 2
#define VM_WIPEONFORK 0x02000000

static long context_look(struct task_struct *task, struct vm_area_struct *vma, void *wiped)
{
	*(u64 *)wiped = vma->vm_flags & VM_WIPEONFORK;
	return 0;
}

int context_holds(u64 at)
{
	u64 wiped = 0;

	/* with any other error the mappings are being changed */
	return bpf_find_vma(bpf_get_current_task_btf(), at, context_look, &wiped, 0) != -ENOENT &&
	       !wiped;
}
