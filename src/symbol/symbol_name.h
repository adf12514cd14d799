/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of C++ and Rust functions as a person reads them: what is inside what, without the types.
 *
 *   _ZNSt6vectorIiSaIiEE9push_backERKi       std::vector<...>::push_back
 *   _ZN5tokio7runtime4park17h0123456789abcdefE  tokio::runtime::park
 *
 * Types and arguments of templates are skipped rather than printed: that is bounded, which a whole
 * demangler is not (a name of a few hundred bytes can stand for gigabytes), and symbols come from
 * files that anybody may have made. A name that is not understood to its end is left as it is.
 */
#ifndef SYMBOL_SYMBOL_NAME_H
#define SYMBOL_SYMBOL_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* False, and `plain` is of no use, if the symbol is its own name or does not fit in `room` bytes.
 */
bool symbol_name_plain(const char *symbol, char *plain, size_t room);

#endif
