//! The lines that come and go.
//!
//! | line in | means |
//! | --- | --- |
//! | `place TID fast`, `slow`, `any` | from now on the thread belongs there |
//! | `beat` | the daemon lives |
//! | `end` | unload the scheduler and end |
//!
//! | line out | means |
//! | --- | --- |
//! | `ready` | the scheduler is loaded |
//! | `left REASON` | the kernel has ended the scheduler |
//! | `counts NAME NUMBER …` | at the end: what the scheduler counted |

/// The class of a thread, by its number in the kernel's map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Fast = 0,
    Slow = 1,
    Any = 2,
}

/// A line that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Place(u32, Class),
    Beat,
    End,
}

/// Reads a line; `None` if it is none of the protocol's.
pub(crate) fn read(line: &str) -> Option<Line> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words[..] {
        ["place", tid, class] => {
            let class = match class {
                "fast" => Class::Fast,
                "slow" => Class::Slow,
                "any" => Class::Any,
                _ => return None,
            };
            // Thread 0 is this program itself to some calls of the kernel.
            let tid = tid.parse::<u32>().ok().filter(|&tid| tid > 0 && i32::try_from(tid).is_ok())?;
            Some(Line::Place(tid, class))
        }
        ["beat"] => Some(Line::Beat),
        ["end"] => Some(Line::End),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        assert_eq!(read("place 12 fast"), Some(Line::Place(12, Class::Fast)));
        assert_eq!(read("place 12 slow"), Some(Line::Place(12, Class::Slow)));
        assert_eq!(read("place 12 any"), Some(Line::Place(12, Class::Any)));
        assert_eq!((read("beat"), read("end")), (Some(Line::Beat), Some(Line::End)));
        for bad in ["", "place", "place 0 fast", "place -1 fast", "place 4294967295 fast", "place 1 x", "beat 1"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
