package lockfile

import (
	"strings"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Bytes returns the content of the file. For a file from [ParseLenient] it is the source with
// the changes. Otherwise it is the form of the CLI: the header, then a block for each
// provider, in order.
func (f *File) Bytes() []byte {
	if f.doc != nil {
		return []byte(f.doc.render(f))
	}
	size := 0
	for _, e := range f.entries {
		size += 256 + 80*len(e.Hashes)
	}
	b := append(make([]byte, 0, size), headerLines(f.Header)...)
	for _, p := range f.providers() {
		b = appendBlock(append(b, '\n'), f.entries[p])
	}
	return b
}

// headerLines returns the header as comment lines.
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
	b = append(b, "provider "+quote(e.Provider.String())+" {\n"...)
	return append(appendBody(b, e), "}\n"...)
}

// appendBody appends the lines between the braces of a block.
func appendBody(b []byte, e Entry) []byte {
	return appendHashes(append(b, versionLine(e)+constraintsLine(e)...), e)
}

func versionLine(e Entry) string {
	return "  version" + padding(e) + "= " + quote(e.Version.String()) + "\n"
}

// padding returns the blanks after "version" that align the equals signs of version and
// constraints.
func padding(e Entry) string {
	if e.Constraints.IsZero() {
		return " "
	}
	return "     "
}

func constraintsLine(e Entry) string {
	if e.Constraints.IsZero() {
		return ""
	}
	return "  constraints = " + quote(e.Constraints.String()) + "\n"
}

func appendHashes(b []byte, e Entry) []byte {
	if len(e.Hashes) == 0 {
		return b
	}
	b = append(b, "  hashes = [\n"...)
	for _, h := range e.Hashes {
		b = appendHash(b, h)
	}
	return append(b, "  ]\n"...)
}

func appendHash(b []byte, h checksum.Hash) []byte {
	return append(append(append(b, "    \""...), escape(h.String())...), "\",\n"...)
}

func quote(s string) string { return `"` + escape(s) + `"` }

// escape escapes s for double quotes, as the HCL library does. s has only printable
// characters.
func escape(s string) string {
	if strings.ContainsAny(s, "\"\\$%") {
		s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", "$${", "%{", "%%{").Replace(s)
	}
	return s
}
