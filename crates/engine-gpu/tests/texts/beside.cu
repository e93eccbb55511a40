// A kernel of numelt's:
//   kernel
//     a0 load f32 unit
//     a1 load f16 unit
//     a2 store bool unit
//     p0 f32
//     for i0
//       v0 = load a0
//       v2 = multiply.f32 v0, p0
//       v3 = load a1
//       v4 = cast.f32 v3
//       v5 = less.f32 v2, v4
//       a2 = v5
// CUDA C++; compile with --fmad=false.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef u16 f16;  // the bits of a half; arithmetic on halves is that of f32
struct c64 { f32 re, im; };
struct c128 { f64 re, im; };
#define ALIGNED(bytes) __align__(bytes)
#define UNROLLED _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
#define FUNCTION static __device__
// groups have at most 256 work-items, which leaves each of them 255 registers
#define KERNEL extern "C" __global__ __launch_bounds__(256)
#define GLOBAL
#define LOCAL __shared__
#define TABLE static __device__ const
#define LANE ((i64)threadIdx.x)
#define LANES ((i64)blockDim.x)
#define GROUP ((i64)blockIdx.x)
#define GROUPS ((i64)gridDim.x)
#define BARRIER() __syncthreads()
#define RAISE(word, bits) atomicOr(word, bits)
#define ATOMIC_ADD_32(p, x) atomicAdd(p, x)
#define ATOMIC_MAX_32(p, x) atomicMax(p, x)
#define ATOMIC_MIN_32(p, x) atomicMin(p, x)
#define ATOMIC_ADD_64(p, x) atomicAdd(p, x)
#define ATOMIC_MAX_64(p, x) atomicMax(p, x)
#define ATOMIC_MIN_64(p, x) atomicMin(p, x)
#define HIGH_PRODUCT(a, b) __umul64hi(a, b)
#define BITS_f32(x) ((u32)__float_as_int(x))
#define FROM_BITS_f32(x) __int_as_float((int)(x))
#define BITS_f64(x) ((u64)__double_as_longlong(x))
#define FROM_BITS_f64(x) __longlong_as_double((long long)(x))
#define QUOTIENT_f32(a, b) ((a) / (b))
#define QUOTIENT_f64(a, b) ((a) / (b))
#define ROOT_f32(x) sqrt(x)
#define ROOT_f64(x) sqrt(x)
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif

// Conditions that a result may tell of: an infinity of finite numbers, NaN of numbers, a result near zero.
FUNCTION u32 met2_f32(f32 r, f32 a, f32 b)
{
    if (isnan(r)) return isnan(a) || isnan(b) ? 0 : 8;
    if (isinf(r)) return isfinite(a) && isfinite(b) ? 3 : 0;
    return fabs(r) < 1.17549435e-38f ? 4 : 0;
}

// The same number.
FUNCTION f32 f32_of_f16(f16 a)
{
    const u32 size = (u32)(a & 0x7fff) << 13;
    const u32 exponent = size & 0x0f800000u;
    const u32 normal = size + 0x38000000u;
    // a subnormal is its mantissa above the least normal number, less that number
    const f32 above = FROM_BITS_f32(normal + 0x00800000u) - FROM_BITS_f32(0x38800000u);
    const u32 finite = exponent == 0 ? BITS_f32(above) : normal;
    const u32 bits = exponent == 0x0f800000u ? normal + 0x38000000u : finite;
    return FROM_BITS_f32(bits | (u32)(a & 0x8000) << 16);
}


// Elements beside each other.
typedef struct ALIGNED(8) { f16 at[4]; } f16x4;
typedef struct ALIGNED(16) { f32 at[4]; } f32x4;
typedef struct ALIGNED(4) { u8 at[4]; } u8x4;

KERNEL void numelt_kernel(i64 points, i64 n0, GLOBAL const f32 *a0, i64 o0, GLOBAL const f16 *a1, i64 o1, GLOBAL u8 *a2, i64 o2, f32 p0, GLOBAL u32 *conditions, i64 word)
{
    u32 met = 0;  // floating-point conditions
    ROLLED
    for (i64 pack = GROUP * LANES + LANE; pack * 4 < points; pack += GROUPS * LANES) {
        const i64 from = pack * 4;
        const bool full = points - from >= 4;
        f32x4 x0;
        f16x4 x1;
        u8x4 x2;
        if (full) {
            x0 = *(GLOBAL const f32x4 *)(a0 + o0 + from);
            x1 = *(GLOBAL const f16x4 *)(a1 + o1 + from);
        } else {
            UNROLLED
            for (i32 k = 0; k < 4; k++) {
                if (from + k >= points) continue;
                x0.at[k] = a0[o0 + from + k];
                x1.at[k] = a1[o1 + from + k];
            }
        }
        UNROLLED
        for (i32 k = 0; k < 4; k++) {
            if (from + k >= points) continue;
            const i32 i0 = (i32)(from + k);
            const f32 v0 = x0.at[k];
            const f32 v2 = v0 * p0;
            met |= (met2_f32(v2, v0, p0) & 14);
            const f16 v3 = x1.at[k];
            const f32 v4 = f32_of_f16(v3);
            const bool v5 = v2 < v4;
            x2.at[k] = v5 ? 1 : 0;
        }
        if (full) {
            *(GLOBAL u8x4 *)(a2 + o2 + from) = x2;
        } else {
            UNROLLED
            for (i32 k = 0; k < 4; k++) {
                if (from + k >= points) continue;
                a2[o2 + from + k] = x2.at[k];
            }
        }
    }
    if (met != 0) RAISE(conditions + word, met);
}
