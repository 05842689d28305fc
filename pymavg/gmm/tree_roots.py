"""Where trees start: one root for each set of phones (GetStubMap, Kaldi's tree/build-tree.cc), and monophone trees."""

import itertools

from pymavg.kaldi.tree import PDF_CLASS, Constant, ContextDependency, Split, Table


def pdf_classes(topology):
    """Return the dict phone -> number of its pdf classes."""
    return {phone: len({s.forward_class for s in topology.states(phone)} - {-1}) for phone in topology.phones}


def stub_map(roots, num_classes, central):
    """Return (node, number of leaves): the tree that asks only for the root, and for the pdf class where not shared."""
    counter = itertools.count()

    def one(shared, phones):
        if shared:
            return Constant(next(counter))
        classes = range(max(num_classes[phone] for phone in phones))
        return Table(PDF_CLASS, tuple(Constant(next(counter)) for _ in classes))

    def several(roots):
        if len(roots) == 1:
            shared, _, phones = roots[0]
            return one(shared, phones)
        highest = max(max(phones) for _, _, phones in roots)
        if all(len(phones) == 1 for _, _, phones in roots) and len(roots) <= 2 * highest:
            children = {phones[0]: one(shared, phones) for shared, _, phones in roots}
            return Table(central, tuple(children.get(phone) for phone in range(highest + 1)))
        first, second = roots[: len(roots) // 2], roots[len(roots) // 2 :]
        yes = frozenset(phone for _, _, phones in first for phone in phones)
        return Split(central, yes, several(first), several(second))

    node = several(roots)
    return node, next(counter)


def monophone_tree(topology, sets=None):
    """Return the tree without context: one leaf for each pdf class of each phone, or of each set of phones.

    Parameters
    ----------
    topology : Topology
    sets : list of lists of int, optional
        Phones that share their pdfs (lang/phones/sets.int).
    """
    roots = [(False, False, phones) for phones in sets or [[phone] for phone in topology.phones]]
    return ContextDependency(1, 0, stub_map(roots, pdf_classes(topology), 0)[0])
