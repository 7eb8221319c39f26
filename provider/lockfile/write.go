package lockfile

import (
	"bytes"
	"strings"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Bytes returns the content of the file. For a file from [ParseLenient] that is the
// source with the changes in it. For all others it is the form in which the CLI writes:
// the header, then a block for each provider, in order.
func (f *File) Bytes() []byte {
	if f.doc != nil {
		return []byte(f.doc.render(f))
	}
	var b bytes.Buffer
	b.WriteString(headerLines(f.Header))
	for _, p := range f.providers() {
		b.WriteString("\n" + blockText(f.entries[p]))
	}
	return b.Bytes()
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

func blockText(e Entry) string {
	return "provider " + quote(e.Provider.String()) + " {\n" + bodyText(e) + "}\n"
}

// bodyText returns what stands between the braces of a block.
func bodyText(e Entry) string { return versionLine(e) + constraintsLine(e) + hashLines(e) }

func versionLine(e Entry) string {
	return "  version" + gap(e) + "= " + quote(e.Version.String()) + "\n"
}

// gap is what stands behind the name of the version, so that the equals signs of
// version and constraints align.
func gap(e Entry) string {
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

func hashLines(e Entry) string {
	if len(e.Hashes) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("  hashes = [\n")
	for _, h := range e.Hashes {
		b.WriteString(hashLine(h))
	}
	return b.String() + "  ]\n"
}

func hashLine(h checksum.Hash) string { return "    " + quote(h.String()) + ",\n" }

// quote returns s in double quotes, escaped as the HCL library does it. All values here
// consist of printable characters.
func quote(s string) string {
	if strings.ContainsAny(s, "\"\\$%") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`)
		s = strings.ReplaceAll(strings.ReplaceAll(s, "${", "$${"), "%{", "%%{")
	}
	return `"` + s + `"`
}
