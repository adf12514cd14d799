/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef BPF_LICENSE_H
#define BPF_LICENSE_H

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#endif
