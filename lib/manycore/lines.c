/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds which cache line, as a directory of a MESI protocol would know it: a line costs a CPU
 * nothing while it holds it, and the price of a transfer otherwise, from a CPU of the same socket or of
 * another one. A line that is on its way to one CPU is not to be had by the next before it has arrived,
 * and none gets it earlier than its holder last wrote it, but where another line took its place in the
 * holder's filter, which alone knows of that write. A line that was never seen costs nothing: capacity and
 * memory are not modelled.
 */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#define LINES_LOG2 21
#define PROBES 16 /* slots in which a line may be */
#define DIRECT_MAP 0xffff888000000000ull /* page_offset_base without KASLR and with 4 levels */
#define FIXMAP 0xffffffffff000000ull
#define FIXMAP_END 0xffffffffffe00000ull
#define USER(va) (!((va) >> 63))

struct line {
	uint64_t number; /* of 64 bytes */
	uint64_t holders;
	uint64_t free, written, moved;
	uint32_t section; /* in which it was touched: what is of an earlier one is none */
	int16_t owner;    /* who may write it, or -1 */
	struct heat heat;
};

static struct line *lines;
static uint32_t section;
uint64_t lost_lines;

void make_lines(void)
{
	lines = calloc((1u << LINES_LOG2) + PROBES, sizeof(*lines));
	if (!lines)
		abort();
}

void forget_lines(void)
{
	section++;
	for (unsigned int n = 0; n < MAX_CPUS; n++) {
		memset(machine.cpu[n].filter, 0, sizeof(machine.cpu[n].filter));
		machine.cpu[n].pause_pc = 0; /* the pauses between sections were not seen */
	}
}

static struct line *slots_of(uint64_t number)
{
	return &lines[(number * 0x9e3779b97f4a7c15ull) >> (64 - LINES_LOG2)];
}

/* The line if it was touched in this section, or NULL. */
static struct line *find_line(uint64_t number)
{
	struct line *line = slots_of(number);

	for (unsigned int k = 0; k < PROBES && line[k].section == section; k++)
		if (line[k].number == number)
			return &line[k];
	return NULL;
}

bool holds_all(const struct cpu *cpu, const uint64_t *numbers, unsigned int count)
{
	const uint64_t bit = 1ull << (cpu - machine.cpu);

	for (unsigned int k = 0; k < count; k++) {
		const struct line *line = find_line(numbers[k]);

		if (!line || !(line->holders & bit))
			return false;
	}
	return true;
}

static struct filter *filter_of(struct cpu *cpu, uint64_t number)
{
	return &cpu->filter[number % FILTER];
}

/* From its owner; read from the nearest who holds it, written once the farthest has let go of it. */
static uint64_t price_of(const struct cpu *cpu, const struct line *line, uint64_t others, bool writes)
{
	const uint64_t number = (uint64_t)(cpu - machine.cpu), from = number - number % machine.per_socket;
	const uint64_t mine = machine.per_socket >= 64 ? ~0ull : ((1ull << machine.per_socket) - 1) << from;
	const uint64_t holders = line->owner >= 0 ? 1ull << line->owner : others;

	if (writes)
		return holders & ~mine ? machine.price.far : machine.price.near;
	return holders & mine ? machine.price.near : machine.price.far;
}

/* CPUs that spin on a line see it taken at a time. */
static void tell_spinning(uint64_t number, uint64_t holders, uint64_t at)
{
	for (uint64_t left = machine.spinning & holders; left; left &= left - 1) {
		struct cpu *cpu = &machine.cpu[__builtin_ctzll(left)];

		for (unsigned int k = 0; k < cpu->spins_reads; k++)
			if (cpu->spins_on[k] == number) {
				stop_spinning(cpu, at);
				break;
			}
	}
}

/* Nobody of `holders` holds it from now on; when the last of them wrote it. */
static uint64_t take_from(struct line *line, uint64_t holders)
{
	uint64_t written = line->written;

	for (uint64_t left = holders; left; left &= left - 1) {
		struct filter *found = filter_of(&machine.cpu[__builtin_ctzll(left)], line->number);

		if (found->line == line->number) {
			if (found->writable && found->written > written)
				written = found->written;
			found->line = 0;
		}
	}
	return written;
}

/* Where a line goes that is not in the directory; where all its slots are taken, the stalest is lost. */
static struct line *new_slot(uint64_t number, uint64_t now)
{
	struct line *line = slots_of(number), *stalest = line;

	for (unsigned int k = 0; k < PROBES; k++) {
		if (line[k].section != section)
			return &line[k];
		if (line[k].moved < stalest->moved)
			stalest = &line[k];
	}
	lost_lines++;
	tell_spinning(stalest->number, stalest->holders, now);
	take_from(stalest, stalest->holders);
	return stalest;
}

static void first_touch(const struct cpu *cpu, uint64_t number, bool writes)
{
	const uint64_t now = now_of(cpu);

	*new_slot(number, now) = (struct line){
		.number = number,
		.holders = 1ull << (cpu - machine.cpu),
		.section = section,
		.owner = writes ? (int16_t)(cpu - machine.cpu) : -1,
		.written = writes ? now : 0,
	};
}

