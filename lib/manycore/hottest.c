/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cache lines move most in a section. A line is on its way for the price of each transfer, one after
 * another, so what moves it cannot happen more often than that: the line is a queue like a lock's, also
 * where nobody calls it a lock. Each is known by one instruction that moves it: that which did so in more
 * than half of the cases, if there is one.
 */
#include "machine.h"

#define HOTTEST 16

/* Boyer and Moore's vote; without a majority its winner says little. */
void note_move(struct heat *heat, uint32_t site, uint64_t occupied, uint64_t queued)
{
	heat->moves++;
	heat->occupied += occupied;
	heat->queued += queued;
	if (heat->lead <= 0)
		heat->site = site;
	heat->lead += heat->site == site ? 1 : -1;
}

static unsigned int hottest(const struct heat *found[HOTTEST])
{
	unsigned int known = 0;
	const struct heat *heat;
	size_t at = 0;

	while ((heat = next_moved(&at))) {
		unsigned int k = known < HOTTEST ? known++ : HOTTEST;

		for (; k && heat->occupied > found[k - 1]->occupied; k--)
			if (k < HOTTEST)
				found[k] = found[k - 1];
		if (k < HOTTEST)
			found[k] = heat;
	}
	return known;
}

/* A JSON array, the most occupied first: code (the low half of its address; 0 is a user's), moves, ns, ns. */
void tell_hottest(FILE *out)
{
	const struct heat *found[HOTTEST];
	const unsigned int count = hottest(found);

	fputc('[', out);
	for (unsigned int k = 0; k < count; k++)
		fprintf(out, "%s[%u, %u, %lu, %lu]", k ? ", " : "", found[k]->site, found[k]->moves,
			found[k]->occupied / 1000, found[k]->queued / 1000);
	fputc(']', out);
}
