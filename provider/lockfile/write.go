package lockfile

import (
	"slices"
	"strings"
)

// Bytes returns the content of the file. For a file from [ParseLenient] that is the
// source with the changes in it. For all others it is the form in which the CLI writes:
// the header, then a block for each provider, in order.
func (f *File) Bytes() []byte {
	if f.doc != nil {
		return []byte(f.doc.render(f))
	}
	size := len(f.Header)
	for _, e := range f.entries {
		size += 256 + 80*len(e.Hashes)
	}
	b := append(make([]byte, 0, size), headerLines(f.Header)...)
	for _, p := range f.providers() {
		b = append(b, '\n')
		b = appendBlock(b, f.entries[p])
	}
	return b
}

// headerLines returns the header as lines of comment.
func headerLines(header string) string {
	header = strings.TrimRight(header, "\r\n")
	if header == "" {
		header = HeaderOpenTofu
	}
	var b strings.Builder
	for line := range strings.SplitSeq(header, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
			line = strings.TrimRight("# "+line, " ")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func appendBlock(b []byte, e Entry) []byte {
	b = append(b, "provider "...)
	b = appendQuoted(b, e.Provider.String())
	b = append(b, " {\n"...)
	b = appendBody(b, e)
	return append(b, "}\n"...)
}

// appendBody appends what stands between the braces of a block.
func appendBody(b []byte, e Entry) []byte {
	b = appendVersion(b, e)
	if !e.Constraints.IsZero() {
		b = appendConstraints(b, e)
	}
	if len(e.Hashes) > 0 {
		b = appendHashes(b, e)
	}
	return b
}

func appendVersion(b []byte, e Entry) []byte {
	b = append(append(b, "  version"...), gap(e)...)
	b = appendQuoted(append(b, "= "...), e.Version.String())
	return append(b, '\n')
}

// gap is what stands behind the name of the version, so that the equals signs of
// version and constraints align.
func gap(e Entry) string {
	if e.Constraints.IsZero() {
		return " "
	}
	return "     "
}

func appendConstraints(b []byte, e Entry) []byte {
	b = appendQuoted(append(b, "  constraints = "...), e.Constraints.String())
	return append(b, '\n')
}

func appendHashes(b []byte, e Entry) []byte {
	b = append(b, "  hashes = [\n"...)
	for _, h := range e.Hashes {
		b = appendElement(b, h.String())
	}
	return append(b, "  ]\n"...)
}

// appendElement appends a line of the list of hashes.
func appendElement(b []byte, hash string) []byte {
	b = appendQuoted(append(b, "    "...), hash)
	return append(b, ",\n"...)
}

// quote returns s as appendQuoted appends it.
func quote(s string) string { return string(appendQuoted(nil, s)) }

// appendQuoted appends s in double quotes, escaped as the HCL library does it. All
// values here consist of printable characters.
func appendQuoted(b []byte, s string) []byte {
	b = append(slices.Grow(b, len(s)+2), '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case (c == '$' || c == '%') && strings.HasPrefix(s[i+1:], "{"):
			b = append(b, c, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
