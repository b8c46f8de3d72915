# SPDX-License-Identifier: MIT
"""A function's source with what is known beforehand put in, and what that rules out left out.

What is known is told by an expression's text, as ``lock.order``. Only tests and constants are worked out;
whatever is not surely known stays as it is written.
"""

import ast
import functools
import inspect
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

Facts = Mapping[str, int]
NOTHING = "nothing"
"""The name of a function of which nothing is left: a call of it is left out."""
COMPARED: dict[type, Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@functools.cache
def _source(function: Any) -> str:
    return inspect.getsource(function.py_func)


def tree_of(function: Any) -> ast.FunctionDef:
    """The function's source, parsed anew: whoever gets it may change it."""
    (tree,) = ast.parse(_source(function)).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


def parameters(tree: ast.FunctionDef) -> list[str]:
    """Their names, in order."""
    return [argument.arg for argument in tree.args.args]


def stores(tree: ast.AST) -> Counter[str]:
    """How often each name is assigned to."""
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return Counter(name.id for name in names if isinstance(name.ctx, ast.Store))


class Fold(ast.NodeTransformer):
    """Folds the statements of a function by facts.

    ``call(callee, arguments, fold)`` names the function to call, ``outside(name)`` what is not the function's
    own. A local name that is assigned once, to what is known, is known too if it is one of ``once``.
    """

    def __init__(
        self,
        function: Any,
        facts: Facts,
        call: Callable[[Any, list[ast.expr], "Fold"], str],
        outside: Callable[[str], str],
    ) -> None:
        tree = tree_of(function)
        self.facts = dict(facts)
        self.scope: dict[str, Any] = function.py_func.__globals__
        self.locals = {*stores(tree), *parameters(tree)}
        self.once: set[str] = set()
        self.call = call
        self.outside = outside

    def block(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        """The statements that are left; none after one that leaves the block."""
        kept: list[ast.stmt] = []
        for statement in statements:
            folded = self.visit(statement)
            kept += folded if isinstance(folded, list) else [folded] if folded else []
            if kept and isinstance(kept[-1], ast.Return | ast.Break | ast.Continue):
                break
        return kept

    def value(self, node: ast.expr) -> int | None:
        """The whole number that an expression surely is, or None."""
        match node:
            case ast.Constant(value=int() as number):  # or a truth value
                return int(number)
            case ast.Name():
                found = None if node.id in self.locals else self.scope.get(node.id)
                return found if isinstance(found, int) else None
            case ast.Attribute(value=ast.Name(id=name)) if isinstance(self.scope.get(name), ModuleType):
                return int(getattr(self.scope[name], node.attr))
            case ast.UnaryOp(op=ast.Not()):
                truth = self.value(node.operand)
                return None if truth is None else int(not truth)
            case ast.Compare(ops=[how], comparators=[right]) if type(how) in COMPARED:
                a, b = self.value(node.left), self.value(right)
                return None if a is None or b is None else int(COMPARED[type(how)](a, b))
        return None

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            known = self.facts.get(ast.unparse(node))
            if known is not None:
                return ast.Constant(known)
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.locals or node.id not in self.scope:
            return node
        return ast.Name(self.outside(node.id), node.ctx)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return self._truth(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return self._truth(node)

    def _truth(self, node: ast.expr) -> ast.expr:
        self.generic_visit(node)
        known = self.value(node)
        return node if known is None else ast.Constant(bool(known))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        ends = isinstance(node.op, ast.Or)  # what decides it: True of an or, False of an and
        kept: list[ast.expr] = []
        for part in node.values:
            folded = self.visit(part)
            known = self.value(folded)
            if known is None:
                kept.append(folded)
            elif bool(known) == ends:
                if not any(isinstance(n, ast.Call) for before in kept for n in ast.walk(before)):
                    return ast.Constant(ends)  # nothing is done before it
                kept.append(ast.Constant(ends))
                break
        if not kept:
            return ast.Constant(not ends)
        return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.visit(node.test)
        known = self.value(test)
        if known is None:
            return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))
        chosen: ast.expr = self.visit(node.body if known else node.orelse)
        return chosen

    def visit_Call(self, node: ast.Call) -> ast.Call:
        callee = self.scope.get(node.func.id) if isinstance(node.func, ast.Name) else None
        node.args = [self.visit(argument) for argument in node.args]
        if hasattr(callee, "py_func"):
            node.func = ast.Name(self.call(callee, node.args, self), ast.Load())
        else:
            node.func = self.visit(node.func)
        return node

    def visit_If(self, node: ast.If) -> ast.If | list[ast.stmt]:
        test = self.visit(node.test)
        known = self.value(test)
        if known is not None:
            return self.block(node.body if known else node.orelse)
        return ast.If(test, self.block(node.body) or [ast.Pass()], self.block(node.orelse))

    def visit_While(self, node: ast.While) -> ast.While | list[ast.stmt]:
        test = self.visit(node.test)
        if self.value(test) == 0:
            return []
        return ast.While(test, self.block(node.body) or [ast.Pass()], [])

    def visit_For(self, node: ast.For) -> ast.For:
        return ast.For(
            self.visit(node.target), self.visit(node.iter), self.block(node.body) or [ast.Pass()], []
        )

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self.once:
            known = self.value(node.value)
            if known is not None:
                self.facts[target.id] = known
                return None
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        if isinstance(node.value, ast.Constant):  # the docstring
            return None
        node.value = self.visit(node.value)
        return None if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == NOTHING else node
