"""Command-line options with Kaldi's conventions, on top of argparse.

`--name value` and `--name=value` both work, booleans are written `true` or `false`, a name is never abbreviated, and
every mistake is one line that says what was found, what was expected and where the help is.
"""

import argparse
import sys
import textwrap

from pymavg.arguments import MEANINGS
from pymavg.errors import PymavgError, did_you_mean


def boolean(text):
    """Parse `true` or `false`."""
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"needs true or false, got '{text}'")
    return text == "true"


def whole(text):
    """Parse a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"needs a whole number, got '{text}'") from None


def real(text):
    """Parse a finite real number."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value - value != 0:  # nan or infinite
        raise argparse.ArgumentTypeError(f"needs a number, got '{text}'")
    return value


def positive(text):
    """Parse a whole number of at least 1."""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"needs a whole number of at least 1, got '{text}'")
    return value


class Parser(argparse.ArgumentParser):
    """An argument parser for one tool.

    Parameters
    ----------
    tool : str
        Name after `pymavg`, as in `compute-cmvn`.
    usage : str
        The tool module's docstring; printed by `--help` above the option list.
    """

    def __init__(self, tool, usage):
        super().__init__(
            prog=f"pymavg {tool}",
            usage=argparse.SUPPRESS,  # the docstring tells it, with examples
            description=usage,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.tool = tool
        self.add_argument("--show-defaults", action=_ShowDefaults, help=argparse.SUPPRESS)  # for the help of steps/

    def add_argument(self, *names, **how):
        """As argparse's; an argument without `help` is explained by pymavg.arguments."""
        if not names[0].startswith("-") and "help" not in how:
            shown = how.get("metavar", names[0])
            how["help"] = MEANINGS.get(f"{self.tool} {shown}", MEANINGS.get(shown))
        return super().add_argument(*names, **how)

    def add_options_of(self, defaults, **types):
        """Add an option for each field of the dataclass instance `defaults`: `max_active` is `--max-active`.

        The field's own value is the default and its type the parser, unless `types` names another one. A class
        attribute HELP (dict field -> text) explains them.
        """
        parse = {bool: boolean, int: whole, float: real, str: str}
        explained = getattr(defaults, "HELP", {})
        for name, value in vars(defaults).items():
            kind = types.get(name, parse.get(type(value), str))
            shown = str(value).lower() if isinstance(value, bool) else value
            self.add_argument(
                f"--{name.replace('_', '-')}", type=kind, default=value, help=_help(explained.get(name), shown)
            )

    def error(self, message):
        """Raise a one-line PymavgError instead of printing the whole usage."""
        message = message.removeprefix("argument ").replace("expected one argument", "needs a value")
        raise PymavgError(f"{self.prog}: {message} (see {self.prog} --help)")

    def parse_args(self, args=None, namespace=None):
        """Parse; an unknown option is an error that names the nearest known one, and options come before arguments."""
        args = self._joined(sys.argv[1:] if args is None else args)
        self._check_options(args)
        known, rest = self.parse_known_args(args, namespace)
        if rest:
            self.error(f"unexpected argument '{rest[0]}'")
        for action in self._actions:
            if not action.option_strings and "" in _as_list(getattr(known, action.dest)):
                self.error(f"<{action.metavar or action.dest}> is an empty string")
        return known

    def _check_options(self, args):
        actions = {name: action for action in self._actions for name in action.option_strings}
        rest = list(args)
        while rest and rest[0].startswith("--") and rest[0] != "--":
            name, equals, _ = rest.pop(0).partition("=")
            if name not in actions:
                self.error(f"no option {name}{did_you_mean(name, actions)}")
            if not equals and actions[name].nargs != 0:
                del rest[:1]  # its value
        for word in rest[: rest.index("--")] if "--" in rest else rest:
            if word.startswith("--"):
                self.error(f"option {word} must stand before the arguments")

    def _joined(self, words):
        """Write `--cmvn-opts --norm-vars=true` as one word: argparse would take the value for an option."""
        takes_text = {s for a in self._actions if a.nargs is None and a.type in (None, str) for s in a.option_strings}
        joined = []
        for word in words:
            if joined and joined[-1] in takes_text and word.startswith("--"):
                joined[-1] += "=" + word
            else:
                joined.append(word)
        return joined


class _ShowDefaults(argparse.Action):
    """`--show-defaults "NAME …"` prints these options with their defaults, in lines for the help of a shell script."""

    KIND = {whole: "N", positive: "N", real: "X"}  # where there is no default
    LAYOUT = {"initial_indent": "  ", "subsequent_indent": "  ", "break_on_hyphens": False}

    def __call__(self, parser, namespace, values, option_string=None):
        """Print and end."""
        actions = {action.dest: action for action in parser._actions}
        shown = "   ".join(self._shown(actions[name]) for name in values.replace("-", "_").split())
        print(textwrap.fill(shown, 118, **self.LAYOUT).replace("\0", " "))
        parser.exit()

    def _shown(self, action):
        value = str(action.default).lower() if isinstance(action.default, bool) else action.default
        return f"{action.option_strings[0]}\0{self.KIND.get(action.type, 'TEXT') if value in (None, '') else value}"


def _help(text, shown):
    default = "" if shown in (None, "") else f"default {shown}"
    return "; ".join(part for part in (text, default) if part).replace("%", "%%")


def _as_list(value):
    return value if isinstance(value, list) else [value]


def warn(message):
    """Print one warning line on standard error."""
    print(f"WARNING: {message}", file=sys.stderr, flush=True)


def log(message):
    """Print one line for the log on standard error."""
    print(message, file=sys.stderr, flush=True)
