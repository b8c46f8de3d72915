/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What QEMU calls: the prices of each block of code when it is translated, and who is told what. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXPORTED int qemu_plugin_version = 2;

static struct qemu_plugin_scoreboard *board;
static qemu_plugin_u64 used;

static void start_cpu(qemu_plugin_id_t id, unsigned int number)
{
	(void)id;
	vcpu_thread_is_this();
	if (number >= MAX_CPUS) {
		fprintf(stderr, "manycore: at most %d CPUs\n", MAX_CPUS);
		exit(1);
	}
	translate_for_all(number);
	if (number >= machine.cpus)
		machine.cpus = number + 1;
	for (unsigned int n = 0; n < machine.cpus; n++) /* it may have moved as it grew */
		machine.cpu[n].used = qemu_plugin_scoreboard_find(board, n);
	note_time(&machine.cpu[number]);
	*machine.cpu[number].used = BUDGET_END;
	machine.cpu[number].base = -BUDGET_END;
}

struct instruction {
	bool pause, halt, tsc, io, atomic;
	int mark; /* lib/fsload/section.h; -1: none */
};

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
	       byte == 0x26 || byte == 0x64 || byte == 0x65 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3;
}

static struct instruction decode(const uint8_t *code, size_t length)
{
	struct instruction found = { .mark = -1 };
	bool rep = false;
	size_t at = 0;

	while (at < length && is_prefix(code[at])) {
		found.atomic |= code[at] == 0xf0;
		rep |= code[at] == 0xf3;
		at++;
	}
	if (at < length && (code[at] & 0xf0) == 0x40)
		at++; /* REX */
	if (at >= length)
		return found;
	found.pause = rep && code[at] == 0x90;
	found.halt = code[at] == 0xf4;
	found.io = (code[at] >= 0xe4 && code[at] <= 0xe7) || (code[at] >= 0xec && code[at] <= 0xef) ||
		   (code[at] >= 0x6c && code[at] <= 0x6f);
	if (at + 1 < length) {
		const uint8_t next = code[at + 1];

		found.tsc = code[at] == 0x0f &&
			    (next == 0x31 || (next == 0x01 && at + 2 < length && code[at + 2] == 0xf9));
		/* XCHG with memory locks by itself */
		found.atomic |= (code[at] == 0x86 || code[at] == 0x87) && next >> 6 != 3;
	}
	if (length == 7 && !memcmp(code, "\x0f\x1f\x80", 3) && !memcmp(code + 4, "\x4c\x53\x4d", 3))
		found.mark = code[3];
	return found;
}

static void on_tsc(unsigned int number, void *unused)
{
	(void)unused;
	machine.cpu[number].wrote = true; /* a loop that reads the time is not repeated blindly */
	if (!machine.priced) /* while it boots a kernel waits so, and each reading takes us long */
		add_time(&machine.cpu[number], WAITING_STEP);
}

static void on_io(unsigned int number, void *unused)
{
	(void)unused;
	machine.cpu[number].spent.io += machine.price.io;
	machine.cpu[number].wrote = true;
}

