//! Normal and exponential numbers by the ziggurat method: layers of equal area cover the density, and for most words
//! only one layer has to be examined.

use super::words::Words;
use super::ziggurat_tables as tables;

/// The beginning of the normal distribution's tail, and its inverse.
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;
const NORMAL_TAIL_INVERSE: f64 = 0.273_661_237_329_758_3;

/// The beginning of the exponential distribution's tail.
const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_05;

/// The next normal number.
pub fn normal(stream: &mut impl Words) -> f64 {
    loop {
        let word = stream.word();
        let layer = (word & 0xff) as usize;
        let place = word >> 9 & ((1 << 52) - 1);
        let size = place as f64 * tables::NORMAL_WIDTHS[layer];
        let value = if word >> 8 & 1 == 1 { -size } else { size };
        if place < tables::NORMAL_BOUNDS[layer] {
            return value;
        }
        if layer == 0 {
            return normal_tail(stream, place >> 8 & 1 == 1);
        }
        if is_under(&tables::NORMAL_HEIGHTS, layer, stream, (-0.5 * value * value).exp()) {
            return value;
        }
    }
}

fn normal_tail(stream: &mut impl Words, negative: bool) -> f64 {
    loop {
        let beyond = -NORMAL_TAIL_INVERSE * (-stream.uniform()).ln_1p();
        let height = -(-stream.uniform()).ln_1p();
        if height + height > beyond * beyond {
            return if negative { -(NORMAL_TAIL + beyond) } else { NORMAL_TAIL + beyond };
        }
    }
}

/// The next exponential number.
pub fn exponential(stream: &mut impl Words) -> f64 {
    loop {
        let word = stream.word() >> 3;
        let layer = (word & 0xff) as usize;
        let place = word >> 8;
        let value = place as f64 * tables::EXPONENTIAL_WIDTHS[layer];
        if place < tables::EXPONENTIAL_BOUNDS[layer] {
            return value;
        }
        if layer == 0 {
            return EXPONENTIAL_TAIL - (-stream.uniform()).ln_1p();
        }
        if is_under(&tables::EXPONENTIAL_HEIGHTS, layer, stream, (-value).exp()) {
            return value;
        }
    }
}

/// Whether a point at a random height in a layer is under the density.
fn is_under(heights: &[f64; 256], layer: usize, stream: &mut impl Words, density: f64) -> bool {
    (heights[layer - 1] - heights[layer]) * stream.uniform() + heights[layer] < density
}
