/* SPDX-License-Identifier: MIT */
/*
 * Marks for a machine in virtual time (lib/manycore), which prices memory between them: long NOPs, which
 * do nothing on any other machine. Sections may overlap; the last end ends them.
 */
#ifndef SECTION_H
#define SECTION_H

#ifdef __x86_64__
/* nopl disp32(%rax): the mark's number, then "LSM" */
#define SECTION_MARK(number) \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80, " #number ", 0x4c, 0x53, 0x4d" ::: "memory")
#else
#define SECTION_MARK(number) ((void)0)
#endif

static inline void begin_section(void)
{
	SECTION_MARK(1);
}

static inline void end_section(void)
{
	SECTION_MARK(0);
}

/* From now on CPUs may be half as far apart in time, or again as far as the machine says. */
static inline void halve_quantum(void)
{
	SECTION_MARK(2);
}

static inline void restore_quantum(void)
{
	SECTION_MARK(3);
}

/* What follows is not measured: its sections are none. */
static inline void begin_unpriced(void)
{
	SECTION_MARK(4);
}

static inline void end_unpriced(void)
{
	SECTION_MARK(5);
}

#endif
