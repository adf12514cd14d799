/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readable names of C++ and Rust functions: the nested names, without the types.
 *
 *   _ZNSt6vectorIiSaIiEE9push_backERKi       std::vector<...>::push_back
 *   _ZN5tokio7runtime4park17h0123456789abcdefE  tokio::runtime::park
 *
 * Types and template arguments are skipped, not printed. This bounds the work, unlike a complete
 * demangler, for which a name of a few hundred bytes can expand to gigabytes. Symbols come from
 * files that anybody may have made. A name that cannot be parsed to its end is left unchanged.
 */
#ifndef SYMBOL_SYMBOL_NAME_H
#define SYMBOL_SYMBOL_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the readable name of a symbol to `plain`, which has `room` bytes. False, with `plain`
 * undefined, if there is no other name than the symbol, or it does not fit. Thread-safe.
 */
bool symbol_name_plain(const char *symbol, char *plain, size_t room);

#endif
