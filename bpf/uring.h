/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The kernel's types for io_uring, as in bpf/kernel.h. */
#ifndef BPF_URING_H
#define BPF_URING_H

#include "bpf/kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_cqe {
	int fd; /* the file of a request, until it has completed */
};

struct io_uring_task {
	struct task_struct *task;
};

struct io_kiocb {
	struct file *file;
	u8 opcode;
	u64 flags;
	struct io_cqe cqe;
};

struct io_uring_cqe {
	s32 res;
};

/* The arguments that a request keeps, at its begin. */
struct io_open {
	u32 file_slot;
};

struct io_accept {
	u32 file_slot;
};

struct io_socket {
	u32 file_slot;
};

struct io_close {
	int fd;
	u32 file_slot;
};

#pragma clang attribute pop

/* Notes that the request at that address is submitted. */
int uring_submitted(const u64 *address);

#endif
