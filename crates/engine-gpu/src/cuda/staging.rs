//! Copies between the device and memory that is not pinned, through two pieces of pinned memory.
//!
//! While the device copies from or to one piece, the host fills or empties the other. Few bytes go directly.

use super::api::{Memory, Pinned, Stream};
use numelt_ir::Result;

/// Copies of at most this many bytes are left to the driver.
const DIRECT: usize = 64 << 10;
/// The bytes of each piece. Copying one takes a third of a millisecond, compared to which starting the copy is
/// negligible.
const PIECE: usize = 8 << 20;

/// Pinned memory, allocated when it is first needed.
#[derive(Default)]
pub struct Staging(Option<[Pinned; 2]>);

impl Staging {
    /// The pieces; `None` if the host has no pinned memory.
    fn pieces(&mut self, stream: &Stream) -> Option<&mut [Pinned; 2]> {
        if self.0.is_none() {
            self.0 = stream.pinned(PIECE).and_then(|first| Ok([first, stream.pinned(PIECE)?])).ok();
        }
        self.0.as_mut()
    }

    /// Copies bytes to the device. They may be changed after this has returned.
    pub fn write(&mut self, stream: &Stream, from: &[u8], to: &Memory, offset: usize) -> Result<()> {
        if from.len() > DIRECT
            && let Some(pieces) = self.pieces(stream)
        {
            for (at, part) in from.chunks(PIECE).enumerate() {
                pieces[at % 2].upload(part, to, offset + at * PIECE)?;
            }
            return Ok(());
        }
        stream.write(from, to, offset)
    }

    /// Copies bytes from the device.
    pub fn read(&mut self, stream: &Stream, from: &Memory, offset: usize, to: &mut [u8]) -> Result<()> {
        if to.len() > DIRECT
            && let Some(pieces) = self.pieces(stream)
        {
            let bytes = to.len();
            let length = |at: usize| PIECE.min(bytes - at * PIECE);
            pieces[0].begin_download(from, offset, length(0))?;
            for (at, part) in to.chunks_mut(PIECE).enumerate() {
                if (at + 1) * PIECE < bytes {
                    let next = at + 1;
                    pieces[next % 2].begin_download(from, offset + next * PIECE, length(next))?;
                }
                pieces[at % 2].end_download(part)?;
            }
            return Ok(());
        }
        stream.read(from, offset, to)
    }
}
