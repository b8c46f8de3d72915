// SPDX-License-Identifier: MIT
/*
 * The machine repairman and S1's retry storm written by hand: what a loop for one model can do at all.
 * It draws the same numbers, goes through the same events and counts the same things as the simulator (per lock
 * requests, waits, holds and their histograms; per step its visits; per thread the time in each state), so it
 * ends with the same numbers, which floor.py compares. Times are picoseconds.
 *
 * Usage: floor MODEL THREADS SEED WARM_UP OPERATIONS
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tables.h"  /* WIDTHS, INSIDE, HEIGHTS, TAIL_FROM of the simulator, and the models' times */

typedef int64_t i64;
typedef uint64_t u64;
enum { RUNNING, HOLDING, SPINNING, SLEEPING, STATES };
enum { MAX = 4096, BUCKETS = 256, STEPS = 8 };
#define NEVER INT64_MAX

struct thread {
	u64 key, counter;
	double ahead;
	i64 at, state, state_since, since, bit, lost;
	i64 in_state[STATES];
};

static struct thread threads[MAX];
static i64 tree[4 * MAX], visits[STEPS], transitions, retries, next_zero, searches, claims, lost_claims;
static u64 half, bits, mask;

static struct {
	i64 owner, taken, waiting, requests, acquisitions, handovers, wait, hold_area, wait_area;
	u64 queue[MAX], first, spinners;
	i64 waits[BUCKETS], holds[BUCKETS];
} lock;

