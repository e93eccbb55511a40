// A kernel of numelt's:
//   kernel
//     a0 load f32 any unit
//     a1 reduced f32 any zero
//     for i0
//       for i1 reduced
//         v0 = load a0
//         v1 = square.f32 v0
//         a1 <- sum.f32 v1
// OpenCL C 1.2
#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef u16 f16;  // the bits of a half; arithmetic on halves is that of f32
typedef struct { f32 re, im; } c64;
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define UNROLLED
#define ROLLED
#define FUNCTION static
#define KERNEL __kernel
#define GLOBAL __global
#define LOCAL __local
#define TABLE __constant
#define LANE ((i64)get_local_id(0))
#define LANES ((i64)get_local_size(0))
#define GROUP ((i64)get_group_id(0))
#define GROUPS ((i64)get_num_groups(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define RAISE(word, bits) atomic_or(word, bits)
#define ATOMIC_ADD_32(p, x) atomic_add(p, x)
#define ATOMIC_MAX_32(p, x) atomic_max(p, x)
#define ATOMIC_MIN_32(p, x) atomic_min(p, x)
#define ATOMIC_ADD_64(p, x) atom_add(p, x)
#define ATOMIC_MAX_64(p, x) atom_max(p, x)
#define ATOMIC_MIN_64(p, x) atom_min(p, x)
#define HIGH_PRODUCT(a, b) mul_hi(a, b)
#define BITS_f32(x) as_uint(x)
#define FROM_BITS_f32(x) as_float((u32)(x))
#ifndef QUOTIENT_f32
// for compilers that round quotients and roots correctly, asked by -cl-fp32-correctly-rounded-divide-sqrt
#define QUOTIENT_f32(a, b) ((a) / (b))
#define ROOT_f32(x) sqrt(x)
#endif

// Where a piece of a run starts, and its size: stretches are cut into pieces, the last of which may be shorter.
FUNCTION void piece_i32(i32 number, i32 run, i32 stretch, i32 piece, i32 *start, i32 *size)
{
    const i32 each = (stretch - 1) / piece + 1;
    const i32 first = number / each * stretch;
    const i32 end = run - first < stretch ? run : first + stretch;
    *start = first + number % each * piece;
    *size = end - *start < piece ? end - *start : piece;
}

// The part of a piece that a node of its tree stands for, by the turns on the way there; false if a leaf lies above.
FUNCTION bool descend_i32(i32 path, i32 depth, i32 lanes, i32 *start, i32 *size)
{
    for (i32 level = depth - 1; level >= 0; level--) {
        if (*size <= 16 * lanes) return (path & (((i32)1 << (level + 1)) - 1)) == 0;
        const i32 first = *size / 2 / lanes * lanes;
        if (path >> level & 1) {
            *start += first;
            *size -= first;
        } else {
            *size = first;
        }
    }
    return true;
}

// Conditions that a result may tell of: an infinity of a finite number, NaN of a number, a result near zero.
FUNCTION u32 met1_f32(f32 r, f32 a)
{
    if (isnan(r)) return isnan(a) ? 0 : 8;
    if (isinf(r)) return isfinite(a) ? 3 : 0;
    return fabs(r) < 1.17549435e-38f ? 4 : 0;
}

// Conditions that a result may tell of: an infinity of finite numbers, NaN of numbers, a result near zero.
FUNCTION u32 met2_f32(f32 r, f32 a, f32 b)
{
    if (isnan(r)) return isnan(a) || isnan(b) ? 0 : 8;
    if (isinf(r)) return isfinite(a) && isfinite(b) ? 3 : 0;
    return fabs(r) < 1.17549435e-38f ? 4 : 0;
}

// Where a piece of a run starts, and its size: stretches are cut into pieces, the last of which may be shorter.
FUNCTION void piece_i64(i64 number, i64 run, i64 stretch, i64 piece, i64 *start, i64 *size)
{
    const i64 each = (stretch - 1) / piece + 1;
    const i64 first = number / each * stretch;
    const i64 end = run - first < stretch ? run : first + stretch;
    *start = first + number % each * piece;
    *size = end - *start < piece ? end - *start : piece;
}

