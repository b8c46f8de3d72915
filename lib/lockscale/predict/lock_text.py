# SPDX-License-Identifier: MIT
"""The answer to "what would a patch of this lock give" as text: for a terminal, and for a cover letter."""

from textwrap import fill

import pandas as pd

from lockscale.predict.answer import LEAST_GAIN
from lockscale.predict.change_kind import GONE, KEPT, LESS
from lockscale.predict.lock_answer import MOST_PROMISED, LockAnswer, PatchGain
from lockscale.predict.lock_verdict import CONTRADICTION, IF_IT_LIMITS, SURE, UNEXPLAINED, UNLIKELY
from lockscale.predict.next_bottleneck import NextLimit
from lockscale.predict.patch_language import read_patch
from lockscale.predict.published_gains import HOLDS, MOST_SHARE, ROOM
from lockscale.text_table import text_table
from lockscale.tools.seal import UNSEALED

LETTER_WIDTH = 72
_LEAVES = {
    KEPT: "keep the lock but change its algorithm",
    LESS: "take the lock less often or hold it for a shorter time",
    GONE: "remove or split the lock",
}


def lock_text(answer: LockAnswer) -> str:
    """The check of the unpatched rates, what was matched, the candidates, the next limit, what to measure."""
    rows = [
        {
            "patch": one.patch,
            "threads": one.threads,
            "promise": _times(one),
            "low": f"{one.low:.2f}",
            "gain": f"{one.value:.2f}",
            "high": f"{one.high:.2f}",
            "chance of > 5%": _chance(one.chance),
            "worth writing": one.worth,
        }
        for one in answer.candidates
    ]
    matched = dict.fromkeys(one.matched for one in answer.candidates if one.matched)
    warnings = [text for text in answer.warnings if text != UNSEALED]
    said = [f"warning: {text}" for text in warnings] + [f"note: {text}" for text in answer.notes]
    not_sealed = f" {UNSEALED[0].upper()}{UNSEALED[1:]}." if UNSEALED in answer.warnings else ""
    at_least = f"{MOST_PROMISED:.2f}+: a share of {MOST_SHARE:.0%} or more counts as {MOST_SHARE:.0%}."
    parts = [
        "\n".join([answer.against_itself, *said]),
        *(["Matched in the profile\n" + "\n".join(f"- {text}" for text in matched)] if matched else []),
        f"Predicted gain (patched over unpatched rate) with a {HOLDS:.0%} interval, learned from "
        f"{answer.gains} gains of {answer.patches} published patches\n"
        f"{text_table(pd.DataFrame(rows)).rstrip()}",
        f"{_legend(answer)}{_open(answer)}",
        at_least if any(one.at_least for one in answer.candidates) else "",
        _next(answer),
        _advice(answer),
        f"From {'; '.join(answer.used)}.{not_sealed}",
    ]
    return "\n\n".join(part for part in parts if part)


def _legend(answer: LockAnswer) -> str:
    """What the columns say, as far as this answer has it."""
    costs = " low: 0.95 is a patch that only costs its own code."
    limits = f"; {IF_IT_LIMITS}: rates do not show that a lock limits them"
    return (
        "promise: the gain if the waits and holds that the patch removes were deleted and nothing else got "
        "in the way. Published gains can be larger, because waiters also slow down the others."
        f"{costs if any(f'{one.low:.2f}' == '0.95' for one in answer.candidates) else ''}"
        f" worth writing: yes from a chance of {SURE:.0%} on, no below {UNLIKELY:.0%}"
        f"{limits if any(one.worth == IF_IT_LIMITS for one in answer.candidates) else ''}."
    )


def _open(answer: LockAnswer) -> str:
    """Why it is not known of some whether they are worth writing; of which, where not of all alike."""
    why: dict[str, list[str]] = {}
    for one in answer.candidates:
        if one.open:
            why.setdefault(one.open, []).append(one.patch)
    if len(why) == 1 and len(*why.values()) == len(answer.candidates):
        return f" not known: {next(iter(why))}."
    said = "; ".join(f"{reason} ({', '.join(patches)})" for reason, patches in why.items())
    return f" not known: {said}." if why else ""


def _chance(chance: float) -> str:
    """Rounded, but not up to what a "yes" needs."""
    shown = round(100 * chance)
    return f"{shown - 1 if chance < SURE <= shown / 100 else shown}%"


def _times(one: PatchGain) -> str:
    return "not known" if one.promise is None else f"{one.promise:.2f}{'+' * one.at_least}"


def _next(answer: LockAnswer) -> str:
    limit = answer.next_limit
    if limit is None:
        seen = "" if not answer.other_sleep else ", but for the sleep that is noted above"
        return (
            f"What limits the rate after the patch cannot be seen in this input{seen}; the intervals cover "
            "what published patches ran into."
        )
    best, others = answer.candidates[0], {one.matched for one in answer.candidates}
    about = (
        f"Next bottleneck{f' with {best.patch}' if len(others) > 1 else ''}: {limit.name}, with "
        f"{limit.wait_pct:.1f}% of the time spent waiting"
    )
    held = f"is held {100 / max(limit.gain_ends_at, 1):.0f}% of the time and would"
    if _limits_nothing(answer, limit):
        return f"{about}: too little to limit any of these gains."
    if limit.none_because:
        return f"{about}: {limit.none_because}."
    if limit.is_another_lock:
        return (
            f"{about}. {_if_several(best)}If that is one lock, it {held} alone limit the gain to about "
            f"{limit.gain_ends_at:.2f}, which the gains above allow for. Waits show such a limit only "
            f"roughly: it may be {ROOM:.2f} times as high, or lower, as behind a lock that is always held "
            "the next one has no queue, however busy it is."
        )
    return (
        f"{about} for a lock of the same kind. If it is a different lock (say so with --distinct), it {held} "
        f"limit the gain to {limit.gain_ends_at:.2f}; if it is the same one, that waiting changes too "
        f'(ask for both: "A + B").'
    )


