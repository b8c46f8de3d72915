/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is used here of QEMU's plugin interface (version 2, QEMU 9.1 and later), declared as its
 * documentation describes it: no binary package has the header. Below it, functions that a QEMU built
 * with modules exports beside the interface.
 */
#ifndef QEMU_PLUGIN_H
#define QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
typedef struct {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;
struct qemu_plugin_hwaddr;
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W = 2 };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cond { QEMU_PLUGIN_COND_GE = 7 };

typedef void (*vcpu_cb)(qemu_plugin_id_t id, unsigned int cpu);
typedef void (*exec_cb)(unsigned int cpu, void *userdata);
typedef void (*mem_cb)(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, vcpu_cb cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t));
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb,
						       enum qemu_plugin_op op, qemu_plugin_u64 entry,
						       uint64_t imm);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, exec_cb cb,
					       enum qemu_plugin_cb_flags flags,
					       enum qemu_plugin_cond cond, qemu_plugin_u64 entry,
					       uint64_t imm, void *userdata);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, exec_cb cb,
					    enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t at);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t length);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *addr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *addr);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int cpu);

/* Not in the interface: run one CPU, leave its code before its next instruction, translate all anew. */
struct CPUState;
#define EXCP_ATOMIC 0x10005 /* what exec returns when one instruction has to be stepped alone */
struct qemu_internals {
	struct CPUState *get_cpu_of[64];
	struct CPUState *(*get_cpu)(int index);         /* qemu_get_cpu */
	void (*cpu_exit)(struct CPUState *cpu);         /* cpu_exit */
	void (*loop_exit)(struct CPUState *cpu, uintptr_t host_pc); /* cpu_loop_exit_restore */
	int (*exec)(struct CPUState *cpu);              /* tcg_cpu_exec */
	void (*step_atomic)(struct CPUState *cpu);      /* cpu_exec_step_atomic */
	void (*flush)(struct CPUState *cpu);            /* tb_flush or queue_tb_flush */
	void (*set_parallel)(struct CPUState *cpu, bool parallel);  /* tcg_cpu_init_cflags */
};

extern struct qemu_internals qemu;

#endif
