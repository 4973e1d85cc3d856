//! A picture as a file of its own, for pages that link to it instead of containing it. The file
//! contains what an HTML page would provide (colours for light and dark, the style of the parts, a
//! background). It is written as XML, which requires quotes around every attribute value.

use crate::{PALETTE, PARTS};

/// The text of an `.svg` file with this picture. Returns `None` if `svg` is not a picture but the
/// sentence that there is nothing to draw.
pub fn file(svg: &str) -> Option<String> {
    let rest = svg.strip_prefix("<svg ")?;
    let (tag, inner) = rest.split_once('>')?;
    let size = tag.split_once("viewBox=\"0 0 ")?.1.split_once('"')?.0;
    let (width, height) = size.split_once(' ')?;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" {}>\
         <style>{PALETTE}svg{{font:12px system-ui,sans-serif}}{PARTS}</style>\
         <rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>{}\n",
        quoted(tag),
        xml(inner)
    ))
}

/// Copies SVG, and puts quotes around each attribute value that has none.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some((before, tag_and_more)) = rest.split_once('<') {
        let (tag, more) = tag_and_more.split_once('>').unwrap_or((tag_and_more, ""));
        out += before;
        out.push('<');
        out += &quoted(tag);
        out.push('>');
        rest = more;
    }
    out + rest
}

/// Copies one tag, and puts quotes around each attribute value that has none.
fn quoted(tag: &str) -> String {
    let mut out = String::with_capacity(tag.len() + 16);
    let mut letters = tag.chars().peekable();
    // `inside`: within quotes of the original. `put`: within quotes that this function adds.
    let (mut inside, mut put) = (false, false);
    while let Some(letter) = letters.next() {
        let ends = !inside && put && (letter == ' ' || letter == '/' && letters.peek().is_none());
        if ends {
            out.push('"');
            put = false;
        }
        inside ^= letter == '"';
        out.push(letter);
        if letter == '=' && !inside && !put && letters.peek() != Some(&'"') {
            out.push('"');
            put = true;
        }
    }
    if put {
        out.push('"');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bar, Bars, Lines, Point, Series};

    #[test]
    fn every_value_is_quoted() {
        assert_eq!(quoted("text x=1.5 class=dim"), "text x=\"1.5\" class=\"dim\"");
        assert_eq!(quoted("rect x=1 fill=\"a=b c\" /"), "rect x=\"1\" fill=\"a=b c\" /");
        assert_eq!(quoted("rect r=3/"), "rect r=\"3\"/");
        assert_eq!((quoted("/text").as_str(), xml("a<b c=d>e = f</b>")), ("/text", "a<b c=\"d\">e = f</b>".to_owned()));
    }

    #[test]
    fn a_file_has_its_own_style_and_size() {
        let bar = Bar { value: Some(3.0), ends: Some([2.0, 4.0]), theirs: Some(5.0) };
        let bars = Bars { series: vec!["ours".into()], rows: vec![("a<b".into(), vec![bar])], ..Bars::default() };
        let text = file(&bars.svg()).unwrap();
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n") && text.contains("prefers-color-scheme"));
        assert!(text.contains("width=\"960\"") && text.contains("class=\"theirs\"") && text.contains("a&lt;b"));
        well_formed(&text);
        let series = Series { name: "a".into(), points: vec![Point::new(1.0, 2.0)], theirs: true };
        well_formed(&file(&Lines { series: vec![series], ..Lines::default() }.svg()).unwrap());
        assert_eq!(file(&Bars::default().svg()), None);
    }

    /// Checks that tags are closed in order, and that every attribute value has quotes.
    fn well_formed(text: &str) {
        let mut open = Vec::new();
        for tag in text.split('<').skip(1).map(|piece| piece.split_once('>').expect("a tag ends").0) {
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "{text}");
                continue;
            }
            let outside: String = tag.split('"').step_by(2).collect();
            assert!(outside.split('=').skip(1).all(|rest| rest.is_empty() || rest.starts_with([' ', '/'])), "{tag}");
            if !tag.ends_with('/') {
                open.push(tag.split(' ').next().unwrap());
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}
