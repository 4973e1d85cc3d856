//! Reads from an executable's headers for which processor it was built and which loader starts it.

use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::{Endianness, ReadCache, elf};
use std::fs::File;

/// The facts of an ELF file that matter for preloading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// The processor (`e_machine`).
    pub(super) machine: elf::Machine,
    /// The word size, 64 or 32.
    pub(super) bits: u8,
    /// The loader that the file names (PT_INTERP). The loader reads LD_PRELOAD; a statically linked
    /// program has none.
    pub(super) loader: Option<String>,
    /// The sanitizer runtime that the program contains, if that runtime and the preload library
    /// exclude each other.
    pub(super) sanitizer: Option<Sanitizer>,
    /// Whether the file can be started at all: an executable or position-independent executable,
    /// not an object file.
    pub(super) runnable: bool,
}

/// A sanitizer runtime that serves the program's locks itself, or must be loaded first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sanitizer {
    /// The runtime of AddressSanitizer, as a separate library.
    Address,
    /// The runtime of ThreadSanitizer, as a library or inside the program.
    Thread,
}

/// The processor for which this `baton` was built, and so the preload library beside it.
pub(super) const HERE: elf::Machine = if cfg!(target_arch = "x86_64") {
    elf::EM_X86_64
} else if cfg!(target_arch = "aarch64") {
    elf::EM_AARCH64
} else {
    elf::EM_NONE
};

/// Reads the headers of an ELF file. The error says what is broken.
pub(super) fn read(file: File) -> Result<Facts, String> {
    let data = ReadCache::new(file);
    match object::FileKind::parse(&data) {
        Ok(object::FileKind::Elf64) => facts::<elf::FileHeader64<Endianness>>(&data, 64),
        Ok(object::FileKind::Elf32) => facts::<elf::FileHeader32<Endianness>>(&data, 32),
        Ok(other) => Err(format!("it is {other:?}, not a Linux executable")),
        Err(_) => Err("its ELF header is broken".into()),
    }
}

fn facts<H: FileHeader<Endian = Endianness>>(data: &ReadCache<File>, bits: u8) -> Result<Facts, String> {
    let broken = |e: object::Error| format!("its ELF headers are broken ({e})");
    let header = H::parse(data).map_err(broken)?;
    let endian = header.endian().map_err(broken)?;
    let mut loader = None;
    for segment in header.program_headers(endian, data).map_err(broken)? {
        if let Some(path) = segment.interpreter(endian, data).map_err(broken)? {
            loader = Some(String::from_utf8_lossy(path).into_owned());
        }
    }
    // A stripped program may have malformed sections; the loader does not read sections, so that is
    // no error.
    let sanitizer = sanitizer(header, endian, data).unwrap_or_default();
    let kind = header.e_type(endian);
    Ok(Facts {
        machine: header.e_machine(endian),
        bits,
        loader,
        sanitizer,
        runnable: kind == elf::ET_EXEC || kind == elf::ET_DYN,
    })
}

/// Looks for a sanitizer runtime among the libraries that the program needs and the symbols that it
/// defines.
fn sanitizer<H: FileHeader<Endian = Endianness>>(
    header: &H,
    endian: Endianness,
    data: &ReadCache<File>,
) -> object::Result<Option<Sanitizer>> {
    let sections = header.sections(endian, data)?;
    if let Some((entries, strings)) = sections.dynamic(endian, data)? {
        let strings = sections.strings(endian, data, strings)?;
        for entry in entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED) {
            let offset = entry.val(endian);
            let name = strings.get(u32::try_from(offset).unwrap_or(u32::MAX)).unwrap_or_default();
            let name = String::from_utf8_lossy(name);
            match name.rsplit('/').next().unwrap_or_default() {
                name if name.starts_with("libasan.so") || name.starts_with("libclang_rt.asan") => {
                    return Ok(Some(Sanitizer::Address));
                }
                name if name.starts_with("libtsan.so") || name.starts_with("libclang_rt.tsan") => {
                    return Ok(Some(Sanitizer::Thread));
                }
                _ => {}
            }
        }
    }
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    let defines = |symbol: &H::Sym| {
        symbol.st_shndx(endian) != elf::SHN_UNDEF
            && symbol.name(endian, symbols.strings()).is_ok_and(|n| n == b"__tsan_init")
    };
    Ok(symbols.iter().any(defines).then_some(Sanitizer::Thread))
}

/// The name of the file's processor, for messages.
pub(super) fn machine_name(facts: &Facts) -> String {
    match facts.machine {
        elf::EM_X86_64 if facts.bits == 32 => "x32".into(),
        elf::EM_X86_64 => "x86-64".into(),
        elf::EM_386 => "32-bit x86".into(),
        elf::EM_AARCH64 => "64-bit Arm".into(),
        elf::EM_ARM => "32-bit Arm".into(),
        elf::EM_RISCV => "RISC-V".into(),
        elf::EM_PPC64 => "64-bit POWER".into(),
        elf::EM_S390 => "s390".into(),
        other => format!("processor number {}", other.0),
    }
}
