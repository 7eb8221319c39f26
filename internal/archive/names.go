package archive

import (
	"math"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxElement is the maximum length in bytes of a file name on common file systems.
const maxElement = 255

// checkName returns an error unless name can be a file on every operating system, or a directory if
// it ends in a slash. It accepts the characters < > | ? * and ", which real packages have, and if
// native is set, names that only Windows reserves or changes.
func checkName(name string, native bool) error {
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
	case !native && strings.ContainsRune(name, ':'):
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
		case native:
		case strings.HasSuffix(elem, ".") || strings.HasSuffix(elem, " "):
			// Windows drops them, so that "a" and "a." are the same file.
			return bad("entry %.100q: path element ends in a dot or a space", name)
		case reserved(elem):
			return bad("entry %.100q: %q is a device on Windows", name, elem)
		}
	}
	return nil
}

// reserved reports whether elem is a device on Windows, in any directory and with any extension.
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
	// Windows treats superscript digits as digits.
	return ok && utf8.RuneCountInString(digit) == 1 && strings.Contains("0123456789¹²³", digit)
}

// names checks that the names of an archive are valid and can exist together. The zero value has no
// limits.
type names struct {
	limits   Limits // effective limits
	native   bool   // Options.Native
	lenient  bool   // whether a directory may occur twice
	bytes    int64  // total length of the names
	count    int    // number of files and directories
	expected int    // likely count
	known    map[nameKey]*node
	walked   int // bytes of targets that leadsOut has looked at
}

// Names checks the names of files that arrive one by one, such as objects of a bucket, like names in an archive:
// they can exist together on this system, and with the directories that they imply they are within Limits.
type Names struct{ names names }

// NewNames returns Names with these limits. native is Options.Native.
func NewNames(l Limits, native bool) *Names {
	return &Names{names{limits: l.Effective(), native: native}}
}

// Add checks the name of the next file, or of a directory if it ends in a slash.
func (n *Names) Add(name string) error {
	_, err := n.names.add(name)
	return err
}

// nameKey is the key of a file or directory: its parent and its name, or its folded name.
type nameKey struct {
	in   *node // nil for the top directory
	elem string
}

// node is a file or directory that an entry names or implies.
type node struct {
	nameKey // with its name, not folded
	dir     bool
	entries int    // for this name, without implied ones
	target  string // of a link that may be kept
}

// path returns the full name without a final slash.
func (p nameKey) path() string {
	if p.in == nil {
		return p.elem
	}
	return p.in.path() + "/" + p.elem
}

// names returns the maximum total length of the names. Archives of source code have about 60 bytes
// per entry.
func (l Limits) names() int64 {
	const each, least = 160, 1 << 20
	entries := int64(l.Entries) // an int has 32 bits on some systems
	if entries > math.MaxInt64/each {
		return math.MaxInt64
	}
	return max(entries*each, least)
}

// add checks the name of the next entry, and returns its node. Each element is folded once for each
// directory.
func (n *names) add(name string) (*node, error) {
	if len(name) > n.limits.NameLen {
		return nil, tooLarge("the name %.100q… has %d bytes, %d are allowed", name, len(name), n.limits.NameLen)
	}
	if err := n.charge(name); err != nil {
		return nil, err
	}
	if err := checkName(name, n.native && runtime.GOOS != "windows"); err != nil {
		return nil, err
	}
	path, dir := strings.CutSuffix(name, "/")
	var at *node
	for more := true; more; {
		var elem string
		elem, path, more = strings.Cut(path, "/")
		var err error
		if at, err = n.addElement(nameKey{at, elem}, more || dir); err != nil {
			return nil, err
		}
	}
	if at.entries++; at.entries > 1 && !(n.lenient && dir) {
		return nil, bad("entry %.100q occurs twice", name)
	}
	return at, nil
}

// charge counts a name or target.
func (n *names) charge(text string) error {
	if n.bytes += int64(len(text)); n.bytes > n.limits.names() {
		return tooLarge("its names have more than %d bytes", n.limits.names())
	}
	return nil
}

