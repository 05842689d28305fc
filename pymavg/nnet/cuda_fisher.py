"""CUDA C of the Fisher estimate's small matrices (fisher.py), so that the host is never waited for.

One block works on one r x r problem in device memory. The eigenvectors come from Jacobi's method: in each round r/2
rotations of disjoint pairs are done at once, and r - 1 rounds (a sweep) bring every pair together. The order of the
eigenvalues is as it falls: nothing depends on it.
"""

LARGEST_RANK = 128

FISHER = r"""
#define LARGEST_RANK 128
#define SWEEPS 30
#define EPSILON 1e-10
#define DELTA 5e-4
#define CONDITION 1e6
#define NOT_ORTHONORMAL 1e-3
#define LEAST_PIVOT 1e-4        /* so that 1 / C is at most 100; directions that are lost come back in later renewals */
#define FOR_EACH(i, n) for (int i = threadIdx.x; i < (n); i += blockDim.x)

/* The players of pair k in round t of a tournament of m (even) players. */
__device__ void pair_of(int t, int k, int m, int* p, int* q) {
    int first = k == 0 ? 0 : (t + k - 1) % (m - 1) + 1, second = (t + m - 2 - k) % (m - 1) + 1;
    *p = first < second ? first : second;
    *q = first < second ? second : first;
}

/* z (r x r, symmetric) becomes diagonal; the columns of u its eigenvectors. */
__device__ void jacobi(double* z, double* u, int r) {
    __shared__ double cosine[LARGEST_RANK / 2], sine[LARGEST_RANK / 2];
    __shared__ int rotated;
    int m = r + r % 2, pairs = m / 2, p, q;
    FOR_EACH(i, r * r) u[i] = i % (r + 1) == 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        __syncthreads();
        if (threadIdx.x == 0) rotated = 0;
        for (int t = 0; t < m - 1; t++) {
            __syncthreads();
            FOR_EACH(k, pairs) {
                pair_of(t, k, m, &p, &q);
                cosine[k] = 1.0;
                sine[k] = 0.0;
                if (q >= r) continue;                               /* odd r: one has no partner */
                double off = z[p * r + q], a = z[p * r + p], b = z[q * r + q];
                if (fabs(off) <= 1e-16 * sqrt(fabs(a) * fabs(b))) continue;
                double theta = (b - a) / (2.0 * off);
                double tangent = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
                cosine[k] = 1.0 / sqrt(tangent * tangent + 1.0);
                sine[k] = tangent * cosine[k];
                rotated = 1;
            }
            __syncthreads();
            FOR_EACH(i, pairs * r) {                                /* rows */
                int k = i / r, j = i % r;
                pair_of(t, k, m, &p, &q);
                if (q >= r) continue;
                double x = z[p * r + j], y = z[q * r + j];
                z[p * r + j] = cosine[k] * x - sine[k] * y;
                z[q * r + j] = sine[k] * x + cosine[k] * y;
            }
            __syncthreads();
            FOR_EACH(i, pairs * r) {                                /* columns */
                int k = i % pairs, j = i / pairs;
                pair_of(t, k, m, &p, &q);
                if (q >= r) continue;
                double x = z[j * r + p], y = z[j * r + q];
                z[j * r + p] = cosine[k] * x - sine[k] * y;
                z[j * r + q] = sine[k] * x + cosine[k] * y;
                x = u[j * r + p];
                y = u[j * r + q];
                u[j * r + p] = cosine[k] * x - sine[k] * y;
                u[j * r + q] = sine[k] * x + cosine[k] * y;
            }
        }
        __syncthreads();
        if (!rotated) break;
    }
    __syncthreads();
}

__device__ double sum_of(const double* x, int n) {                 /* every thread the same sum, in the same order */
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum;
}

/* fisher.renew: d (r) and rho are replaced; mix (r x r), keep (r), root_e (r) and suspect are set; z, u are scratch. */
extern "C" __global__ void renew(int r, double eta, int n, int dim, double alpha, const double* k, const double* l,
                                 const double* total, double* d, double* rho, double* mix, double* keep,
                                 double* root_e, int* suspect, double* z, double* u) {
    __shared__ double inverse[LARGEST_RANK], s[LARGEST_RANK], q[LARGEST_RANK];
    double w = eta / n, stay = 1.0 - eta, rho_0 = *rho;
    double beta = rho_0 * (1.0 + alpha) + alpha * sum_of(d, r) / dim, sum_d = sum_of(d, r);
    FOR_EACH(i, r) {
        inverse[i] = sqrt(beta / d[i] + 1.0);                       /* 1 / sqrt(e) */
        q[i] = d[i] + rho_0;
        keep[i] = stay / w * q[i];
    }
    __syncthreads();
    FOR_EACH(i, r * r) {
        int a = i / r, b = i % r, mirror = b * r + a;
        double scale = inverse[a] * inverse[b];
        z[i] = scale * 0.5 * (w * w * (k[i] + k[mirror]) + w * stay * (q[a] + q[b]) * (l[i] + l[mirror]))
             + (a == b ? stay * stay * q[a] * q[a] : 0.0);
    }
    jacobi(z, u, r);
    double floor = rho_0 * stay * rho_0 * stay, low = z[0], high = z[0];
    for (int i = 1; i < r; i++) {
        low = fmin(low, z[i * r + i]);
        high = fmax(high, z[i * r + i]);
    }
    FOR_EACH(i, r) s[i] = sqrt(fmax(z[i * r + i], floor));
    __syncthreads();
    double rho_1 = (w * *total + stay * (dim * rho_0 + sum_d) - sum_of(s, r)) / (dim - r);
    double least = fmax(EPSILON, DELTA * sqrt(fmax(high, floor)));
    double rho_2 = fmax(rho_1, least);
    FOR_EACH(i, r) d[i] = fmax(s[i] - rho_1, least);
    __syncthreads();
    beta = rho_2 * (1.0 + alpha) + alpha * sum_of(d, r) / dim;
    FOR_EACH(i, r) root_e[i] = 1.0 / sqrt(beta / d[i] + 1.0);
    __syncthreads();
    FOR_EACH(i, r * r) mix[i] = w * root_e[i / r] / s[i / r] * u[i % r * r + i / r] * inverse[i % r];
    if (threadIdx.x == 0) {
        *rho = rho_2;
        *suspect = high > CONDITION * low || low < floor;
    }
}

/* turn (r x r): what to multiply W with, so that the rows of E^(-1/2) W are orthonormal; gram = W W' is used up. */
extern "C" __global__ void orthonormalise(int r, double* gram, const double* root_e, const int* suspect, double* turn) {
    __shared__ int wrong;
    if (threadIdx.x == 0) wrong = 0;
    FOR_EACH(i, r * r) turn[i] = i % (r + 1) == 0;
    __syncthreads();
    FOR_EACH(i, r * r) {
        gram[i] /= root_e[i / r] * root_e[i % r];
        if (!(fabs(gram[i] - turn[i]) <= NOT_ORTHONORMAL)) wrong = 1;
    }
    __syncthreads();
    if (!*suspect || !wrong) return;
    for (int j = 0; j < r; j++) {                                   /* gram = C C', C below and on the diagonal */
        if (threadIdx.x == 0) gram[j * r + j] = sqrt(fmax(gram[j * r + j], LEAST_PIVOT));
        __syncthreads();
        FOR_EACH(i, r) if (i > j) gram[i * r + j] /= gram[j * r + j];
        __syncthreads();
        FOR_EACH(i, r * r) {
            int a = i / r, b = i % r;
            if (a > j && b > j && b <= a) gram[i] -= gram[a * r + j] * gram[b * r + j];
        }
        __syncthreads();
    }
    FOR_EACH(column, r) {                                           /* turn = C^-1, a column for each thread */
        for (int i = 0; i < r; i++) {
            double x = i == column;
            for (int j = column; j < i; j++) x -= gram[i * r + j] * turn[j * r + column];
            turn[i * r + column] = i < column ? 0.0 : x / gram[i * r + i];
        }
    }
    __syncthreads();
    FOR_EACH(i, r * r) turn[i] *= root_e[i / r] / root_e[i % r];
}
"""
