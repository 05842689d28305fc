"""Fetches the two games' Debian packages and unpacks them, without installing anything."""

import shutil
import subprocess

PACKAGES = ("flight-of-the-amazon-queen", "drascula")


class Missing(Exception):
    """A package can be neither found nor fetched."""


def unpack(work, debs=None):
    """Return the Paths of queen.1c and of Drascula's folder `en`, unpacked under `work`.

    Parameters
    ----------
    work : Path
        Where packages are downloaded and unpacked.
    debs : Path, optional
        Folder that holds the two .deb files already.

    Raises
    ------
    Missing
        When a package is not there and cannot be downloaded, or holds other files than expected.
    """
    tree = work / "tree"
    if tree.exists():
        shutil.rmtree(tree)
    tree.mkdir(parents=True)
    for package in PACKAGES:
        subprocess.run(["dpkg", "-x", _find(package, work, debs), tree], check=True)
    games = tree / "usr" / "share" / "scummvm"
    queen, drascula = games / PACKAGES[0] / "queen.1c", games / PACKAGES[1] / "en"
    for path in (queen, drascula / "drascula.dat"):
        if not path.exists():
            raise Missing(f"{path}: not in the package; expected those of Debian 12, see mini/README.md")
    return queen, drascula


def _find(package, work, debs):
    places = [debs] if debs else [work]
    for place in places:
        for path in sorted(place.glob(f"{package}_*.deb")):
            return path
    if debs:
        raise Missing(f"{debs}: no {package}_*.deb; fetch it with: cd {debs} && apt-get download {package}")
    work.mkdir(parents=True, exist_ok=True)
    if shutil.which("apt-get"):
        for command in (["download"], ["update"], ["download"]):
            subprocess.run(
                ["apt-get", "-qq", *command, *([package] if command == ["download"] else [])],
                cwd=work,
                capture_output=True,
            )
            for path in sorted(work.glob(f"{package}_*.deb")):
                return path
    names = " ".join(PACKAGES)
    raise Missing(
        f"the Debian packages {names} are needed: on a Debian machine 'apt-get download {names}', then --debs DIR"
    )