// maxTarget is the maximum length of the target of a link on Linux, in bytes.
const maxTarget = 4095

// setTarget makes at a link.
func (n *names) setTarget(at *node, e Entry, target string) error {
	switch {
	case at.dir:
		return bad("entry %.100q is a directory by its name but not by its type", e.Name)
	case len(target) > maxTarget:
		return bad("link %.100q has a target of %d bytes, %d are allowed", e.Name, len(target), maxTarget)
	}
	at.target = target
	return n.charge(target)
}

const (
	maxLinks  = 40       // links on the way to the place where one leads, as on Linux
	maxWalked = 16 << 20 // bytes of targets that are looked at for all links, with those on the way of others
)

// leadsOut reports whether the link l leads out of the archive, or to no place. It resolves each
// element of a target before the next one, and makes no system calls. Where systems disagree about a
// target, the link leads out.
func (n *names) leadsOut(l *node) (bool, error) {
	at, missing := l.in, 0 // missing is the number of elements below at that do not exist
	folded := false        // whether the way exists only where names are folded
	links, rest := 1, []string{l.target}
	if l.target == "" || l.target[0] == '/' {
		return true, nil
	}
	for len(rest) > 0 {
		last := len(rest) - 1
		elem, after, more := strings.Cut(rest[last], "/")
		if rest[last] = after; !more {
			rest = rest[:last]
		}
		if n.walked += len(elem) + 1; n.walked > maxWalked {
			return false, tooLarge("its links lead over more than %d bytes of targets", maxWalked)
		}
		switch {
		case elem == "" || elem == ".":
			continue
		case elem == ".." && missing > 0:
			missing--
			continue
		case elem == ".." && at == nil:
			return true, nil
		case elem == "..":
			at = at.in
			continue
		}
		var next *node
		if missing == 0 {
			next = n.known[nameKey{at, elem}]
		}
		if next == nil || next.elem != elem {
			if checkName(elem, false) != nil || isShort(elem) {
				return true, nil // it can be another name
			}
			if next == nil && missing == 0 {
				next = n.known[nameKey{at, Fold(elem)}]
			}
			folded = folded || next != nil
		}
		switch {
		case next == nil:
			missing++
		case next.target == "":
			at = next
		default:
			if links++; links > maxLinks || folded || next.target[0] == '/' {
				return true, nil
			}
			rest = append(rest, next.target)
		}
	}
	return false, nil
}

// isShort reports whether elem can be the short name that Windows gives a file, such as PROGRA~1.
func isShort(elem string) bool {
	_, after, _ := strings.Cut(elem, "~")
	return after != "" && '0' <= after[0] && after[0] <= '9'
}

// addElement returns the node with the key p. The node may be new.
func (n *names) addElement(p nameKey, dir bool) (*node, error) {
	is, ok := n.known[p]
	folded := p
	if !ok {
		folded.elem = Fold(p.elem)
		if strings.Contains(folded.elem, joiner) {
			return nil, bad("entry %.100q: more than 30 marks on one letter", p.path())
		}
		is, ok = n.known[folded]
	}
	if ok && is.elem != p.elem {
		if !n.native || !strings.EqualFold(is.elem, p.elem) {
			return nil, bad("entries %.100q and %.100q are the same file on some systems", is.path(), p.path())
		}
		ok = false
	}
	switch {
	case ok && is.dir != dir:
		return nil, bad("entry %.100q is a file and a directory", p.path())
	case ok:
		return is, nil
	}
	if n.count++; n.count > n.limits.Entries {
		return nil, tooLarge("more than %d entries", n.limits.Entries)
	}
	if n.known == nil {
		n.known = make(map[nameKey]*node, n.expected)
	}
	is = &node{nameKey: p, dir: dir}
	n.known[p] = is
	if n.known[folded] == nil { // otherwise of a name that differs in case
		n.known[folded] = is
	}
	return is, nil
}

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
