//! Numbers, names and literals as bytes, and a reader over bytes that may hold anything.

use crate::{Complex64, Complex128, DType, Error, F16, Result, Scalar};

/// Appends an unsigned number: seven bits a byte, the lowest first; the top bit says that another byte follows.
pub(super) fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number `n` in zigzag encoding: as the unsigned number `2 n`, or `-2 n - 1` if `n` is negative.
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, (value << 1 ^ value >> 63) as u64);
}

/// Appends a length and as many bytes of text.
pub(super) fn put_name(out: &mut Vec<u8>, name: &str) {
    put_unsigned(out, name.len() as u64);
    out.extend_from_slice(name.as_bytes());
}

/// Appends the bits of a value, little-endian.
pub(super) fn put_scalar(out: &mut Vec<u8>, value: Scalar) {
    let bits = match value {
        Scalar::Bool(v) => u128::from(v),
        Scalar::I8(v) => (v as u8).into(),
        Scalar::U8(v) => v.into(),
        Scalar::I16(v) => (v as u16).into(),
        Scalar::U16(v) => v.into(),
        Scalar::I32(v) => (v as u32).into(),
        Scalar::U32(v) => v.into(),
        Scalar::I64(v) => (v as u64).into(),
        Scalar::U64(v) => v.into(),
        Scalar::F16(v) => v.0.into(),
        Scalar::F32(v) => v.to_bits().into(),
        Scalar::F64(v) => v.to_bits().into(),
        Scalar::C64(v) => u128::from(v.re.to_bits()) | u128::from(v.im.to_bits()) << 32,
        Scalar::C128(v) => u128::from(v.re.to_bits()) | u128::from(v.im.to_bits()) << 64,
    };
    out.extend_from_slice(&bits.to_le_bytes()[..value.dtype().size()]);
}

/// The value of these bits; `None` for a bool that is neither 0 nor 1.
fn scalar(dtype: DType, bits: u128) -> Option<Scalar> {
    Some(match dtype {
        DType::Bool if bits > 1 => return None,
        DType::Bool => Scalar::Bool(bits == 1),
        DType::I8 => Scalar::I8(bits as i8),
        DType::U8 => Scalar::U8(bits as u8),
        DType::I16 => Scalar::I16(bits as i16),
        DType::U16 => Scalar::U16(bits as u16),
        DType::I32 => Scalar::I32(bits as i32),
        DType::U32 => Scalar::U32(bits as u32),
        DType::I64 => Scalar::I64(bits as i64),
        DType::U64 => Scalar::U64(bits as u64),
        DType::F16 => Scalar::F16(F16(bits as u16)),
        DType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
        DType::F64 => Scalar::F64(f64::from_bits(bits as u64)),
        DType::C64 => {
            Scalar::C64(Complex64 { re: f32::from_bits(bits as u32), im: f32::from_bits((bits >> 32) as u32) })
        }
        DType::C128 => {
            Scalar::C128(Complex128 { re: f64::from_bits(bits as u64), im: f64::from_bits((bits >> 64) as u64) })
        }
    })
}

/// A reader over bytes from an untrusted source. Its errors state the position.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader of `bytes` from position `at` on.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Reader<'a> {
        Reader { bytes, at }
    }

    /// The number of bytes that have been read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The number of bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error at the byte that was read last.
    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error::Decode { at: self.at.saturating_sub(1), message: message.into() }
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..count) else {
            let message = format!("{what} of {count} bytes, where {} are left", rest.len());
            return Err(Error::Decode { at: self.at, message });
        };
        self.at += count;
        Ok(taken)
    }

    /// The next byte.
    pub(super) fn byte(&mut self, what: &str) -> Result<u8> {
        Ok(self.take(1, what)?[0])
    }

    /// An unsigned number, in as few bytes as it needs.
    pub(super) fn unsigned(&mut self, what: &str) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(what)?;
            let part = u64::from(byte & 0x7F);
            if part << shift >> shift != part {
                break;
            }
            value |= part << shift;
            if byte == 0 && shift > 0 {
                return Err(self.error(format!("{what} in more bytes than it needs")));
            }
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error(format!("{what} does not fit 64 bits")))
    }

    /// A signed number.
    pub(super) fn signed(&mut self, what: &str) -> Result<i64> {
        let bits = self.unsigned(what)?;
        Ok((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }

    /// An unsigned number that fits another type.
    pub(super) fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T> {
        let value = self.unsigned(what)?;
        T::try_from(value).map_err(|_| self.error(format!("{what} is {value}, which is too large")))
    }

    /// A number of items, each of which takes at least `least` of the remaining bytes. So it is safe to allocate memory
    /// for them.
    pub(super) fn count(&mut self, least: usize, what: &str) -> Result<usize> {
        let count: usize = self.number(what)?;
        match count.checked_mul(least) {
            Some(bytes) if bytes <= self.left() => Ok(count),
            _ => Err(self.error(format!("{what} is {count}, where {} bytes are left", self.left()))),
        }
    }

    /// A length and as many bytes of text.
    pub(super) fn name(&mut self, what: &str) -> Result<&'a str> {
        let count = self.number(what)?;
        let text = self.take(count, what)?;
        std::str::from_utf8(text).map_err(|_| self.error(format!("{what} is not text")))
    }

    /// A literal of a known type.
    pub(super) fn scalar(&mut self, dtype: DType) -> Result<Scalar> {
        let size = dtype.size();
        let mut bits = [0; 16];
        bits[..size].copy_from_slice(self.take(size, "a literal")?);
        scalar(dtype, u128::from_le_bytes(bits)).ok_or_else(|| self.error("a bool that is neither 0 nor 1"))
    }
}
