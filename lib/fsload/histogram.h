/* SPDX-License-Identifier: MIT */
/*
 * Latencies in fixed bins, as in HdrHistogram: exact below 128 ns, then 64 bins to each power of
 * two, up to 2^41 ns (37 minutes; longer ones count in the last bin). The middle of a bin is
 * within 1/128 of every latency in it. Nothing is allocated or moved while counting.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

#define BINS_PER_OCTAVE 64
#define LOG2_BINS_PER_OCTAVE 6
#define LARGEST_NS ((INT64_C(1) << 41) - 1)
#define BINS ((40 - LOG2_BINS_PER_OCTAVE) * BINS_PER_OCTAVE + 2 * BINS_PER_OCTAVE)
#define RELATIVE_ERROR (0.5 / BINS_PER_OCTAVE)

struct histogram {
	int64_t max_ns; /* exact */
	uint64_t counts[BINS];
} __attribute__((aligned(128)));

static inline int bin_of(int64_t ns)
{
	int shift;

	if (ns < BINS_PER_OCTAVE)
		return ns < 0 ? 0 : (int)ns;
	if (ns > LARGEST_NS)
		ns = LARGEST_NS;
	shift = 63 - __builtin_clzll((unsigned long long)ns) - LOG2_BINS_PER_OCTAVE;
	return shift * BINS_PER_OCTAVE + (int)(ns >> shift);
}

static inline void count_latency(struct histogram *histogram, int64_t ns)
{
	histogram->counts[bin_of(ns)]++;
	if (ns > histogram->max_ns)
		histogram->max_ns = ns;
}

/* The least latency in a bin. */
int64_t bin_low_ns(int bin);

void add_histogram(struct histogram *sum, const struct histogram *more);

uint64_t latencies_in(const struct histogram *histogram);

/*
 * The latency that permille of every 1000 do not exceed (nearest rank), as the middle of its bin
 * and at most max_ns; at least one latency must have been counted.
 */
int64_t percentile_ns(const struct histogram *histogram, int permille);

#endif
