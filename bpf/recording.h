/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Values of `recording` (bpf/state.h), as capture sets it. In a pause programs write no records but
 * of the life of threads and processes, which capture follows, and drops.
 */
#ifndef BPF_RECORDING_H
#define BPF_RECORDING_H

#define RECORDING_ALL 1
#define RECORDING_LIVES 2

#endif
