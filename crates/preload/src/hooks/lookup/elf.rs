//! A loaded object file as it lies in memory: its symbols, and the cells through which it calls
//! functions of other objects.

use core::ffi::{CStr, c_char, c_int, c_void};
use libc::{Elf64_Phdr, Elf64_Rela, Elf64_Sym, dl_phdr_info};

// Constants of <elf.h>: kinds of segments, kinds of entries in the dynamic section (whose addresses
// the loader has filled in), and kinds of relocations.
const PT_DYNAMIC: u32 = 2;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_JMPREL: u64 = 23;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;
/// Bit of a symbol's version: the version is found only by callers that name it.
const HIDDEN: u16 = 0x8000;
const R_X86_64_64: u64 = 1;
const R_X86_64_GLOB_DAT: u64 = 6;
const R_X86_64_JUMP_SLOT: u64 = 7;
const PAGE: usize = 4096;

/// A loaded object file, which stays loaded while this value is used.
pub struct Object<'a> {
    /// The offset that is added to the file's addresses.
    pub bias: usize,
    headers: &'a [Elf64_Phdr],
    dynamic: *const [u64; 2],
    path: &'a [u8],
}

/// Calls `f` on each loaded object that has a dynamic section, in the loader's order, under the
/// loader's lock, until `f` returns true.
pub fn each<F: FnMut(&Object) -> bool>(mut f: F) {
    unsafe extern "C" fn listed<F: FnMut(&Object) -> bool>(info: *mut dl_phdr_info, _: usize, f: *mut c_void) -> c_int {
        // SAFETY: the loader passes an object that stays loaded during the call, and the pointer to
        // `f` that is given below.
        unsafe {
            let headers = core::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let bias = (*info).dlpi_addr as usize;
            let dynamic = headers.iter().find(|header| header.p_type == PT_DYNAMIC);
            let Some(dynamic) = dynamic else { return 0 };
            let dynamic = core::ptr::with_exposed_provenance(bias + dynamic.p_vaddr as usize);
            let path = if (*info).dlpi_name.is_null() { b"" } else { CStr::from_ptr((*info).dlpi_name).to_bytes() };
            c_int::from((*f.cast::<F>())(&Object { bias, headers, dynamic, path }))
        }
    }
    // SAFETY: the callback fits the type of `f`, and keeps no pointer.
    crate::base::errno::kept(|| unsafe { libc::dl_iterate_phdr(Some(listed::<F>), (&raw mut f).cast()) });
}

