//! C source as its tokens: comments and white space make no difference.

/// Punctuators of more than one character, the longest first.
const PUNCTUATORS: [&str; 23] = [
    "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=",
    "/=", "%=", "&=", "^=", "|=", "##",
];

/// The tokens of `text` with a space between them; a directive of the preprocessor keeps its line.
#[doc(hidden)]
pub fn c_tokens(text: &str) -> String {
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    let mut rest = text.as_str();
    let mut tokens = String::with_capacity(rest.len());
    let mut begins_line = true;
    let mut ends_directive = false;
    // How many tokens a directive has so far; None outside.
    let mut directive = None;
    let mut is_define = false;
    while let Some(first) = rest.chars().next() {
        if first == '\n' {
            ends_directive |= directive.take().is_some();
            begins_line = true;
        }
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |end| end + 4)
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            0
        };
        if skipped > 0 {
            rest = &rest[skipped..];
            continue;
        }
        let (token, after) = rest.split_at(token_bytes(rest));
        let begins_directive = begins_line && token == "#";
        if begins_directive {
            directive = Some(0);
        }
        if !tokens.is_empty() {
            tokens.push(if begins_directive || ends_directive { '\n' } else { ' ' });
        }
        tokens.push_str(token);
        rest = after;
        (begins_line, ends_directive) = (false, false);
        if let Some(count) = &mut directive {
            *count += 1;
            is_define = *count == 2 && token == "define" || *count == 3 && is_define;
            // Parameters of a macro begin right behind its name.
            if *count == 3 && is_define && rest.starts_with('(') {
                tokens.push('(');
                rest = &rest[1..];
            }
        }
    }
    tokens
}

/// The length of the token that `text` begins with.
fn token_bytes(text: &str) -> usize {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    let first = text.chars().next().expect("a token has a character");
    let is_number = first.is_ascii_digit()
        || first == '.' && text[1..].starts_with(|second: char| second.is_ascii_digit());
    if is_number {
        let mut before = first;
        let is_beyond = |c: char| {
            let is_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E' | 'p' | 'P');
            before = c;
            !(is_of_word(c) || c == '.' || is_sign)
        };
        return text.find(is_beyond).unwrap_or(text.len());
    }
    if is_of_word(first) {
        let end = text.find(|c| !is_of_word(c)).unwrap_or(text.len());
        let is_prefix = matches!(&text[..end], "L" | "u" | "U" | "u8");
        return end + if is_prefix { literal_bytes(&text[end..]) } else { 0 };
    }
    let punctuator = PUNCTUATORS.iter().find(|punctuator| text.starts_with(**punctuator));
    literal_bytes(text).max(punctuator.map_or(first.len_utf8(), |punctuator| punctuator.len()))
}

/// The length of the string or character literal that `text` begins with; 0: of another token, or of a quote without a
/// second one in its line.
fn literal_bytes(text: &str) -> usize {
    let Some(quote) = text.chars().next().filter(|first| matches!(first, '"' | '\'')) else { return 0 };
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return 0,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_same(texts: &[&str]) {
        for pair in texts.windows(2) {
            assert_eq!(c_tokens(pair[0]), c_tokens(pair[1]), "{pair:?}");
        }
    }

    #[track_caller]
    fn assert_different(one: &str, other: &str) {
        assert_ne!(c_tokens(one), c_tokens(other), "{one:?}, {other:?}");
    }

    #[test]
    fn comments_and_white_space_make_no_difference() {
        assert_same(&[
            "int a=b+1;",
            "int a = b + 1; // why\n",
            "/* one */ int\n\ta = /* two\n lines */ b+1\n;\r\n",
            "// a comment \\\n that goes on\nint a = b + 1;",
            "/* // */int a = b // /*\n+1;/**/",
            "int a = b + 1; /* without an end",
        ]);
        assert_same(&["(x)->y<<=1", "( x ) -> y <<= 1"]);
        assert_same(&["é = 1; /* é */", "é=1;"]);
    }

    #[test]
    fn a_comment_separates_tokens() {
        assert_eq!(c_tokens("int/**/a"), "int a");
        assert_different("int/**/a", "inta");
        assert_different("x+/**/+y", "x++y");
        assert_eq!(c_tokens("a/ *b"), "a / * b");
        assert_eq!(c_tokens("a//**/b\nc"), "a c");
    }

    #[test]
    fn literals_are_kept_as_they_are() {
        for literal in [
            r#""/* text */""#,
            r#""// text""#,
            r#""a  b""#,
            r#""a\"/*b""#,
            r#""\\""#,
            "'\"'",
            r"'\''",
            r"'\\'",
            "'//'",
            "u8\"/* é */\"",
            "L'/'",
        ] {
            assert_eq!(c_tokens(&format!("f({literal}); /* \" ' */ g")), format!("f ( {literal} ) ; g"));
        }
        assert_different(r#""a" "b""#, r#""a""b c""#);
        assert_different("u8\"a\"", "u8 \"a\"");
        // The quote of an error's text ends nothing.
        assert_eq!(c_tokens("#error don't // so\nx"), "# error don ' t\nx");
    }

    #[test]
    fn white_space_that_makes_other_tokens_counts() {
        for (one, other) in [
            ("x+ +y", "x++y"),
            ("a- -1", "a--1"),
            ("x < < y", "x<<y"),
            ("1e+5", "1e +5"),
            ("0x1p-3", "0x1p - 3"),
            ("a .5", "a . 5"),
            ("1 2", "12"),
            ("x = 0xe+1", "x = 0xe +1"),
        ] {
            assert_different(one, other);
        }
        assert_same(&["a-1", "a - 1"]);
        assert_same(&["0.5*x", "0.5 * x"]);
    }

    #[test]
    fn a_directive_keeps_its_line_and_no_white_space_within() {
        let text = "a;\n  #  define f(x) ((x) + /* two\nlines */ \\\n\t1) // end\nb\n#endif";
        assert_eq!(c_tokens(text), "a ;\n# define f( x ) ( ( x ) + 1 )\nb\n# endif");
        assert_same(&["#if A\nb;\n#endif", "\n\n#if  A /* so */\n\n\tb ;\n\n # endif\n"]);
        assert_different("#if A\nb\n#endif", "#if A b\n#endif");
        assert_different("#define A b", "#define A\nb");
        assert_different("#define f(x) x", "#define f (x) x");
        assert_different("#define f(x) x", "#define f/**/(x) x");
        assert_same(&["#define define (x)", "# define  define  ( x )"]);
        assert_same(&["#if f (x)\n", "#if f(x)\n"]);
        // Only at the beginning of a line is it a directive.
        assert_eq!(c_tokens("f(#x)\ny # z\nw"), "f ( # x ) y # z w");
        assert_eq!(c_tokens("/* before */ #if A\nb"), "# if A\nb");
    }
}