def _if_several(best: PatchGain) -> str:
    """What is not known of the next limit, and what follows if it is none."""
    free = best.if_several
    if free is None:
        return ""
    return (
        "This input does not say whether that is one lock or several, such as one for each file: `perf lock "
        "contention -abl` lists each lock by its address. If it is "
        f"several, each is held for a part of that time and may limit nothing: {best.patch} then gains "
        f"{free.value:.2f} ({free.low:.2f} to {free.high:.2f}; {_chance(free.chance)} for more than 5%). "
    )


def _limits_nothing(answer: LockAnswer, limit: NextLimit) -> bool:
    return limit.gain_ends_at > max(one.high for one in answer.candidates)


def _advice(answer: LockAnswer) -> str:
    best = answer.advice
    if max(one.high for one in answer.candidates) < LEAST_GAIN:
        return "No measurement makes a patch of this lock worth writing: look for one that is waited for."
    if best.to >= best.width:
        return f"{best.measurement[0].upper()}{best.measurement[1:]}: {best.note}."
    return (
        f"Measure next {best.measurement}; high over low shrinks from {best.width:.1f} to about "
        f"{best.to:.1f}:\n"
        f"  {best.command}{f'  # {best.note}' if best.note else ''}"
    )


def letter(answer: LockAnswer) -> str:
    """A paragraph for a cover letter on the best candidate: what was measured, expected, why, what if not."""
    best = answer.candidates[0]
    parts = [_measured(answer, best), _expected(answer, best), _doubt(answer)]
    return "\n\n".join(fill(part, LETTER_WIDTH) for part in parts)


def _measured(answer: LockAnswer, best: PatchGain) -> str:
    base = f"The unpatched side at {best.threads} threads: {', '.join(answer.used)}."
    if best.promise is None:
        return (
            f"{base} The share of time spent waiting for the lock is not known, so it is not shown that this "
            "lock limits the rate."
        )
    what = "work" if _is_of_work(best) else "waits and holds"
    return (
        f"{base} Without the {what} that the change ({best.patch}) removes it would be "
        f"{'at least ' * best.at_least}{best.promise:.2f} times as fast, if nothing else were in the way."
    )


def _is_of_work(one: PatchGain) -> bool:
    return read_patch(one.patch).of_work


def _expected(answer: LockAnswer, best: PatchGain) -> str:
    limit = answer.next_limit
    within = limit and limit.limits and not _limits_nothing(answer, limit)
    more = best.promise is not None and best.value > best.promise and not _is_of_work(best)
    saves_work = _is_of_work(best) and best.left == LESS  # to avoid every call removes a lock
    alike = "take a lock less often or save work" if saves_work else _LEAVES[best.left]
    return (
        f"Predicted, not measured: {best.value:.2f} times the unpatched rate with {best.patch}, between "
        f"{best.low:.2f} and {best.high:.2f} ({HOLDS:.0%}). That is how changes that {alike} turned out "
        f"among {answer.gains} gains of {answer.patches} published patches"
        f"{', within the limit below' if within else ''}."
        + " They can gain more than the waits, because waiters also slow down the others."
        * more
    )


def _unseen(answer: LockAnswer) -> str:
    limit = answer.next_limit
    if limit and limit.none_because:
        return f"Threads also wait at {limit.name}, {limit.wait_pct:.1f}% of the time: {limit.none_because}."
    if answer.other_sleep:
        return f"{answer.other_sleep}."
    return "What limits the rate after that cannot be seen in these data."


def _doubt(answer: LockAnswer) -> str:
    limit, best = answer.next_limit, answer.candidates[0]
    first = (
        f"{limit.name}, with {limit.wait_pct:.1f}% of the time spent waiting, may limit the gain to about "
        f"{limit.gain_ends_at:.2f} times{_if_it_is(best, limit)}."
        if limit and not limit.none_because and not _limits_nothing(answer, limit)
        else _unseen(answer)
    )
    off = answer.off_by_pct
    fit = f" Calculated rates of the unpatched kernel are {off:.0f}% off the measured ones." if off else ""
    if (why := best.open) in (CONTRADICTION, UNEXPLAINED):
        fit += f" {why[0].upper()}{why[1:]}, so it is not shown that the change pays."
    elif why and best.promise is not None:
        fit += f" Whether the change pays is not known: {why}."
    return f"{first}{fit} It has to be measured at the thread counts that matter."


def _if_it_is(best: PatchGain, limit: NextLimit) -> str:
    """Under which condition the next limit is one, and what is expected without."""
    if not limit.is_another_lock:
        return ", if it is a different lock"
    if best.if_several is None:
        return ""
    return (
        f", if it is one lock; if it is several, {best.if_several.value:.2f} times are expected "
        f"({best.if_several.low:.2f} to {best.if_several.high:.2f})"
    )
