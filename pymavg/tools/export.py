"""Write a trained network with its feature transform and priors for onnxruntime (ONNX) or PyTorch (safetensors).

usage: pymavg export [options] <exp> <out.onnx | out.safetensors>
 e.g.: pymavg export exp/dnn dnn.onnx
       python -c 'import onnxruntime as o; print(o.InferenceSession("dnn.onnx").run(["loglikes"], {"feats": feats})[0])'

Features go in, log-likelihoods for the decoder and posteriors come out, as pymavg computes them. Needs the packages of
`pip install 'pymavg[export]'`. docs/from-kaldi.md has the ten lines of PyTorch that read the safetensors file.
"""

from pymavg.decoding.export import read_parts, write_onnx, write_safetensors
from pymavg.options import Parser, log

WRITERS = {".onnx": write_onnx, ".safetensors": write_safetensors}


def main(argv):
    """Run the tool."""
    parser = Parser("export", __doc__)
    parser.add_argument("exp", help="directory with final.nnet and what training put beside it")
    parser.add_argument("out", help="its ending, .onnx or .safetensors, tells the format")
    args = parser.parse_args(argv)
    ending = next((e for e in WRITERS if args.out.endswith(e)), None)
    if ending is None:
        parser.error(f"<out> '{args.out}': a name that ends in {' or '.join(WRITERS)} expected")
    parts = read_parts(args.exp)
    WRITERS[ending](args.out, parts)
    log(f"{args.out}: features of {parts.dim} dimensions to {len(parts.log_priors)} pdfs, {len(parts.layers)} layers")
    told = "; ".join(f"{name} '{parts.metadata[name]}'" for name in ("cmvn_opts", "delta_opts") if parts.metadata[name])
    log(f"{args.out}: features are to be made as in training: {told or 'as they are in feats.scp'}")
