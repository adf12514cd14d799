/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The kernel's types for block I/O, as in bpf/kernel.h. */
#ifndef BPF_BLOCK_H
#define BPF_BLOCK_H

#include "bpf/kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bio;

struct block_device {
	u32 bd_dev;
};

struct request {
	u32 cmd_flags;
	u64 __sector;
	struct bio *bio;
	struct block_device *part;
};

#pragma clang attribute pop

#endif