impl Object<'_> {
    /// The object's loaded segments, as ranges of addresses.
    fn segments(&self) -> impl Iterator<Item = core::ops::Range<usize>> {
        self.headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(|header| {
            let start = self.bias + header.p_vaddr as usize;
            start..start + header.p_memsz as usize
        })
    }

    /// Whether an address lies in the object.
    pub fn contains(&self, address: usize) -> bool {
        self.segments().any(|segment| segment.contains(&address))
    }

    /// The addresses from the object's first segment to its last.
    pub fn place(&self) -> core::ops::Range<usize> {
        let start = self.segments().map(|segment| segment.start).min().unwrap_or(0);
        start..self.segments().map(|segment| segment.end).max().unwrap_or(0)
    }

    /// The last part of the object's path; empty for the program's own file.
    pub fn file_name(&self) -> &[u8] {
        self.path.rsplit(|byte| *byte == b'/').next().unwrap_or(b"")
    }

    /// Copies the object's path, with a zero byte behind it, to the beginning of `buffer`. False if
    /// the path is empty or too long: then nothing is copied.
    pub fn path_into(&self, buffer: &mut [u8]) -> bool {
        let fits = !self.path.is_empty() && self.path.len() < buffer.len();
        if fits {
            buffer[..self.path.len()].copy_from_slice(self.path);
            buffer[self.path.len()] = 0;
        }
        fits
    }

    /// The value of an entry of the object's dynamic section.
    fn entry(&self, kind: u64) -> Option<usize> {
        let mut at = self.dynamic;
        // SAFETY: the dynamic section is loaded and ends with an entry of kind 0.
        unsafe {
            while (*at)[0] != 0 {
                if (*at)[0] == kind {
                    return Some((*at)[1] as usize);
                }
                at = at.add(1);
            }
        }
        None
    }

    /// The object's symbol table, and the strings of the symbols' names.
    fn symbols(&self) -> Option<(*const Elf64_Sym, *const c_char)> {
        let at = |kind| self.entry(kind).map(core::ptr::with_exposed_provenance::<c_void>);
        Some((at(DT_SYMTAB)?.cast(), at(DT_STRTAB)?.cast()))
    }

    /// The address of the function that the object defines as `name`; of several versions, the
    /// default one, which a call without a version gets. `None` if there is none, or if the table
    /// does not have GNU's format, as the C library's has.
    pub fn function(&self, name: &CStr) -> Option<usize> {
        let (symbols, strings) = self.symbols()?;
        let versions = self.entry(DT_VERSYM).map(core::ptr::with_exposed_provenance::<u16>);
        let table: *const u32 = core::ptr::with_exposed_provenance(self.entry(DT_GNU_HASH)?);
        let hash =
            name.to_bytes().iter().fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add((*byte).into()));
        // SAFETY: GNU's hash table consists of four numbers (buckets, first symbol, words of the
        // filter, a shift), the filter of 64-bit words, the buckets, and a chain, in which the last
        // symbol of each bucket has an odd hash. The table of versions has a number per symbol.
        unsafe {
            let (buckets, first, filter) = (*table, *table.add(1), *table.add(2));
            let bucket = table.add(4 + 2 * filter as usize);
            let chain = bucket.add(buckets as usize);
            let mut symbol = *bucket.add((hash % buckets) as usize);
            while symbol >= first {
                let found = *chain.add((symbol - first) as usize);
                let entry = &*symbols.add(symbol as usize);
                let is_default = versions.is_none_or(|versions| *versions.add(symbol as usize) & HIDDEN == 0);
                if found | 1 == hash | 1
                    && is_default
                    && entry.st_value != 0
                    && CStr::from_ptr(strings.add(entry.st_name as usize)) == name
                {
                    return Some(self.bias + entry.st_value as usize);
                }
                if found & 1 != 0 {
                    return None;
                }
                symbol += 1;
            }
        }
        None
    }

    /// Calls `choose` with a symbol's name for each cell into which the loader puts the address of
    /// that symbol. If `choose` returns an address, stores it in the cell.
    pub fn rebind(&self, choose: impl Fn(&CStr) -> Option<usize>) {
        let Some((symbols, strings)) = self.symbols() else { return };
        for (at, size) in [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)] {
            let (Some(at), Some(size)) = (self.entry(at), self.entry(size)) else { continue };
            let first: *const Elf64_Rela = core::ptr::with_exposed_provenance(at);
            // SAFETY: the dynamic section gives the table's place and size, and the loader keeps
            // the table loaded.
            let relocations = unsafe { core::slice::from_raw_parts(first, size / size_of::<Elf64_Rela>()) };
            for relocation in relocations {
                let kind = relocation.r_info & 0xffff_ffff;
                if !matches!(kind, R_X86_64_64 | R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT) {
                    continue;
                }
                // SAFETY: a relocation of these kinds names a symbol of the table, whose name lies
                // among the strings.
                let name = unsafe {
                    let symbol = &*symbols.add((relocation.r_info >> 32) as usize);
                    CStr::from_ptr(strings.add(symbol.st_name as usize))
                };
                if let Some(address) = choose(name) {
                    self.store(self.bias + relocation.r_offset as usize, address);
                }
            }
        }
    }

    /// Stores an address into a cell, which may lie in a page that the loader has made read-only.
    fn store(&self, cell: usize, address: usize) {
        let protected = self.headers.iter().filter(|header| header.p_type == PT_GNU_RELRO).any(|header| {
            let start = self.bias + header.p_vaddr as usize;
            (start & !(PAGE - 1)..start + header.p_memsz as usize).contains(&cell)
        });
        let page = core::ptr::with_exposed_provenance_mut::<c_void>(cell & !(PAGE - 1));
        let access = |access| {
            // SAFETY: changes the rights of a page of the object's own data, which stays readable.
            protected && unsafe { libc::mprotect(page, PAGE, access) } != 0
        };
        if access(libc::PROT_READ | libc::PROT_WRITE) {
            return;
        }
        // SAFETY: the cell is an aligned function pointer, which the loader itself writes when the
        // function is first called; the new function may replace the old one at any time.
        unsafe {
            (*core::ptr::with_exposed_provenance::<core::sync::atomic::AtomicUsize>(cell))
                .store(address, core::sync::atomic::Ordering::Relaxed)
        };
        access(libc::PROT_READ);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C library keeps an old `pthread_cond_wait` for programs linked before 2003.
    #[test]
    fn of_several_versions_the_default_one_is_found() {
        let known = libc::gnu_get_libc_version as *const () as usize;
        let mut found = None;
        each(|object| {
            let is_libc = object.contains(known);
            if is_libc {
                found = object.function(c"pthread_cond_wait");
            }
            is_libc
        });
        let version = |version: &CStr| {
            // SAFETY: all three are strings.
            unsafe { libc::dlvsym(libc::RTLD_DEFAULT, c"pthread_cond_wait".as_ptr(), version.as_ptr()) }.addr()
        };
        let (old, new) = (version(c"GLIBC_2.2.5"), version(c"GLIBC_2.3.2"));
        assert_ne!(old, new);
        assert_eq!(found, Some(new));
    }
}
