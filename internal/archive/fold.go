package archive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold maps names to the same string that some file system takes for the same. APFS folds
// case in full and knows canonical equivalence, ext4 can do that and passes over what is
// not to be seen, as HFS+ does; NTFS folds case only. Letters that are merely compatible,
// like a superscript and its digit, stay apart: only ZFS can be told to see them as one.
func Fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(s)
	}
	return norm.NFD.String(strings.Map(foldRune, unfold.Replace(norm.NFD.String(s))))
}

// joiner is what the norm package puts behind 30 marks, so as not to sort any number of
// them: such names could be equivalent in two forms, and APFS takes none with many more.
// It comes from nowhere else, since foldRune drops it.
const joiner = "\u034f"

// foldRune returns the smallest rune of r's case orbit, but ASCII in lower case, and -1 for
// what is not to be seen.
func foldRune(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	const iotaBelow = '\u0345' // a mark: in its place the letter iota would change the normal form
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

// unfold replaces the letters that full case folding makes several of, and decomposition
// does not.
var unfold = strings.NewReplacer(
	"ß", "ss", "ẞ", "ss", "ŉ", "ʼn", "ẚ", "aʾ", "և", "եւ",
	"ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st",
	"ﬓ", "մն", "ﬔ", "մե", "ﬕ", "մի", "ﬖ", "վն", "ﬗ", "մխ",
)
