/* SPDX-License-Identifier: MIT */
#include "histogram.h"

static int64_t bin_width_ns(int bin)
{
	return bin < 2 * BINS_PER_OCTAVE ? 1 : INT64_C(1) << (bin / BINS_PER_OCTAVE - 1);
}

int64_t bin_low_ns(int bin)
{
	if (bin < 2 * BINS_PER_OCTAVE)
		return bin;
	return (bin % BINS_PER_OCTAVE + BINS_PER_OCTAVE) * bin_width_ns(bin);
}

void add_histogram(struct histogram *sum, const struct histogram *more)
{
	for (int bin = 0; bin < BINS; bin++)
		sum->counts[bin] += more->counts[bin];
	if (more->max_ns > sum->max_ns)
		sum->max_ns = more->max_ns;
}

uint64_t latencies_in(const struct histogram *histogram)
{
	uint64_t all = 0;

	for (int bin = 0; bin < BINS; bin++)
		all += histogram->counts[bin];
	return all;
}

int64_t percentile_ns(const struct histogram *histogram, int permille)
{
	uint64_t rank = (latencies_in(histogram) * (uint64_t)permille + 999) / 1000;
	int bin = 0;
	int64_t middle;

	for (uint64_t below = histogram->counts[0]; below < rank; below += histogram->counts[bin])
		bin++;
	middle = bin_low_ns(bin) + bin_width_ns(bin) / 2;
	return middle < histogram->max_ns ? middle : histogram->max_ns;
}
