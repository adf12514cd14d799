/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Addresses that the running thread's call names. */
#ifndef BPF_PEER_H
#define BPF_PEER_H

#include "bpf/kernel.h"

/* Records whom a connect asks for, when it begins. */
int peer_asked(void);

/* Records to or from whom the message of a call went that ends with `result`, if it says so. */
int peer_tell(long result);

#endif
