# SPDX-License-Identifier: MIT
"""The event loop written once more for one op table, out of its own source: the same steps, the same bits.

``run_ops.run`` asks at each step what kind of step it is. Here its source is read, and what a program fixes
is put in: of the loop's branches each op keeps its own, under ``if pc == <op>``, and what it calls keeps what
its kind of lock and delay needs. So there is one text of the semantics. Times, shares, counts and the numbers
of threads and shards stay variables: a model is written once for all its parameters.
"""

import ast
import sys
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lockscale.sim.engine import compiled, run_ops
from lockscale.sim.engine import op_codes as op
from lockscale.sim.engine.folding import NOTHING, Facts, Fold, parameters, stores, tree_of
from lockscale.sim.engine.layout import IN_TURN, NEVER, PREEMPTED_OVERTAKEN

TAKES_LOCK = (op.LOCK, op.TRYLOCK, op.READ_LOCK)
GIVES_LOCK = (op.UNLOCK, op.READ_UNLOCK)
TAKES_TIME = (op.SPEND, op.SLEEP, op.LOCK, op.TRYLOCK, op.READ_LOCK, op.RMW, op.READ, op.FIND_SLOT, op.ENTER)
JUMPS = (
    *(op.RETRY_IF_LOST, op.TRYLOCK, op.SKIP_IF_WON, op.SKIP_IF_SAME, op.SKIP_BY_CHANCE),
    *(op.SKIP_UNTIL, op.SKIP_IF_FREE, op.JUMP, op.LOOP),
)
OF_BITMAP = (op.FIND_ZERO, op.CLAIM)
OF_A_KIND = ("order", "barging", "handoff", "shared", "hold_kind", "handover_kind", "owner_runs", "histogram")
COSTS = ("wake_cost_ps", "handover_ps", "per_waiter_ps")
FIXED_COLUMNS = ("code", "place", "target", "register", "kind")
NUMBERS = (op.TRYLOCK, op.SKIP_UNTIL, op.LOOP)
"""Their argument is a number of times, which parameters or threads may set; else it is of the op's kind."""


class Structure(NamedTuple):
    """What of a program is put into its loop; equal ones share it.

    ``ops``: of each, its fixed columns, its argument and its first record, -1 where these may vary, and how
    many locks are held before it; ``locks``: of each op's lock, what is known; ``paths``: of each, the first
    op and whether it is counted; ``world``: what is known anywhere.
    """

    ops: tuple[tuple[int, ...], ...]
    locks: tuple[tuple[tuple[str, int], ...], ...]
    paths: tuple[tuple[int, int], ...]
    world: tuple[tuple[str, int], ...]


def structure_of(w: Any) -> Structure:
    """The structure of a world that is not traced."""
    codes = w.ops["code"]
    fixed = np.stack([w.ops[name] for name in FIXED_COLUMNS], axis=1).tolist()
    on_lock = np.isin(codes, (*TAKES_LOCK, *GIVES_LOCK))
    numbers = np.where(np.isin(codes, NUMBERS), -1, w.ops["argument"]).tolist()
    records = np.where(on_lock | np.isin(codes, OF_BITMAP), w.ops["operand"], -1).tolist()
    change = np.isin(codes, TAKES_LOCK).astype(int) - np.isin(codes, GIVES_LOCK)
    held = (np.cumsum(change) - change).tolist()  # a path ends with none held
    readers = bool(np.isin(codes, op.READ_LOCK).any())
    of_locks = [record if found else -1 for record, found in zip(records, on_lock, strict=True)]
    locks = _locks_of(w)
    known = {record: _of_lock(locks[record], readers) for record in set(of_locks) if record >= 0}
    return Structure(
        ops=tuple((*row, *rest) for row, *rest in zip(fixed, numbers, records, held, strict=True)),
        locks=tuple(known.get(record, ()) for record in of_locks),
        paths=tuple((int(path["first"]), int(path["counted"])) for path in w.paths),
        world=tuple(sorted(_of_world(w, locks, readers).items())),
    )


def _locks_of(w: Any) -> Any:
    """The lock records; where each thread has a CPU of its own, nobody overtakes a preempted spinner."""
    locks = np.array(w.locks)
    if len(w.cpus) == 0:
        locks["barging"][locks["barging"] == PREEMPTED_OVERTAKEN] = IN_TURN
    return locks


