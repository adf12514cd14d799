/* SPDX-License-Identifier: Apache-2.0 */
/* The file in which a process names its code, in the root of the process. For a supervised thread.
 */
#ifndef CAPTURE_STACK_JIT_FILE_H
#define CAPTURE_STACK_JIT_FILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "record/record.h"

/* Begin with fd -1 and all else zero. */
struct jit_file {
	int fd;		  /* -1: none was found yet; owned */
	bool known;	  /* what follows is known of the process */
	bool gone;	  /* the process has ended */
	bool ours;	  /* its root is our root: the file is found by name when it has ended */
	u32 number;	  /* of the process in its pid namespace */
	uid_t uid;	  /* its effective user */
	struct stat read; /* the file as it was when it was last read */
};

/* Looks for the file, or for another one of that name. 0, with file->fd; or a negative errno. */
int jit_file_find(struct jit_file *file, u32 pid);

/* Whether the file differs from what was last read; notes what it is now. */
bool jit_file_changed(struct jit_file *file);

#endif
