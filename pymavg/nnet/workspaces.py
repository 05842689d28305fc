"""Arrays that keep their memory from call to call."""


class Workspaces:
    """Uninitialised arrays by name; one is replaced only when more rows are asked for.

    Parameters
    ----------
    xp : module
        `numpy` or `cupy`.
    dtype : dtype

    Attributes
    ----------
    replaced : int
        Of the class: how often any array of the program was; until it grows, all addresses hold.
    """

    replaced = 0

    def __init__(self, xp, dtype):
        self._xp, self._dtype, self._held = xp, dtype, {}

    def __call__(self, name, rows, columns):
        """Return a (rows, columns) array, valid until the next call with this name."""
        held = self._held.get(name)
        if held is None or held.shape[0] < rows or held.shape[1] != columns:
            Workspaces.replaced += 1
            held = self._held[name] = self._xp.empty((rows, columns), self._dtype)
        return held[:rows]
