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

/* What follows is not measured: its sections are none. */
static inline void begin_unpriced(void)
{
	SECTION_MARK(2);
}

static inline void end_unpriced(void)
{
	SECTION_MARK(3);
}

/* From now on the machine is as described (0), or one of its numbers is another: see its plugin's options. */
#define LAST_SETTING 19
#define SETTING(number) case number: SECTION_MARK(4 + number); break;
static inline void take_setting(int number)
{
	switch (number) {
	SETTING(0) SETTING(1) SETTING(2) SETTING(3) SETTING(4) SETTING(5) SETTING(6) SETTING(7) SETTING(8)
	SETTING(9) SETTING(10) SETTING(11) SETTING(12) SETTING(13) SETTING(14) SETTING(15) SETTING(16)
	SETTING(17) SETTING(18) SETTING(19)
	}
}

#endif