static uint64_t watch(struct qemu_plugin_insn *insn)
{
	uint8_t code[16];
	const struct instruction found = decode(code, qemu_plugin_insn_data(insn, code, sizeof(code)));
	const bool user = !(qemu_plugin_insn_vaddr(insn) >> 63);
	uint64_t price = machine.price.insn;

	if (found.mark >= 0 && found.mark < MARKS)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, take_mark, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(uintptr_t)found.mark);
	if (found.halt)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, halt, QEMU_PLUGIN_CB_NO_REGS, NULL);
	if (found.pause) {
		price += machine.price.pause;
		qemu_plugin_register_vcpu_insn_exec_cb(insn, pause_loop, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
	if (found.tsc) {
		price += machine.price.tsc;
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_tsc, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
	if (found.io) {
		price += machine.price.io;
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_io, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
	if (machine.watched) {
		const uint32_t site = user ? 0 : (uint32_t)qemu_plugin_insn_vaddr(insn);

		qemu_plugin_register_vcpu_mem_cb(insn, user ? read_user : read_kernel, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_R, ACCESS(site, found.atomic));
		qemu_plugin_register_vcpu_mem_cb(insn, user ? write_user : write_kernel, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W, ACCESS(site, found.atomic));
	}
	return price;
}

/* Blocks live until QEMU translates everything anew. */
static struct page {
	struct page *before;
	unsigned int used;
	struct block blocks[1000];
} *pages;

static struct block *new_block(void)
{
	if (!pages || pages->used == sizeof(pages->blocks) / sizeof(*pages->blocks)) {
		struct page *page = malloc(sizeof(*page));

		if (!page)
			abort();
		page->before = pages;
		page->used = 0;
		pages = page;
	}
	return &pages->blocks[pages->used++];
}

static void forget_blocks(qemu_plugin_id_t id)
{
	(void)id;
	while (pages) {
		struct page *before = pages->before;

		free(pages);
		pages = before;
	}
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *block = new_block();

	(void)id;
	*block = (struct block){ qemu_plugin_tb_vaddr(tb), 0 };
	for (size_t n = 0; n < qemu_plugin_tb_n_insns(tb); n++)
		block->price += watch(qemu_plugin_tb_get_insn(tb, n));
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64, used,
							  block->price);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, take_turn, QEMU_PLUGIN_CB_NO_REGS,
						  QEMU_PLUGIN_COND_GE, used, BUDGET_END, block);
}

static const struct option {
	const char *name;
	uint64_t *value;
	bool translated; /* it is a part of translated code */
} options[] = {
	{ "insn_ps", &machine.price.insn, true }, { "pause_ps", &machine.price.pause, true },
	{ "atomic_ps", &machine.price.atomic, false }, { "near_ps", &machine.price.near, false },
	{ "far_ps", &machine.price.far, false }, { "io_ps", &machine.price.io, true },
	{ "tsc_ps", &machine.price.tsc, true }, { "wake_ps", &machine.price.wake, false },
	{ "quantum_ps", &machine.quantum, false }, { "live_ps", &machine.live, false },
	{ "slack_ps", &machine.slack, false }, { "per_socket", &machine.per_socket, false },
};
#define OPTIONS (sizeof(options) / sizeof(*options))

/* setting=NAME:VALUE, as often as wanted: a guest can ask for the first, the second, ... */
static struct setting {
	const struct option *option;
	uint64_t described, other;
} settings[MARKS - FIRST_SETTING - 1];
static unsigned int known_settings;

void take_setting(unsigned int number, unsigned int setting)
{
	static unsigned int now;
	bool translated = false;

	if (setting == now || setting > known_settings)
		return;
	if (now) {
		*settings[now - 1].option->value = settings[now - 1].described;
		translated |= settings[now - 1].option->translated;
	}
	if (setting) {
		struct setting *wanted = &settings[setting - 1];

		wanted->described = *wanted->option->value;
		*wanted->option->value = wanted->other;
		translated |= wanted->option->translated;
	}
	now = setting;
	if (translated)
		translate_anew(number);
}

static const struct option *find_option(const char *name, size_t length)
{
	for (size_t k = 0; k < OPTIONS; k++)
		if (!strncmp(name, options[k].name, length) && !options[k].name[length])
			return &options[k];
	return NULL;
}

static bool add_setting(const char *said)
{
	const char *value = strchr(said, ':');
	const struct option *option = value ? find_option(said, (size_t)(value - said)) : NULL;

	if (!option || known_settings == sizeof(settings) / sizeof(*settings))
		return false;
	settings[known_settings++] = (struct setting){ option, 0, strtoull(value + 1, NULL, 10) };
	return true;
}

static bool set_option(const char *said, bool given[OPTIONS])
{
	const char *value = strchr(said, '=');
	const struct option *option = value ? find_option(said, (size_t)(value - said)) : NULL;

	if (value && !strncmp(said, "statistics=", 11))
		return open_statistics(value + 1);
	if (value && !strncmp(said, "setting=", 8))
		return add_setting(value + 1);
	if (!option)
		return false;
	*option->value = strtoull(value + 1, NULL, 10);
	return given[option - options] = true;
}

/* All of them: the target file has the prices, and nothing here would say where a default came from. */
static bool set_options(int argc, char **argv)
{
	bool given[OPTIONS] = { false };

	for (int k = 0; k < argc; k++)
		if (!set_option(argv[k], given)) {
			fprintf(stderr, "manycore: no option %s\n", argv[k]);
			return false;
		}
	for (size_t k = 0; k < OPTIONS; k++)
		if (!given[k] || (options[k].value == &machine.per_socket && !machine.per_socket)) {
			fprintf(stderr, "manycore: option %s is missing\n", options[k].name);
			return false;
		}
	return true;
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	if (!set_options(argc, argv))
		return -1;
	if (!find_internals()) {
		fputs("manycore: this QEMU does not export what it has to, such as cpu_loop_exit_restore\n", stderr);
		return -1;
	}
	make_lines();
	board = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	used = (qemu_plugin_u64){ board, 0 };
	qemu_plugin_register_vcpu_init_cb(id, start_cpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_flush_cb(id, forget_blocks);
	return 0;
}
