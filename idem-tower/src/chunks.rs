//! What has arrived of a body.

use bytes::{Bytes, BytesMut};

/// What has arrived: copied only if it came in more than one piece.
#[derive(Default)]
pub(crate) struct Chunks {
    first: Bytes,
    all: BytesMut,
}

impl Chunks {
    pub(crate) fn length(&self) -> usize {
        self.first.len().max(self.all.len())
    }

    pub(crate) fn push(&mut self, data: Bytes) {
        if self.length() == 0 {
            self.first = data;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first);
            self.first = Bytes::new();
        }
        self.all.extend_from_slice(&data);
    }

    pub(crate) fn whole(self) -> Bytes {
        if self.all.is_empty() {
            self.first
        } else {
            self.all.freeze()
        }
    }
}
