/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef BPF_FAULT_H
#define BPF_FAULT_H

/* fault.bpf.c: records the running thread's open fault, whose end was not seen. */
int fault_soft_end(void);

#endif
