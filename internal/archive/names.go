package archive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxElement is what file systems take as the name of one file, in bytes.
const maxElement = 255

// CheckName reports why name cannot stand for a file (or, ending in a slash, a
// directory) below some root on every operating system. It returns nil if it can.
func CheckName(name string) error {
	path := strings.TrimSuffix(name, "/")
	switch {
	case path == "":
		return bad("entry %.100q: empty name", name)
	case !utf8.ValidString(name):
		return bad("entry %.100q: name is not UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return bad("entry %.100q: control character in the name", name)
	case strings.ContainsRune(name, '\\'):
		return bad("entry %.100q: backslash in the name", name)
	case strings.ContainsRune(name, ':'):
		return bad("entry %.100q: colon in the name", name)
	case name[0] == '/':
		return bad("entry %.100q: absolute name", name)
	}
	for elem := range strings.SplitSeq(path, "/") {
		switch {
		case elem == "":
			return bad("entry %.100q: empty path element", name)
		case len(elem) > maxElement:
			return bad("entry %.100q: path element of %d bytes, %d are allowed", name, len(elem), maxElement)
		case elem == "." || elem == "..":
			return bad("entry %.100q: path element %q", name, elem)
		case strings.HasSuffix(elem, ".") || strings.HasSuffix(elem, " "):
			// Windows drops these, so "a" and "a." are one file there.
			return bad("entry %.100q: path element ends in a dot or a space", name)
		case reserved(elem):
			return bad("entry %.100q: %q is a device on Windows", name, elem)
		}
	}
	return nil
}

// reserved reports whether elem opens a device on Windows, in whatever directory
// and with whatever extension it stands.
func reserved(elem string) bool {
	base, _, _ := strings.Cut(elem, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	digit, ok := strings.CutPrefix(base, "COM")
	if !ok {
		digit, ok = strings.CutPrefix(base, "LPT")
	}
	// Superscript digits count as digits here.
	return ok && utf8.RuneCountInString(digit) == 1 && strings.Contains("0123456789¹²³", digit)
}

// names collects the names of one archive and refuses those that cannot live
// beside each other. The zero value has no limits and is empty.
type names struct {
	limits Limits           // effective
	seen   map[string]known // by folded name, without the final slash
}

// known is a name that was seen, or a directory that one implied.
type known struct {
	name     string // without the final slash
	dir      bool
	explicit bool // has an entry of its own
}

// add takes the name of the next entry.
func (n *names) add(name string) error {
	if len(name) > n.limits.NameLen {
		return tooLarge("the name %.100q… has %d bytes, %d are allowed", name, len(name), n.limits.NameLen)
	}
	if err := CheckName(name); err != nil {
		return err
	}
	path, dir := strings.CutSuffix(name, "/")
	if err := n.put(known{name: path, dir: dir, explicit: true}); err != nil {
		return err
	}
	for {
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return nil
		}
		path = path[:i]
		if k, ok := n.seen[Fold(path)]; ok && k.dir && k.name == path {
			return nil // and so are the directories above it
		}
		if err := n.put(known{name: path, dir: true}); err != nil {
			return err
		}
	}
}

// put stores k, unless something is in its place.
func (n *names) put(k known) error {
	key := Fold(k.name)
	if strings.Contains(key, joiner) {
		return bad("entry %.100q: more than 30 marks on one letter", k.name)
	}
	if old, ok := n.seen[key]; ok {
		switch {
		case old.name != k.name:
			return collision(old.name, k.name)
		case old.dir != k.dir:
			return bad("entry %.100q is a file and a directory", k.name)
		case old.explicit && k.explicit:
			return bad("entry %.100q occurs twice", k.name)
		}
		k.explicit = k.explicit || old.explicit
		n.seen[key] = k
		return nil
	}
	if len(n.seen) >= n.limits.Entries {
		return tooLarge("more than %d entries", n.limits.Entries)
	}
	if n.seen == nil {
		n.seen = make(map[string]known)
	}
	n.seen[key] = k
	return nil
}

func collision(a, b string) error {
	return bad("entries %.100q and %.100q are one file on some systems", a, b)
}

// Fold maps names to the same string that some file system takes for the same. APFS folds
// case in full and knows canonical equivalence, ext4 can do that and passes over what is
// not to be seen, as HFS+ does; NTFS folds case only. Letters that are merely compatible,
// like a superscript and its digit, stay apart: only ZFS can be told to see them as one.
func Fold(s string) string {
	if isASCII(s) {
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

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