/* The next line from slot *at on that moved in this section, or NULL. */
const struct heat *next_moved(size_t *at)
{
	for (; *at < (1u << LINES_LOG2) + PROBES; (*at)++)
		if (lines[*at].section == section && lines[*at].heat.moves)
			return &lines[(*at)++].heat;
	return NULL;
}

/* The line comes to `cpu`. One that is written or was written elsewhere moves, and others queue. */
static void transfer(struct line *line, struct cpu *cpu, uint64_t bit, bool writes, void *access)
{
	const uint64_t now = now_of(cpu), others = line->holders & ~bit;
	const uint64_t price = price_of(cpu, line, others, writes);
	const bool moves = writes || line->owner >= 0;
	uint64_t start = now, ready = line->free;

	if (moves) {
		line->written = take_from(line, writes ? others : line->owner >= 0 ? 1ull << line->owner : 0);
		if (line->written > ready)
			ready = line->written;
	}
	if (ready > start)
		start = ready;
	add_time(cpu, start - now + price);
	cpu->spent.queue += start - now;
	cpu->spent.transfer += price;
	cpu->spent.near += price == machine.price.near;
	cpu->spent.far += price != machine.price.near;
	if (moves) {
		line->free = start + price + (IS_ATOMIC(access) ? machine.price.atomic : 0);
		note_move(&line->heat, SITE_OF(access), line->free - start, start - now);
	}
	line->moved = start + price;
	if (writes) {
		if (machine.spinning & others)
			tell_spinning(line->number, others, start + price);
		line->holders = bit;
		line->owner = (int16_t)(cpu - machine.cpu);
		line->written = line->free;
	} else {
		line->holders |= bit;
		line->owner = -1;
	}
}

static void remember(struct cpu *cpu, uint64_t number)
{
	if (cpu->reads < RING)
		cpu->ring[cpu->reads] = number;
	cpu->reads++;
}

static void touch(struct cpu *cpu, uint64_t number, bool writes, void *access)
{
	const uint64_t bit = 1ull << (cpu - machine.cpu);
	struct filter *held = filter_of(cpu, number);
	struct line *line;
	bool mine;

	if (writes)
		cpu->wrote = true;
	else
		remember(cpu, number);
	if (held->line == number && (held->writable || !writes)) {
		if (writes)
			held->written = now_of(cpu);
		return;
	}
	line = find_line(number);
	if (!line) {
		first_touch(cpu, number, writes);
		return;
	}
	mine = writes ? line->holders == bit : (line->holders & bit) != 0;
	if (!mine) {
		transfer(line, cpu, bit, writes, access);
	} else if (writes) {
		line->owner = (int16_t)(cpu - machine.cpu);
		if (now_of(cpu) > line->written)
			line->written = now_of(cpu);
	}
	if (now_of(cpu) < line->moved + machine.live) {
		cpu->strict = true;
		let_run_for(cpu, 0);
	} else {
		*held = (struct filter){ number, line->written, line->owner == cpu - machine.cpu };
	}
}

/* One access, with what a locked operation costs besides: it reads and then stores. */
static void access_line(struct cpu *cpu, uint64_t number, bool stores, void *access)
{
	touch(cpu, number, stores || IS_ATOMIC(access), access);
	if (IS_ATOMIC(access) && stores) {
		add_time(cpu, machine.price.atomic);
		cpu->spent.atomic += machine.price.atomic;
		cpu->spent.atomics++;
	}
}

static void touch_io(struct cpu *cpu)
{
	add_time(cpu, machine.price.io);
	cpu->spent.io += machine.price.io;
	cpu->wrote = true;
	atomic_fetch_add_explicit(&interrupts, 1, memory_order_relaxed); /* to another CPU, perhaps */
	let_run_for(cpu, 0);
}

/* A user's address is another process's too: its line is known by where the kernel maps it. */
static void touch_user(struct cpu *cpu, qemu_plugin_meminfo_t info, uint64_t va, bool stores, void *access)
{
	struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, va);

	if (where && !qemu_plugin_hwaddr_is_io(where))
		access_line(cpu, (DIRECT_MAP + qemu_plugin_hwaddr_phys_addr(where)) >> 6, stores, access);
}

static inline void touch_kernel(unsigned int number, qemu_plugin_meminfo_t info, uint64_t va, bool stores,
				void *access)
{
	struct cpu *cpu = &machine.cpu[number];

	if (va >= FIXMAP && va < FIXMAP_END)
		touch_io(cpu);
	else if (machine.priced && USER(va))
		touch_user(cpu, info, va, stores, access);
	else if (machine.priced)
		access_line(cpu, va >> 6, stores, access);
}

void read_kernel(unsigned int number, qemu_plugin_meminfo_t info, uint64_t va, void *access)
{
	touch_kernel(number, info, va, false, access);
}

void write_kernel(unsigned int number, qemu_plugin_meminfo_t info, uint64_t va, void *access)
{
	touch_kernel(number, info, va, true, access);
}

void read_user(unsigned int number, qemu_plugin_meminfo_t info, uint64_t va, void *access)
{
	if (machine.priced)
		touch_user(&machine.cpu[number], info, va, false, access);
}

void write_user(unsigned int number, qemu_plugin_meminfo_t info, uint64_t va, void *access)
{
	if (machine.priced)
		touch_user(&machine.cpu[number], info, va, true, access);
}