def _of_lock(lock: Any, readers: bool) -> tuple[tuple[str, int], ...]:
    """A lock's kind; of its costs whether there is one at all."""
    facts = {name: int(lock[name]) for name in OF_A_KIND}
    facts |= {name: 0 for name in COSTS if not lock[name]}
    if lock["spin_ps"] in (0, NEVER):
        facts["spin_ps"] = int(lock["spin_ps"])
    if not readers:
        facts["readers"] = 0
        if lock["spin_ps"] == NEVER:  # nobody sleeps for it
            facts |= {"sleepers": 0, "promised": 0, "called": 0}
    return tuple(facts.items())


def _of_world(w: Any, locks: Any, readers: bool) -> dict[str, int]:
    """What is known anywhere; after a function's name: in it alone."""
    facts = {"len(w.events)": 0}
    if len(w.cpus) == 0:
        facts |= {"len(w.cpus)": 0, "th.state == READY": 0}
    if not readers:
        facts |= {"th.reading": 0, "w.threads[first].reading": 0, "w.threads[thread].reading": 0}
    if not w.threads["socket"].any():
        facts["lock.socket != th.socket"] = 0
    if not locks["barging"].any():
        facts["th.nominated"] = 0
        if np.isin(locks["spin_ps"], (0, NEVER)).all():
            facts["wake_up: th.lock == NOBODY"] = 1
    return facts


