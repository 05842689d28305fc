"""CUDA C of the elementwise and row-wise kernels: the twins of the loops in host_kernels.py.

Elementwise kernels are bodies for `cupy.ElementwiseKernel`: one element per thread, `i` the position in C order,
inputs broadcast (a bias over rows, a 0-d array or a number over all). Row kernels take one block for each row. The
same text is compiled for the host by the tests, with a block of one thread.
"""

PREAMBLE = r"""
__device__ __forceinline__ float sigmoid(float x) {
    float small = expf(-fabsf(x));            /* never overflows */
    float p = 1.0f / (1.0f + small);
    return x < 0.0f ? small * p : p;
}
__device__ __forceinline__ unsigned int mix(unsigned int x) {
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}
__device__ __forceinline__ float uniform(unsigned int i, unsigned int low, unsigned int high) {
    return (float)(mix(mix(i ^ low) + high) >> 8) * 5.9604645e-8f;      /* [0, 1) */
}
"""

# name: (inputs, outputs, body); an output may be read before it is set
ELEMENTWISE = {
    "linear": ("float32 bias", "float32 a", "a += bias"),
    "sigmoid": ("float32 bias", "float32 a", "a = sigmoid(a + bias)"),
    "tanh": ("float32 bias", "float32 a", "a = tanhf(a + bias)"),
    "relu": ("float32 bias", "float32 a", "float x = a + bias; a = x < 0.0f ? 0.0f : x"),
    "derive_sigmoid": ("float32 y, float32 scale", "float32 delta", "float z = scale * y; delta *= z * (1.0f - z)"),
    "derive_tanh": ("float32 y, float32 scale", "float32 delta", "float z = scale * y; delta *= 1.0f - z * z"),
    "derive_relu": ("float32 y, float32 scale", "float32 delta", "delta = y > 0.0f ? delta : 0.0f"),
    "dropout": (
        "float32 retention, uint32 low, uint32 high",
        "float32 y",
        "y = uniform((unsigned int)i, low, high) < retention ? y / retention : 0.0f",
    ),
    "sample_hidden": (
        "float32 bias, uint32 low, uint32 high",
        "float32 a, float32 sample",
        "float p = sigmoid(a + bias); a = p; sample = uniform((unsigned int)i, low, high) < p ? 1.0f : 0.0f",
    ),
    "add_correction": (
        "float32 decay, float32 keep",
        "float32 correction, float32 weight",
        "float c = correction - decay * weight; correction = c; weight = keep * weight + c",
    ),
    "key_words": (  # splitmix64, operations.key_words
        "uint64 key",
        "uint32 low, uint32 high",
        "unsigned long long z = key + 0x9E3779B97F4A7C15ull; z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull; "
        "z = (z ^ (z >> 27)) * 0x94D049BB133111EBull; z ^= z >> 31; low = (unsigned int)z; "
        "high = (unsigned int)(z >> 32)",
    ),
    "scale_add": ("float32 keep, float32 b, float32 factor", "float32 a", "a = keep * a + factor * b"),
}

THREADS = 256  # of a row's block; a power of two
ROW_KERNELS = "row_squares", "softmax_xent", "gather"

ROWS = r"""
#define THREADS 256
/* Combine one value of each thread over the block; every thread gets the result. */
template <typename T, typename Combine>
__device__ T over_block(T value, Combine combine) {
    __shared__ T held[THREADS];
    held[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) held[threadIdx.x] = combine(held[threadIdx.x], held[threadIdx.x + half]);
        __syncthreads();
    }
    T result = held[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void row_squares(const float* a, int columns, double* out) {
    const float* row = a + (long long)blockIdx.x * columns;
    double sum = 0.0;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) sum += (double)row[j] * row[j];
    sum = over_block(sum, [](double x, double y) { return x + y; });
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/* out = scale (feats at rows + offsets, within first ... last) + shift. */
extern "C" __global__ void gather(const float* feats, int dim, const int* rows, const int* first, const int* last,
                                  const int* offsets, int width, const float* scale, const float* shift, int each,
                                  float* out) {
    float* target = out + (long long)blockIdx.x * width * dim;
    int center = rows[blockIdx.x], low = first[blockIdx.x], high = last[blockIdx.x];
    for (int j = threadIdx.x; j < width * dim; j += blockDim.x) {
        int row = center + offsets[j / dim];
        row = row < low ? low : row > high ? high : row;
        target[j] = scale[each * j] * feats[(long long)row * dim + j % dim] + shift[each * j];
    }
}

/* a = weight (softmax(a) - onehot(target)); measures (rows x 3) get loss, correct, weight of each row. */
extern "C" __global__ void softmax_xent(float* a, int columns, const int* targets, const float* weights,
                                        int weighted, double* measures) {
    float* row = a + (long long)blockIdx.x * columns;
    int target = targets[blockIdx.x];
    float weight = weighted ? weights[blockIdx.x] : 1.0f, chosen = row[target], top = chosen, sum = 0.0f;
    int ahead = 0;                            /* outputs that win over the target's: of equal ones the first */
    for (int j = threadIdx.x; j < columns; j += blockDim.x) {
        top = row[j] > top ? row[j] : top;
        ahead += row[j] > chosen || (row[j] == chosen && j < target);
    }
    top = over_block(top, [](float x, float y) { return y > x ? y : x; });
    ahead = over_block(ahead, [](int x, int y) { return x + y; });
    for (int j = threadIdx.x; j < columns; j += blockDim.x) sum += row[j] = expf(row[j] - top);
    sum = over_block(sum, [](float x, float y) { return x + y; });
    for (int j = threadIdx.x; j < columns; j += blockDim.x)
        row[j] = weight * (row[j] / sum - (j == target ? 1.0f : 0.0f));
    if (threadIdx.x == 0) {
        double* out = measures + 3LL * blockIdx.x;
        out[0] = (double)weight * (logf(sum) - (chosen - top));
        out[1] = ahead == 0 ? weight : 0.0f;
        out[2] = weight;
    }
}
"""
