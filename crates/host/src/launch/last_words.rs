//! Writes, when a signal ends Baton, what Baton leaves behind, such as files or a running program.

use super::signals::Handler;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The text that the handler writes; null while there is none. Texts are never freed, so that a
/// handler may read a text that it has just loaded.
static WORDS: AtomicPtr<String> = AtomicPtr::new(std::ptr::null_mut());

/// While a value of this type is alive, Ctrl-C, SIGTERM and SIGHUP write a text to standard error,
/// and then end this process by their default action.
pub struct LastWords {
    _handlers: [Handler; 3],
}

impl LastWords {
    /// Installs the handlers. A signal that is ignored stays ignored.
    pub fn begin(text: String) -> LastWords {
        WORDS.store(Box::into_raw(Box::new(text)), Ordering::SeqCst);
        LastWords { _handlers: [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].map(|signal| Handler::install(signal, say)) }
    }
}

extern "C" fn say(signal: i32) {
    // SAFETY: the pointer is null, or leads to a string that is never freed; write, signal and
    // raise may be called in a handler. The raised signal is blocked while its handler runs, and
    // ends the process when the handler has returned.
    unsafe {
        if let Some(words) = WORDS.load(Ordering::SeqCst).as_ref() {
            libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
