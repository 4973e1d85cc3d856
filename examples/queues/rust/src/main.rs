//! Indexes a folder: one thread finds files, THREADS count the words of files, and the first thread
//! adds the counts up. Paths and counts go through queues; the user chooses the algorithm of the
//! queue of paths.
//!
//! `cargo run --release -- FOLDER [THREADS]`
//! `baton run --queue ring=1024 -- index FOLDER [THREADS]`

use baton_sync::{Choice, ManyToOne, OneToMany, Receiver, Sender, queue_of};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something could not be read.
static FAILED: AtomicBool = AtomicBool::new(false);

fn failed(path: &Path, error: &std::io::Error) {
    eprintln!("{}: {error}", path.display());
    FAILED.store(true, Ordering::Relaxed);
}

#[derive(Default)]
struct Table {
    words: HashMap<Vec<u8>, u64>,
    files: u64,
    all: u64,
}

/// Sends the paths of all regular files in a folder and its folders.
fn find_files(folder: &Path, paths: &mut Sender<PathBuf, Choice<OneToMany>>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            find_files(&entry.path(), paths)?;
        } else if kind.is_file() && paths.send(entry.path()).is_err() {
            break;
        }
    }
    Ok(())
}

/// Counts the words of files: letters of ASCII, of which upper and lower case are the same.
fn count_files(paths: Receiver<PathBuf, Choice<OneToMany>>) -> Table {
    let mut table = Table::default();
    for path in paths {
        let mut text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) => {
                failed(&path, &error);
                continue;
            }
        };
        text.make_ascii_lowercase();
        for word in text.split(|byte| !byte.is_ascii_lowercase()).filter(|word| !word.is_empty()) {
            table.all += 1;
            match table.words.get_mut(word) {
                Some(count) => *count += 1,
                None => _ = table.words.insert(word.to_vec(), 1),
            }
        }
        table.files += 1;
    }
    table
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let threads = arguments.get(1).map_or(Some(4), |text| text.to_str()?.parse().ok());
    let (Some(folder), Some(threads @ 1..=64)) = (arguments.first(), threads) else {
        eprintln!("usage: index FOLDER [THREADS]");
        return ExitCode::from(2);
    };
    let (mut send_paths, paths) = queue_of::<_, Choice<OneToMany>>(64).expect("64 is a capacity");
    let (send_tables, tables) = queue_of::<_, ManyToOne>(4).expect("4 is a capacity");
    let mut all = Table::default();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if let Err(error) = find_files(Path::new(folder), &mut send_paths) {
                failed(Path::new(folder), &error);
            }
        });
        for _ in 0..threads {
            let (paths, mut tables) = (paths.clone(), send_tables.clone());
            scope.spawn(move || tables.send(count_files(paths)).expect("the first thread receives all tables"));
        }
        drop((paths, send_tables));
        for table in tables {
            for (word, count) in table.words {
                *all.words.entry(word).or_default() += count;
            }
            all.files += table.files;
            all.all += table.all;
        }
    });
    println!("{} files, {} words, {} different ones", all.files, all.all, all.words.len());
    let mut sorted: Vec<_> = all.words.into_iter().collect();
    sorted.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    for (word, count) in sorted.iter().take(5) {
        println!("{count} {}", String::from_utf8_lossy(word));
    }
    if FAILED.load(Ordering::Relaxed) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
