"""FST algorithms of the library kaldifst (OpenFst with Kaldi's additions), from Fst to Fst.

Every function makes the library's objects, uses them and drops them; nothing of the library outlives the call.
"""

from pymavg.errors import PymavgError
from pymavg.kaldi.fst import from_kaldifst, to_kaldifst


def compose(a, b):
    """Return a ∘ b, trimmed. The arcs are sorted here as composition needs them."""
    import kaldifst

    left, right = to_kaldifst(a.arcsorted("olabel")), to_kaldifst(b.arcsorted("ilabel"))
    return from_kaldifst(kaldifst.compose(left, right))


def determinize_star(fst, max_states=-1):
    """Remove epsilons and determinise in the log semiring (`fstdeterminizestar --use-log=true`).

    Raises
    ------
    PymavgError
        When the FST has no deterministic form: different words share a pronunciation without disambiguation symbols,
        or the grammar has a loop of epsilons.
    """
    import kaldifst

    result = to_kaldifst(fst)
    try:
        incomplete = kaldifst.determinize_star(result, max_states=max_states, use_log=True)
    except RuntimeError as error:
        raise PymavgError(f"the FST cannot be determinised ({error}); are disambiguation symbols missing?") from None
    if incomplete:
        raise PymavgError(f"determinisation reached {max_states} states; are disambiguation symbols missing?")
    return from_kaldifst(result)


def minimize_encoded(fst):
    """Minimise with labels and weights taken as one symbol; weights are rounded to 1/1024 (`fstminimizeencoded`)."""
    import kaldifst

    result = to_kaldifst(fst)
    kaldifst.minimize_encoded(result)
    return from_kaldifst(result)


def connect(fst):
    """Remove the states that no path from the start to a final state passes."""
    import kaldifst

    result = to_kaldifst(fst)
    kaldifst.connect(result)
    return from_kaldifst(result)


def compose_context(fst, disambig, width, central):
    """Compose with the context transducer (`fstcomposecontext`).

    Parameters
    ----------
    fst : Fst
        Its input labels are phones and the disambiguation symbols `disambig`.
    disambig : list of int
    width, central : int
        Shape of the window of phones.

    Returns
    -------
    fst : Fst
        Its input labels are numbers of windows.
    windows : list of list of int
        By number: [] for epsilon, [-d] or [0] for a disambiguation symbol d or the mark of the end, else phones.
    """
    import kaldifst

    result, windows = kaldifst.compose_context(
        disambig_syms=disambig, context_width=width, central_position=central, ifst=to_kaldifst(fst)
    )
    return from_kaldifst(result), windows
