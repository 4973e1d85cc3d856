//! Places in object files, and whether an address lies in one of them.

use crate::hooks::lookup::found;
use baton_sync::lock::assign::ObjectRange;

/// The places that were asked for.
pub(super) struct Places {
    places: Vec<ObjectRange>,
    /// The last part of the path of the program's own file.
    program: Vec<u8>,
}

impl Places {
    pub(super) fn new(places: &[ObjectRange]) -> Places {
        Places { places: places.to_vec(), program: last_part(found::executable(&mut [0; 1024])).to_owned() }
    }

    /// Whether an address of code or data lies in one of the places.
    pub(super) fn have(&self, address: usize) -> bool {
        let address = address as u64;
        let Some(loaded) = found::at(address) else { return false };
        // SAFETY: the object file stays loaded during the call: the program is calling from it, or
        // uses data in it.
        let path = unsafe { loaded.path() };
        let module = if path.is_empty() { &self.program } else { last_part(path) };
        let inside = address.wrapping_sub(loaded.bias);
        self.places.iter().any(|place| place.range.contains(&inside) && place.module.as_bytes() == module)
    }

    /// Whether the call that returns to `site` lies in one of the places. A call's last byte lies
    /// one byte before the address that it returns to.
    pub(super) fn have_call(&self, site: usize) -> bool {
        self.have(site.wrapping_sub(1))
    }
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}
