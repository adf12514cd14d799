/* SPDX-License-Identifier: Apache-2.0 */
#include "traps.h"

int main(int argc, char **argv)
{
	static const struct trap *const tables[] = {traps_faults,   traps_calls,  traps_holds,
						    traps_identity, traps_wakers, traps_blocks,
						    traps_begins,   traps_ends,	  traps_turns};

	for (size_t i = 0; argc > 1 && i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct trap *trap = tables[i]; trap->name; trap++) {
			if (strcmp(trap->name, argv[1]) == 0)
				return trap->run(argc > 2 ? atol(argv[2]) : 1, argv);
		}
	}
	fprintf(stderr, "no such trap\n");
	return 1;
}
