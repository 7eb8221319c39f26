package archive

import (
	"strings"
	"unicode"
	"unicode/utf8"
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
	exact  map[string]known // by folded name, without the final slash
	loose  map[string]known // by looseKey, for names outside ASCII
}

// known is a name that was seen, or a directory that one implied.
type known struct {
	name     string // without the final slash
	dir      bool
	explicit bool // has an entry of its own
	marks    bool
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
		if k, ok := n.exact[fold(path)]; ok && k.dir && k.name == path {
			return nil // and so are the directories above it
		}
		if err := n.put(known{name: path, dir: true}); err != nil {
			return err
		}
	}
}

// put stores k, unless something is in its place.
func (n *names) put(k known) error {
	key := fold(k.name)
	if old, ok := n.exact[key]; ok {
		switch {
		case old.name != k.name:
			return collision(old.name, k.name)
		case old.dir != k.dir:
			return bad("entry %.100q is a file and a directory", k.name)
		case old.explicit && k.explicit:
			return bad("entry %.100q occurs twice", k.name)
		}
		k.explicit = k.explicit || old.explicit
		n.exact[key] = k
		return nil
	}
	if len(n.exact) >= n.limits.Entries {
		return tooLarge("more than %d entries", n.limits.Entries)
	}
	if err := n.putLoose(&k); err != nil {
		return err
	}
	if n.exact == nil {
		n.exact = make(map[string]known)
	}
	n.exact[key] = k
	return nil
}

// putLoose stores a name outside ASCII, unless a file system that normalises
// Unicode could take it for another one.
func (n *names) putLoose(k *known) error {
	if isASCII(k.name) {
		return nil // an accent does not vanish: the other name is not ASCII either
	}
	key, marks := looseKey(k.name)
	k.marks = marks
	old, ok := n.loose[key]
	if ok && (old.marks || marks) {
		return collision(old.name, k.name)
	}
	if n.loose == nil {
		n.loose = make(map[string]known)
	}
	n.loose[key] = *k
	return nil
}

func collision(a, b string) error {
	return bad("entries %.100q and %.100q are one file on some systems", a, b)
}

// fold maps names to the same string that differ only in case.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return strings.Map(foldRune, s)
}

// foldRune returns the smallest rune of r's case orbit, but ASCII in lower case.
func foldRune(r rune) rune {
	smallest := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		smallest = min(smallest, next)
	}
	if 'A' <= smallest && smallest <= 'Z' {
		return smallest + 'a' - 'A'
	}
	return smallest
}

// decomposed has the characters that stand in decomposed text where composed text
// has a single letter: the marks of Latin, Greek and Cyrillic, of kana, and the
// conjoining letters of Hangul.
var decomposed = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0300, Hi: 0x036f, Stride: 1},
	{Lo: 0x1100, Hi: 0x11ff, Stride: 1},
	{Lo: 0x3099, Hi: 0x309a, Stride: 1},
}}

// looseKey maps names to the same string that can be the same after Unicode
// normalisation, and possibly others: it blots out each letter outside ASCII and
// each letter with marks. It also tells whether name is decomposed anywhere; of two
// names that are not, none is the other's normal form. So the tables of Unicode,
// some hundred kilobytes, are not needed to find collisions, and a false one takes
// two names alike but for their accents, one of them decomposed.
func looseKey(name string) (key string, marks bool) {
	var b strings.Builder
	runes := []rune(fold(name))
	for i := 0; i < len(runes); i++ {
		blot := runes[i] >= utf8.RuneSelf
		marks = marks || unicode.Is(decomposed, runes[i])
		for i+1 < len(runes) && unicode.Is(decomposed, runes[i+1]) && !startsSyllable(runes[i+1]) {
			blot, marks = true, true
			i++
		}
		if blot {
			b.WriteByte(0) // which no name has
		} else {
			b.WriteRune(runes[i])
		}
	}
	return b.String(), marks
}

// startsSyllable reports whether r is a leading consonant of Hangul, which begins
// what is one composed letter.
func startsSyllable(r rune) bool { return 0x1100 <= r && r <= 0x115f }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
