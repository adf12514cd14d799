/* SPDX-License-Identifier: Apache-2.0 */
/* What a flame graph has besides its boxes: how it looks, and what the mouse and keys do. */
#ifndef ANSWER_FLAME_SCRIPT_H
#define ANSWER_FLAME_SCRIPT_H

extern const char flame_style[];
extern const char flame_script[];

#endif
