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

// Where a piece of a run starts, and its size: stretches are cut into pieces, the last of which may be shorter.
FUNCTION void piece_i64(i64 number, i64 run, i64 stretch, i64 piece, i64 *start, i64 *size)
{
    const i64 each = (stretch + piece - 1) / piece;
    const i64 first = number / each * stretch;
    const i64 end = run - first < stretch ? run : first + stretch;
    *start = first + number % each * piece;
    *size = end - *start < piece ? end - *start : piece;
}

// The part of a piece that a node of its tree stands for, by the turns on the way there; false where a leaf lies above it.
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


// A partial result for each leaf of the tree of each piece.
KERNEL void numelt_leaves(i64 points, i64 n0, i64 n1, GLOBAL const f32 *a0, i64 o0, i64 s0_0, GLOBAL f32 *a1, i64 o1, i64 s1_0, GLOBAL u32 *conditions, i64 word, i64 items, i64 outer, i64 run, i64 stretch, i64 piece, i64 pieces, i64 depth, i64 top, i64 bottom, GLOBAL f32 *b0)
{
    u32 met = 0;  // floating-point conditions
    const i64 slots = (i64)1 << depth;
    for (i64 item = GROUP * LANES + LANE; item < items; item += GROUPS * LANES) {
        const i64 path = item & (slots - 1), number = (item >> depth) % pieces;
        const i64 around = (item >> depth) / pieces % outer, kept = (item >> depth) / pieces / outer;
        i64 start, size;
        piece_i64(number, run, stretch, piece, &start, &size);
        if (!descend_i64(path, depth, 8, &start, &size)) continue;
        const i64 i0 = kept;
        f32 part0 = -0.0f;
        f32 lane0[8];
        const i64 whole = size < 8 ? 0 : size / 8 * 8;
        for (i64 at = 0; at < size; at++) {
            const i64 i1 = start + at;
            const f32 v0 = a0[o0 + (i64)i0 * s0_0 + i1];
            const f32 v1 = v0 * v0;
            met |= met1_f32(v1, v0);
            const f32 value0 = v1;
            if (at < whole) {
                if (at < 8) {
                    lane0[at] = value0;
                } else {
                    {
                        const f32 joined = lane0[at % 8] + value0;
                        met |= met2_f32(joined, lane0[at % 8], value0) & 11;
                        lane0[at % 8] = joined;
                    }
                }
                if (at == whole - 1) {
                    {
                        const f32 joined = lane0[0] + lane0[1];
                        met |= met2_f32(joined, lane0[0], lane0[1]) & 11;
                        lane0[0] = joined;
                    }
                    {
                        const f32 joined = lane0[2] + lane0[3];
                        met |= met2_f32(joined, lane0[2], lane0[3]) & 11;
                        lane0[2] = joined;
                    }
                    {
                        const f32 joined = lane0[4] + lane0[5];
                        met |= met2_f32(joined, lane0[4], lane0[5]) & 11;
                        lane0[4] = joined;
                    }
                    {
                        const f32 joined = lane0[6] + lane0[7];
                        met |= met2_f32(joined, lane0[6], lane0[7]) & 11;
                        lane0[6] = joined;
                    }
                    {
                        const f32 joined = lane0[0] + lane0[2];
                        met |= met2_f32(joined, lane0[0], lane0[2]) & 11;
                        lane0[0] = joined;
                    }
                    {
                        const f32 joined = lane0[4] + lane0[6];
                        met |= met2_f32(joined, lane0[4], lane0[6]) & 11;
                        lane0[4] = joined;
                    }
                    {
                        const f32 joined = lane0[0] + lane0[4];
                        met |= met2_f32(joined, lane0[0], lane0[4]) & 11;
                        lane0[0] = joined;
                    }
                    part0 = lane0[0];
                }
            } else {
                {
                    const f32 joined = part0 + value0;
                    met |= met2_f32(joined, part0, value0) & 11;
                    part0 = joined;
                }
            }
        }
        b0[item] = part0;
    }
    if (met != 0) RAISE(conditions + word, met);
}

// Joins partial results of a level of the trees to those of a higher level.
KERNEL void numelt_join(i64 points, i64 n0, i64 n1, GLOBAL const f32 *a0, i64 o0, i64 s0_0, GLOBAL f32 *a1, i64 o1, i64 s1_0, GLOBAL u32 *conditions, i64 word, i64 items, i64 outer, i64 run, i64 stretch, i64 piece, i64 pieces, i64 depth, i64 top, i64 bottom, GLOBAL f32 *b0)
{
    u32 met = 0;  // floating-point conditions
    const i64 slots = (i64)1 << depth;
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
                    met |= met2_f32(joined, part0, other0) & 11;
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
    for (i64 item = GROUP * LANES + LANE; item < items; item += GROUPS * LANES) {
        const i64 i0 = item;
        f32 result0 = (f32)(i32)0;
        for (i64 at = 0; at < outer * pieces; at++) {
            const i64 slot = (item * outer * pieces + at) * slots;
            const f32 value0 = b0[slot];
            {
                const f32 joined = result0 + value0;
                met |= met2_f32(joined, result0, value0) & 11;
                result0 = joined;
            }
        }
        const f32 out0 = result0;
        a1[o1 + (i64)i0 * s1_0] = out0;
    }
    if (met != 0) RAISE(conditions + word, met);
}

