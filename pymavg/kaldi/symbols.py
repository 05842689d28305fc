"""Symbol tables: words.txt and phones.txt, one `symbol id` a line."""

from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines

EPSILON = "<eps>"


class SymbolTable:
    """Symbols and their numbers.

    Parameters
    ----------
    id_of : dict str -> int
    name : str
        The file, for messages.

    Attributes
    ----------
    id_of : dict str -> int
    symbol_of : dict int -> str
    """

    def __init__(self, id_of, name="symbol table"):
        self.id_of, self.name = dict(id_of), str(name)
        self.symbol_of = {number: symbol for symbol, number in self.id_of.items()}

    def __len__(self):
        return len(self.id_of)

    def __contains__(self, symbol):
        return symbol in self.id_of

    def ids(self, symbols, where="", unknown=None):
        """Return the numbers of `symbols`; one that is not in the table becomes `unknown`.

        Raises
        ------
        PymavgError
            Starting with `where` (file and line, or utterance), for a symbol that is not in the table, when `unknown`
            is None.
        """
        numbers = [self.id_of.get(symbol, unknown) for symbol in symbols]
        if None in numbers:
            missing = symbols[numbers.index(None)]
            raise PymavgError(f"{where or self.name}: '{missing}' is not in {self.name}; add it there or correct it")
        return numbers

    def symbols(self, numbers, where=""):
        """Return the symbols of `numbers`; PymavgError for a number that is not in the table."""
        try:
            return [self.symbol_of[number] for number in numbers]
        except KeyError as error:
            raise PymavgError(f"{where or self.name}: no symbol has number {error} in {self.name}") from None


def read_symbols(path):
    """Read a symbol table.

    Raises
    ------
    PymavgError
        Naming file and line, for a line that is not `symbol id`, for a symbol or an id given twice, and where 0 is not
        `<eps>`.
    """
    id_of, seen = {}, {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split()
        if len(fields) != 2 or not fields[1].isdecimal():
            raise PymavgError(f"{path}:{number}: expected 'symbol id', found '{line}'")
        symbol, value = fields[0], int(fields[1])
        if symbol in id_of or value in seen:
            raise PymavgError(f"{path}:{number}: '{line}' repeats a symbol or an id given above")
        id_of[symbol] = value
        seen[value] = symbol
    if seen.get(0) != EPSILON:
        raise PymavgError(f"{path}: id 0 must be {EPSILON}, found '{seen.get(0, 'nothing')}'")
    return SymbolTable(id_of, path)


def write_symbols(path, symbols):
    """Write `symbols`, numbered from 0."""
    with atomic_open(path) as stream:
        stream.writelines(f"{symbol} {number}\n" for number, symbol in enumerate(symbols))
