package archive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold maps names that are equal on some file system to the same string. APFS folds case and knows
// canonical equivalence. ext4 can do both and ignores invisible characters, as HFS+ does. NTFS
// folds case. Letters that are only compatible, such as a superscript and its digit, stay
// different; only ZFS can be configured to treat them as equal.
func Fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(s)
	}
	return norm.NFD.String(strings.Map(foldRune, unfold.Replace(norm.NFD.String(s))))
}

// joiner is inserted by package norm after 30 marks. Such names could be equivalent in two forms,
// and APFS refuses most of them. As foldRune drops joiner, it comes from nowhere else.
const joiner = "\u034f"

// foldRune returns the smallest rune of r's case orbit, with ASCII in lower case, and -1 for
// invisible characters.
func foldRune(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	const iotaBelow = '\u0345' // a mark; replacing it by the letter iota would change the normal form
	smallest := r
	if r == iotaBelow {
		smallest = 'ι'
	}
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		if next != iotaBelow {
			smallest = min(smallest, next)
		}
	}
	if 'A' <= smallest && smallest <= 'Z' {
		return smallest + 'a' - 'A'
	}
	return smallest
}

// unfold replaces letters that full case folding expands and decomposition does not.
var unfold = strings.NewReplacer(
	"ß", "ss", "ẞ", "ss", "ŉ", "ʼn", "ẚ", "aʾ", "և", "եւ",
	"ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st",
	"ﬓ", "մն", "ﬔ", "մե", "ﬕ", "մի", "ﬖ", "վն", "ﬗ", "մխ",
)
