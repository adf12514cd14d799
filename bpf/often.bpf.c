// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * What runs most often, as one object: with libbpf 1.1 a function of the kernel
 * (KERNEL_CAST) can be named in one of those that are linked, not in two. It is
 * compiled with KERNEL_CASTS and without: bpf/meson.build. What others share with
 * it and has such functions, as the way to the root does, is here for them, too.
 */
/* in this order */
/* clang-format off */
#include "bpf/net.bpf.c"
#include "bpf/path.bpf.c"
#include "bpf/fd.bpf.c"
#include "bpf/call.bpf.c"
#include "bpf/call_path.bpf.c"
#include "bpf/context.bpf.c"
#include "bpf/span_over.bpf.c"
#include "bpf/sched.bpf.c"
#include "bpf/syscall.bpf.c"
#include "bpf/running.bpf.c"
#include "bpf/older.bpf.c"
/* clang-format on */