class Writer:
    """Writes one loop: ``text()`` is a module with a function ``run``."""

    def __init__(self, of: Structure) -> None:
        self.of = of
        self.world: Facts = dict(of.world)
        self.known: dict[tuple[Any, ...], str] = {}
        self.functions: dict[str, str] = {}
        self.outside: dict[str, tuple[str, str]] = {n: (compiled.__name__, n) for n in ("compiled", "inner")}

    def text(self) -> str:
        """The module's source."""
        tree, steps = _loop()
        steps.body = [ast.Pass()]
        fold = self._fold(run_ops.run, self.world, {})
        fold.once = {"tracing", "shared_cpus"}
        body = fold.block(tree.body)
        (steps,) = (n for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.While) and _is_empty(n))
        steps.body = self._blocks()
        loop = _definition("@compiled", "run", parameters(tree), body)
        imports = [f"from {module} import {name} as {here}" for here, (module, name) in self.outside.items()]
        return "\n\n\n".join(["\n".join(sorted(imports)), *self.functions.values(), loop]) + "\n"

    def _blocks(self) -> list[ast.stmt]:
        """For each op at which a thread may go on, ``if pc == op`` with it and those that follow at once."""
        starts = self._starts()
        blocks: list[ast.stmt] = []
        body: list[ast.stmt] = []
        for index in self._order():
            if index in starts:
                body = []
                blocks.append(ast.If(ast.parse(f"pc == {index}", mode="eval").body, body, []))
            body += self._op(index)
        return blocks

    def _starts(self) -> set[int]:
        codes = [row[0] for row in self.of.ops]
        again = {k for k, code in enumerate(codes) if code in TAKES_LOCK}
        jumps = {row[2] for row in self.of.ops if row[0] in JUMPS}
        parts = {k + 1 for k, code in enumerate(codes) if code in (*TAKES_TIME, *GIVES_LOCK, *JUMPS)}
        return {first for first, _ in self.of.paths} | again | jumps | parts

    def _order(self) -> Iterator[int]:
        """Of each path what follows its last op that takes time, to the path's end; then its start."""
        firsts = [first for first, _ in self.of.paths]
        for first, end in zip(firsts, [*firsts[1:], len(self.of.ops)], strict=True):
            timed = [k for k in range(first, end) if self.of.ops[k][0] in TAKES_TIME]
            turn = timed[-1] + 1 if timed else end
            yield from range(turn, end)
            yield from range(first, turn)

    def _op(self, index: int) -> list[ast.stmt]:
        """One op's branch of the loop."""
        facts = {**self.world, **self._of_op(index), "here": index}
        lock = self._of_lock(index)
        _, steps = _loop()
        after = next(k for k, s in enumerate(steps.body) if isinstance(s, ast.AugAssign))  # pc += 1
        which_op = self._fold(run_ops.run, {**facts, "pc": index}, lock)
        fold = self._fold(run_ops.run, facts | lock, lock)
        fold.once = {"code", "read"}
        advance = ast.parse(f"pc = {index + 1}").body
        return [*which_op.block(steps.body[:after]), *advance, *fold.block(steps.body[after + 1 :])]

    def _of_op(self, index: int) -> dict[str, int]:
        *columns, argument, record, held = self.of.ops[index]
        facts = {f"step.{name}": value for name, value in zip(FIXED_COLUMNS, columns, strict=True)}
        facts |= {f"step.{name}": n for name, n in (("argument", argument), ("operand", record)) if n >= 0}
        if columns[0] in GIVES_LOCK:
            facts["th.held == 0"] = int(held == 1)
        path = max(k for k, (first, _) in enumerate(self.of.paths) if first <= index)
        first, counted = self.of.paths[path]
        return {**facts, "th.first": first, "th.path": path, "th.counted": counted}

    def _of_lock(self, index: int) -> dict[str, int]:
        """What is known of the op's lock, wherever it is called ``lock`` or ``w.locks[which]``."""
        known = dict(self.of.locks[index])
        if not known:
            return {}
        facts = {f"{lock}.{name}": n for name, n in known.items() for lock in ("lock", "w.locks[which]")}
        held = self.of.ops[index][-1]
        facts |= {"request: th.held > 0": int(held > 0), "request: th.held == 1": int(held == 0)}
        if not known["barging"]:
            facts["request: th.lock == NOBODY"] = 1
        return facts

    def _fold(self, function: Any, facts: Facts, lock: Facts) -> Fold:
        scope = f"{function.py_func.__name__}: "
        here = {text.removeprefix(scope): n for text, n in {**facts, **lock}.items()}
        module = function.py_func.__module__
        return Fold(
            function,
            here,
            lambda callee, arguments, fold: self._call(callee, arguments, fold, lock),
            lambda name: self._import(module, name),
        )

    def _call(self, callee: Any, arguments: list[ast.expr], caller: Fold, lock: Facts) -> str:
        """The name of the function to call: the callee written for what is known of its arguments."""
        name, module = callee.py_func.__name__, callee.py_func.__module__
        if not callee.targetoptions.get("forceinline"):
            return self._import(module, name)
        tree = tree_of(callee)
        changed = stores(tree)
        given = list(zip(parameters(tree), arguments, strict=True))
        on_lock = any(p in ("which", "lock") and ast.unparse(a) in LOCKS for p, a in given)
        lock = lock if on_lock else {}
        known = {p: n for p, a in given if p not in changed and (n := caller.value(a)) is not None}
        key = (module, name, tuple(known.items()), tuple(lock.items()))
        if key not in self.known:
            fold = self._fold(callee, {**self.world, **known}, lock)
            fold.once = {once for once, times in changed.items() if times == 1}
            self.known[key] = self._function(callee, tree, fold)
        return self.known[key]

    def _function(self, callee: Any, tree: ast.FunctionDef, fold: Fold) -> str:
        before = _text(tree.body[1:])  # without the docstring
        body = fold.block(tree.body)
        text = _text(body)
        if text in ("", "return"):
            return NOTHING
        if text == before:
            return self._import(callee.py_func.__module__, tree.name)
        same = _definition("@inner", "{}", parameters(tree), body)
        if same not in self.functions:
            name = f"{tree.name}_{len(self.functions)}"
            self.functions[same] = same.replace("{}", name, 1)
        return self.functions[same].partition("def ")[2].partition("(")[0]

    def _import(self, module: str, name: str) -> str:
        """A module's own name, or one with the module's if another has the name for something else."""
        here = name
        other = self.outside.setdefault(name, (module, name))
        if _object(*other) is not _object(module, name):
            here = f"{name}_{module.rpartition('.')[2]}"
            self.outside[here] = (module, name)
        return here


LOCKS = ("which", "lock", "w.locks[which]")


def _definition(decorator: str, name: str, names: list[str], body: list[ast.stmt]) -> str:
    return f"{decorator}\ndef {name}({', '.join(names)}):\n{textwrap.indent(_text(body), '    ')}"


def _text(body: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


def _object(module: str, name: str) -> Any:
    return getattr(sys.modules[module], name)


def _loop() -> tuple[ast.FunctionDef, ast.While]:
    """The source of ``run``, and in it the loop over a thread's steps."""
    tree = tree_of(run_ops.run)
    (events,) = (s for s in tree.body if isinstance(s, ast.While))
    (steps,) = (s for s in events.body if isinstance(s, ast.While))
    return tree, steps


def _is_empty(loop: ast.While) -> bool:
    return isinstance(loop.body[0], ast.Pass)