// The part of a piece that a node of its tree stands for, by the turns on the way there; false if a leaf lies above.
FUNCTION bool descend_i64(i64 path, i64 depth, i64 lanes, i64 *start, i64 *size)
{
    for (i64 level = depth - 1; level >= 0; level--) {
        if (*size <= 16 * lanes) return (path & (((i64)1 << (level + 1)) - 1)) == 0;
        const i64 first = *size / 2 / lanes * lanes;
        if (path >> level & 1) {
            *start += first;
            *size -= first;
        } else {
            *size = first;
        }
    }
    return true;
}


// A partial result for each leaf of the tree of each piece; each lane is a work-item's.
KERNEL void numelt_leaves(i64 points, i64 n0, i64 n1, GLOBAL const f32 *a0, i64 o0, i64 s0_0, GLOBAL f32 *a1, i64 o1, i64 s1_0, GLOBAL u32 *conditions, i64 word, i64 items, i64 outer, i64 run, i64 stretch, i64 piece, i64 pieces, i64 depth, i64 top, i64 bottom, GLOBAL f32 *b0)
{
    u32 met = 0;  // floating-point conditions
    const i64 slots = (i64)1 << depth;
    LOCAL f32 lanes0[256];
    LOCAL f32 tails0[256];
    ROLLED
    for (i64 first = GROUP * LANES; first < items; first += GROUPS * LANES) {
        const i32 item = (i32)((first + LANE) / 8);
        const i32 lane = (i32)(LANE % 8);
        const i32 path = item & (i32)(slots - 1), tree = item >> depth;
        const i32 number = tree % (i32)pieces;
        const i32 around = tree / (i32)pieces % (i32)outer;
        const i32 kept = tree / (i32)pieces / (i32)outer;
        i32 start, size;
        piece_i32(number, run, stretch, piece, &start, &size);
        if (first + LANE >= items || !descend_i32(path, depth, 8, &start, &size)) {
            size = 0;  // there is no such leaf
        }
        const i32 i0 = kept;
        const i32 whole = size / 8 * 8;
        f32 part0 = -0.0f;
        f32 tail0 = -0.0f;
        for (i32 at = lane; at < size; at += 8) {
            const i32 i1 = start + at;
            const f32 v0 = a0[o0 + (i64)i0 * s0_0 + i1];
            const f32 v1 = v0 * v0;
            met |= (met1_f32(v1, v0) & 14);
            const f32 value0 = v1;
            if (at >= whole) {
                tail0 = value0;
            } else if (at == lane) {
                part0 = value0;
            } else {
                {
                    const f32 joined = part0 + value0;
                    met |= (met2_f32(joined, part0, value0) & 14) & 11;
                    part0 = joined;
                }
            }
        }
        lanes0[LANE] = part0;
        tails0[LANE] = tail0;
        BARRIER();
        if (size > 0 && lane == 0) {
            if (whole > 0) {
                f32 lane1 = lanes0[LANE + 1];
                f32 lane2 = lanes0[LANE + 2];
                f32 lane3 = lanes0[LANE + 3];
                f32 lane4 = lanes0[LANE + 4];
                f32 lane5 = lanes0[LANE + 5];
                f32 lane6 = lanes0[LANE + 6];
                f32 lane7 = lanes0[LANE + 7];
                {
                    const f32 joined = part0 + lane1;
                    met |= (met2_f32(joined, part0, lane1) & 14) & 11;
                    part0 = joined;
                }
                {
                    const f32 joined = lane2 + lane3;
                    met |= (met2_f32(joined, lane2, lane3) & 14) & 11;
                    lane2 = joined;
                }
                {
                    const f32 joined = lane4 + lane5;
                    met |= (met2_f32(joined, lane4, lane5) & 14) & 11;
                    lane4 = joined;
                }
                {
                    const f32 joined = lane6 + lane7;
                    met |= (met2_f32(joined, lane6, lane7) & 14) & 11;
                    lane6 = joined;
                }
                {
                    const f32 joined = part0 + lane2;
                    met |= (met2_f32(joined, part0, lane2) & 14) & 11;
                    part0 = joined;
                }
                {
                    const f32 joined = lane4 + lane6;
                    met |= (met2_f32(joined, lane4, lane6) & 14) & 11;
                    lane4 = joined;
                }
                {
                    const f32 joined = part0 + lane4;
                    met |= (met2_f32(joined, part0, lane4) & 14) & 11;
                    part0 = joined;
                }
            }
            for (i32 other = 0; other < size - whole; other++) {
                const f32 value0 = tails0[LANE + other];
                {
                    const f32 joined = part0 + value0;
                    met |= (met2_f32(joined, part0, value0) & 14) & 11;
                    part0 = joined;
                }
            }
            b0[item] = part0;
        }
        BARRIER();
    }
    if (met != 0) RAISE(conditions + word, met);
}