static inline u64 draw(u64 key, u64 counter)
{
	u64 z = key + counter * 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static double unit(struct thread *t)
{
	return ((double)(i64)(draw(t->key, ++t->counter) >> 11) + 1.0) * 0x1p-53;
}

static inline double fresh(struct thread *t)
{
	for (;;) {
		u64 random = draw(t->key, ++t->counter);
		i64 layer = random & 255, across = random >> 11;
		double x = across * WIDTHS[layer], height;
		if (__builtin_expect(across < INSIDE[layer], 1))
			return x;
		if (layer == 0)
			return TAIL_FROM - log(unit(t));
		height = HEIGHTS[layer] + unit(t) * (HEIGHTS[layer + 1] - HEIGHTS[layer]);
		if (height < exp(-x))
			return x;
	}
}

static inline i64 exponential(struct thread *t, i64 mean)
{
	double ready = t->ahead;
	t->ahead = fresh(t);
	return (i64)(ready * mean + 0.5);
}

static inline i64 set_key(u64 thread, i64 key)
{
	u64 node = half + thread;
	tree[node] = key;
	while (node > 1) {
		i64 a = tree[node ^ 1], b = tree[node ^ 2], c = tree[node ^ 3];
		a = b < a ? b : a;
		a = c < a ? c : a;
		key = a < key ? a : key;
		node >>= 2;
		tree[node] = key;
	}
	return key;
}

static inline i64 at(u64 thread, i64 time)
{
	return set_key(thread, time << bits | thread);
}

static inline int bucket(i64 time)
{
	double as_float = time;
	i64 its_bits;
	if (time <= 0)
		return 0;
	memcpy(&its_bits, &as_float, 8);
	i64 k = (its_bits >> 50) - 4091;
	return k < BUCKETS - 1 ? k : BUCKETS - 1;
}

static inline void enter(struct thread *t, i64 state, i64 now)
{
	t->in_state[t->state] += now - t->state_since;
	t->state = state;
	t->state_since = now;
}

static inline void take(u64 thread, i64 waited, i64 now)
{
	lock.waits[bucket(waited)]++;
	lock.acquisitions++;
	lock.hold_area -= now;
	lock.owner = thread;
	lock.taken = now;
	enter(&threads[thread], HOLDING, now);
}

/* Take the lock and hold it, or wait; returns the next event. */
static inline i64 request(u64 thread, i64 hold_exponential, i64 hold, i64 now)
{
	struct thread *t = &threads[thread];
	lock.requests++;
	if (lock.owner < 0) {
		take(thread, 0, now);
		return at(thread, now + (hold_exponential ? exponential(t, hold) : hold));
	}
	t->since = now;
	lock.waiting++;
	lock.wait_area -= now;
	lock.queue[(lock.first + lock.spinners++) & mask] = thread;
	enter(t, SPINNING, now);
	return set_key(thread, NEVER);
}

static inline void release(u64 thread, i64 hold_exponential, i64 hold, i64 now)
{
	lock.hold_area += now;
	lock.holds[bucket(now - lock.taken)]++;
	lock.owner = -1;
	if (lock.spinners > 0) {
		u64 heir = lock.queue[lock.first];
		struct thread *t = &threads[heir];
		i64 waited = now - t->since;
		lock.first = (lock.first + 1) & mask;
		lock.spinners--;
		lock.handovers++;
		lock.waiting--;
		lock.wait_area += now;
		lock.wait += waited;
		take(heir, waited, now);
		at(heir, now + (hold_exponential ? exponential(t, hold) : hold));
	}
	enter(&threads[thread], RUNNING, now);
}

static void open_window(u64 n, i64 now)
{
	for (u64 k = 0; k < n; k++) {
		threads[k].since = threads[k].state_since = now;
		memset(threads[k].in_state, 0, sizeof threads[k].in_state);
	}
	memset(lock.waits, 0, sizeof lock.waits);
	memset(lock.holds, 0, sizeof lock.holds);
	memset(visits, 0, sizeof visits);
	retries = searches = claims = lost_claims = 0;
	lock.requests = lock.acquisitions = lock.handovers = lock.wait = 0;
	lock.taken = now;
	lock.hold_area = -now * (lock.owner >= 0);
	lock.wait_area = -now * lock.waiting;
}

static inline void step(int index)
{
	visits[index]++;
	transitions++;
}

/* think, lock, unlock, done */
static i64 repairman(u64 n, i64 done, i64 operations, i64 *now_out)
{
	i64 root = tree[1], now, from = 0;
	for (;;) {
		now = root >> bits;
		u64 thread = root & mask;
		struct thread *t = &threads[thread];
		if (t->at == 1) {
			step(1);
			t->at = 2;
			root = request(thread, 1, SERVICE_PS, now);
			continue;
		}
		if (t->at == 2) {
			step(2);
			release(thread, 1, SERVICE_PS, now);
			step(3);
			if (++done == 0) {
				from = now;
				open_window(n, now);
			}
			if (done == operations)
				break;
		} else {
			enter(t, RUNNING, now);
		}
		step(0);
		t->at = 1;
		root = at(thread, now + exponential(t, THINK_PS));
	}
	*now_out = now;
	return now - from;
}

/* elsewhere, find zero, access, lock, claim, unlock, retry, done */
static i64 inode_claim(u64 n, i64 done, i64 operations, i64 *now_out)
{
	i64 root = tree[1], now, from = 0;
	for (;;) {
		now = root >> bits;
		u64 thread = root & mask;
		struct thread *t = &threads[thread];
		if (t->at == 3) {
			step(3);
			t->at = 4;
			root = request(thread, 0, HOLD_PS, now);
			continue;
		}
		if (t->at == 4) {
			step(4);
			t->lost = t->bit != next_zero;
			claims++;
			next_zero += !t->lost;
			lost_claims += t->lost;
			step(5);
			release(thread, 0, HOLD_PS, now);
			step(6);
			if (t->lost) {
				retries++;
				goto search;
			}
			step(7);
			if (++done == 0) {
				from = now;
				open_window(n, now);
			}
			if (done == operations)
				break;
		} else if (t->at == 1) {
			goto search;
		} else {
			enter(t, RUNNING, now);
		}
		step(0);
		t->at = 1;
		root = at(thread, now + exponential(t, ELSEWHERE_PS));
		continue;
search:
		step(1);
		searches++;
		t->bit = next_zero;
		step(2);
		t->at = 3;
		root = at(thread, now + ACCESS_PS);
	}
	*now_out = now;
	return now - from;
}

int main(int argc, char **argv)
{
	struct timespec started, ended;
	if (argc != 6)
		return 2;
	i64 n = atoll(argv[2]), warm_up = atoll(argv[4]), operations = atoll(argv[5]), now;
	u64 seed = strtoull(argv[3], NULL, 10);
	for (bits = 0; 1 << bits < n; bits++)
		;
	mask = (1u << bits) - 1;
	half = 1u << 2 * ((bits + 1) / 2);
	for (u64 k = 0; k < 2 * half; k++)
		tree[k] = NEVER;
	lock.owner = -1;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &started);
	for (i64 k = 0; k < n; k++) {
		threads[k].key = draw(draw(draw(seed, 1), 1), k + 1);
		threads[k].ahead = fresh(&threads[k]);
		threads[k].state = SLEEPING;
		at(k, 0);
	}
	i64 (*run)(u64, i64, i64, i64 *) = strcmp(argv[1], "inode_claim") ? repairman : inode_claim;
	i64 window = run(n, -warm_up, operations, &now);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
	i64 waits = 0, holds = 0, states = 0;
	for (int k = 0; k < BUCKETS; k++) {
		waits += k * lock.waits[k];
		holds += k * lock.holds[k];
	}
	for (i64 k = 0; k < n; k++) {
		enter(&threads[k], threads[k].state, now);
		for (int state = 0; state < STATES; state++)
			states += (state + 1) * (threads[k].in_state[state] % 1000003);
	}
	printf("%.9f", ended.tv_sec - started.tv_sec + 1e-9 * (ended.tv_nsec - started.tv_nsec));
	printf(" %ld %ld %ld %ld", transitions, window, retries, lock.requests);
	printf(" %ld %ld %ld", lock.acquisitions, lock.handovers, lock.wait_area + now * lock.waiting);
	printf(" %ld %ld %ld %ld\n", lock.hold_area + now * (lock.owner >= 0), waits, holds, states);
	return 0;
}
