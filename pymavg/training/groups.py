"""Parsed arguments back into the dataclasses that their options came from."""

import dataclasses


def from_arguments(groups, given):
    """Return each dataclass of `groups` with its fields as in the namespace `given`."""
    return [
        dataclasses.replace(group, **{field.name: getattr(given, field.name) for field in dataclasses.fields(group)})
        for group in groups
    ]
