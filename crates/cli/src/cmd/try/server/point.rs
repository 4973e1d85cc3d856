//! A progress point as the preload library takes it: its names have become places of object files.

use crate::cmd::named::program::{entries, look_up};
use crate::error::BadInput;
use baton_host::launch::entries::MOST;
use baton_host::launch::program::Program;
use baton_sync::lock::assign::ObjectRange;
use baton_trace::point::{CALLS, Passed, Point, Progress};

/// Calls whose arguments leave no register for the call site, so that the library does not learn where
/// the program makes them.
const WITHOUT_SITE: [&str; 3] = ["recvfrom", "sendto", "pselect"];

/// A point, ready to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// The point as the user names it.
    pub(super) name: String,
    /// The point as the library takes it.
    pub(super) variable: String,
    /// Where the functions begin whose entries are counted in place of the library's point.
    pub(super) functions: Vec<u64>,
}

/// Looks the point's names up in the program's files.
pub(super) fn resolve(asked: Option<&Progress>, program: &Program) -> Result<Counted, BadInput> {
    if let Some(Progress::Point(Point { passed: Passed::Function(name), site })) = asked {
        return function(name, site.is_some(), entries(name, program));
    }
    resolved(asked, |name| look_up(name, program))
}

fn resolved(
    asked: Option<&Progress>,
    places: impl Fn(&str) -> Result<Vec<ObjectRange>, BadInput>,
) -> Result<Counted, BadInput> {
    let point = match asked {
        Some(Progress::Point(point)) => point,
        Some(Progress::Request(span)) => {
            let message = format!("`{}..{}` is a request, and throughput counts one point", span.begin, span.end);
            return Err(BadInput::new(message).hint(format!("--progress '{}' counts requests that end", span.end)));
        }
        None => return Err(BadInput::new("--for needs --progress POINT, to measure by")),
    };
    let written = |name: &str| -> Result<String, BadInput> {
        Ok(places(name)?.iter().map(ToString::to_string).collect::<Vec<_>>().join(";"))
    };
    let mut variable = match &point.passed {
        Passed::Call(number) => CALLS[usize::from(*number)].to_owned(),
        Passed::Lock(name) => format!("lock:{}", written(name)?),
        Passed::Condition(name) => format!("cond:{}", written(name)?),
        Passed::Marker(name) => format!("mark:{name}"),
        Passed::Function(name) => unreachable!("{name} is looked up as a function"),
    };
    if let Some(site) = &point.site {
        refuse_site(point, &variable)?;
        variable += &format!("@{}", written(site)?);
    }
    Ok(Counted { name: point.to_string(), variable, functions: Vec::new() })
}

/// A point that breakpoints count ([`baton_host::launch::entries`]): the library does not see entries
/// of a function. It only counts the calls that are named if the point never comes.
fn function(name: &str, has_site: bool, functions: Vec<u64>) -> Result<Counted, BadInput> {
    let point = format!("func:{name}");
    if has_site {
        return Err(BadInput::new(format!("`{point}@…`: where a function is called is not told"))
            .hint(format!("--progress {point} counts all of its entries")));
    }
    let instead = format!(
        "count a call that the function makes, as in recv@{name}; or mark it in the source by baton_marker(\"{name}\", 0) of \
         baton.h, and count mark:{name}"
    );
    match functions.len() {
        0 => Err(BadInput::new(format!(
            "`{point}`: the program's own file has no function of this name; it may be inlined everywhere"
        ))
        .hint(instead)),
        1..=MOST => Ok(Counted { variable: format!("mark:{point}"), name: point, functions }),
        many => Err(BadInput::new(format!(
            "`{point}` stands for {many} functions, and a processor has breakpoints for {MOST}"
        ))
        .hint(instead)),
    }
}

/// Refuses `@PLACE` for a marker, and for a call whose place the library cannot tell
/// ([`WITHOUT_SITE`]).
fn refuse_site(point: &Point, call: &str) -> Result<(), BadInput> {
    if matches!(point.passed, Passed::Marker(_)) {
        return Err(BadInput::new(format!("`{point}`: a marker has no place")).hint("give each place a marker's name"));
    }
    if WITHOUT_SITE.contains(&call) {
        return Err(BadInput::new(format!(
            "`{point}`: where {call} is called cannot be told, as it has six arguments"
        ))
        .hint(format!("--progress {call} counts all of its calls")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<Counted, String> {
        let places = |name: &str| match name {
            "serve" => Ok(vec!["app+0x10-0x20".parse().unwrap(), "app+0x30-0x40".parse().unwrap()]),
            "cache_lock" => Ok(vec!["app+0x100-0x128".parse().unwrap()]),
            other => Err(BadInput::new(format!("no {other}"))),
        };
        resolved(Some(&text.parse().unwrap()), places).map_err(|bad| bad.to_string())
    }

    #[test]
    fn names_become_places() {
        let variable = |text| with(text).map(|counted| counted.variable);
        assert_eq!(variable("recv"), Ok("recv".into()));
        assert_eq!(variable("recv@serve"), Ok("recv@app+0x10-0x20;app+0x30-0x40".into()));
        assert_eq!(variable("lock:cache_lock@serve"), Ok("lock:app+0x100-0x128@app+0x10-0x20;app+0x30-0x40".into()));
        assert_eq!(variable("cond:cache_lock"), Ok("cond:app+0x100-0x128".into()));
        assert_eq!(variable("mark:served"), Ok("mark:served".into()));
        assert_eq!(with("recv@serve").unwrap().name, "recv@serve");
    }

    #[test]
    fn a_function_is_counted_where_it_begins() {
        let counted = function("serve", false, vec![0x1000, 0x2000]).unwrap();
        assert_eq!((counted.name.as_str(), counted.functions.len()), ("func:serve", 2));
        for (has_site, functions, says) in [
            (false, vec![], "no function of this name"),
            (false, vec![1; 5], "5 functions"),
            (true, vec![1], "not told"),
        ] {
            let error = function("serve", has_site, functions).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        for (text, says) in [
            ("recv@nowhere", "no nowhere"),
            ("lock:nothing", "no nothing"),
            ("recv..send", "is a request"),
            ("mark:a@serve", "a marker has no place"),
            ("sendto@serve", "cannot be told"),
        ] {
            let error = with(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
