/* SPDX-License-Identifier: Apache-2.0 */
/* A library that moves the thread-local variables of those behind it. */
__thread char elsewhere[256] __attribute__((tls_model("initial-exec"))) = {1};
