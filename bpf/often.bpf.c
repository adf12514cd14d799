// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The programs that run most often, as one object. With libbpf 1.1 only one of the linked objects
 * can name a function of the kernel (KERNEL_CAST). So code with such functions that other objects
 * need is here, too, like the walk to the root of a path. This object is compiled with KERNEL_CASTS
 * and without: bpf/meson.build.
 */
/* in this order */
/* clang-format off */
#include "bpf/net.bpf.c"
#include "bpf/path.bpf.c"
#include "bpf/fd.bpf.c"
#include "bpf/peer.bpf.c"
#include "bpf/call.bpf.c"
#include "bpf/call_now.bpf.c"
#include "bpf/call_path.bpf.c"
#include "bpf/call_memory.bpf.c"
#include "bpf/context.bpf.c"
#include "bpf/span_over.bpf.c"
#include "bpf/ended.bpf.c"
#include "bpf/in_request.bpf.c"
#include "bpf/sched.bpf.c"
#include "bpf/syscall.bpf.c"
#include "bpf/running.bpf.c"
#include "bpf/older.bpf.c"
/* clang-format on */