// Joins partial results of a level of the trees to those of a higher level.
KERNEL void numelt_join(i64 points, i64 n0, i64 n1, GLOBAL const f32 *a0, i64 o0, i64 s0_0, GLOBAL f32 *a1, i64 o1, i64 s1_0, GLOBAL u32 *conditions, i64 word, i64 items, i64 outer, i64 run, i64 stretch, i64 piece, i64 pieces, i64 depth, i64 top, i64 bottom, GLOBAL f32 *b0)
{
    u32 met = 0;  // floating-point conditions
    const i64 slots = (i64)1 << depth;
    ROLLED
    for (i64 item = GROUP * LANES + LANE; item < items; item += GROUPS * LANES) {
        const i64 node = item & (((i64)1 << top) - 1), tree = item >> top;
        for (i64 level = bottom - 1; level >= top; level--) {
            for (i64 below = 0; below < (i64)1 << (level - top); below++) {
                const i64 path = node << (level - top) | below;
                i64 start, size;
                piece_i64(tree % pieces, run, stretch, piece, &start, &size);
                if (!descend_i64(path, level, 8, &start, &size)) continue;
                if (size <= 128) continue;  // a leaf
                const i64 left = tree * slots + (path << (depth - level));
                const i64 right = left + ((i64)1 << (depth - level - 1));
                f32 part0 = b0[left];
                const f32 other0 = b0[right];
                {
                    const f32 joined = part0 + other0;
                    met |= (met2_f32(joined, part0, other0) & 14) & 11;
                    part0 = joined;
                }
                b0[left] = part0;
            }
        }
    }
    if (met != 0) RAISE(conditions + word, met);
}

// Puts the pieces of each result together, one after the other.
KERNEL void numelt_finish(i64 points, i64 n0, i64 n1, GLOBAL const f32 *a0, i64 o0, i64 s0_0, GLOBAL f32 *a1, i64 o1, i64 s1_0, GLOBAL u32 *conditions, i64 word, i64 items, i64 outer, i64 run, i64 stretch, i64 piece, i64 pieces, i64 depth, i64 top, i64 bottom, GLOBAL f32 *b0)
{
    u32 met = 0;  // floating-point conditions
    const i64 slots = (i64)1 << depth;
    ROLLED
    for (i64 item = GROUP * LANES + LANE; item < items; item += GROUPS * LANES) {
        const i64 i0 = item;
        f32 result0 = (f32)(i32)0;
        for (i64 at = 0; at < outer * pieces; at++) {
            const i64 slot = (item * outer * pieces + at) * slots;
            const f32 value0 = b0[slot];
            {
                const f32 joined = result0 + value0;
                met |= (met2_f32(joined, result0, value0) & 14) & 11;
                result0 = joined;
            }
        }
        const f32 out0 = result0;
        a1[o1 + (i64)i0 * s1_0] = out0;
    }
    if (met != 0) RAISE(conditions + word, met);
}

