package archive

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxElement is what file systems take as the name of one file, in bytes.
const maxElement = 255

// CheckName reports why name cannot stand for a file (or, ending in a slash, a
// directory) below some root on every operating system. It returns nil if it can, and
// for names with the characters < > | ? * ", which real packages have: Windows refuses to
// make such a file, so nothing else is written in its place.
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
	if strings.IndexByte("CcPpAaNnLl", elem[0]) < 0 {
		return false
	}
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
	limits   Limits // effective
	bytes    int64  // of all names
	count    int    // of all files and directories
	expected int    // names
	known    map[place]*node
}

// place is where a file or directory is, by its name or by what that folds to.
type place struct {
	in   *node // nil: the top
	elem string
}

// node is a file or directory that has a name, or that a name implies.
type node struct {
	place         // by its name
	dir, explicit bool
}

// path returns the name of p, without a final slash.
func (p place) path() string {
	if p.in == nil {
		return p.elem
	}
	return p.in.path() + "/" + p.elem
}

// names returns how many bytes all names together may have: 160 for each entry, but at
// least a megabyte. Archives of source code have about 60.
func (l Limits) names() int64 {
	const each, least = 160, 1 << 20
	if l.Entries > math.MaxInt64/each {
		return math.MaxInt64
	}
	return max(int64(l.Entries)*each, least)
}

// add takes the name of the next entry. Each element is folded once for each directory that
// it is in.
func (n *names) add(name string) error {
	if len(name) > n.limits.NameLen {
		return tooLarge("the name %.100q… has %d bytes, %d are allowed", name, len(name), n.limits.NameLen)
	}
	if n.bytes += int64(len(name)); n.bytes > n.limits.names() {
		return tooLarge("its names have more than %d bytes", n.limits.names())
	}
	if err := CheckName(name); err != nil {
		return err
	}
	path, dir := strings.CutSuffix(name, "/")
	var at *node
	for more := true; more; {
		var elem string
		elem, path, more = strings.Cut(path, "/")
		var err error
		if at, err = n.put(place{at, elem}, more || dir); err != nil {
			return err
		}
	}
	if at.explicit {
		return bad("entry %.100q occurs twice", name)
	}
	at.explicit = true
	return nil
}

// put returns what is at p, which is new or was there under this very name.
func (n *names) put(p place, dir bool) (*node, error) {
	is, ok := n.known[p]
	folded := p
	if !ok {
		folded.elem = Fold(p.elem)
		if strings.Contains(folded.elem, joiner) {
			return nil, bad("entry %.100q: more than 30 marks on one letter", p.path())
		}
		is, ok = n.known[folded]
	}
	switch {
	case ok && is.elem != p.elem:
		return nil, bad("entries %.100q and %.100q are one file on some systems", is.path(), p.path())
	case ok && is.dir != dir:
		return nil, bad("entry %.100q is a file and a directory", p.path())
	case ok:
		return is, nil
	}
	if n.count++; n.count > n.limits.Entries {
		return nil, tooLarge("more than %d entries", n.limits.Entries)
	}
	if n.known == nil {
		n.known = make(map[place]*node, n.expected)
	}
	is = &node{place: p, dir: dir}
	n.known[p], n.known[folded] = is, is
	return is, nil
}
