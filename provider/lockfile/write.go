package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fsx"
)

// Load calls [Parse] for the file at path. A missing file is empty.
func Load(path string) (*File, error) {
	f, _, err := load(path, false)
	return f, err
}

// LoadExisting is like [Load], but a missing file is [fs.ErrNotExist].
func LoadExisting(path string) (*File, error) {
	f, source, err := load(path, false)
	if err == nil && source == nil {
		return nil, fmt.Errorf("read lock file: %w", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist})
	}
	return f, err
}

// load returns the file at path and its source, which is nil if there is no file.
func load(path string, lenient bool) (f *File, source []byte, err error) {
	source, err = fsx.ReadRegular(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read lock file: %w", err)
	}
	f, err = parse(source, path, lenient)
	return f, source, err
}

// Save atomically replaces the file at path by [File.Bytes]. It does not touch a file with the same header and entries,
// so that comments stay, and creates no file without entries. A new file has mode 0644 before the umask; an existing
// file keeps its mode. A symbolic link is replaced.
func (f *File) Save(path string) error {
	if err := fsx.Update(path, f.Bytes(), maxSize, f.keeps); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	return nil
}

// keeps reports whether data has the header and entries of f. It is false for a file from ParseLenient,
// which keeps its layout. nil stands for no file, which stays if f has no entries.
func (f *File) keeps(data []byte) bool {
	if data == nil {
		return f.Len() == 0
	}
	old, err := Parse(data, "")
	if err != nil || f.doc != nil {
		return false
	}
	sameHeader := f.Header == old.Header || f.Header == "" && old.Header == HeaderOpenTofu
	return sameHeader && maps.EqualFunc(f.entries, old.entries, Entry.equal)
}

// Bytes returns the content of the file: from [ParseLenient] the source with the changes, otherwise the form of the
// CLI.
func (f *File) Bytes() []byte {
	if f.doc != nil {
		return f.edited()
	}
	size := 0
	for _, e := range f.entries {
		size += 256 + 80*len(e.Hashes)
	}
	b := append(make([]byte, 0, size), headerLines(f.Header)...)
	for _, p := range f.providers() {
		if len(b) > 0 {
			b = append(b, '\n')
		}
		b = append(appendBlock(b, f.entries[p], ""), '\n')
	}
	return b
}

// headerLines returns the header as comment lines.
func headerLines(header string) string {
	if header == HeaderNone {
		return ""
	}
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

// appendBlock appends the block of e, without a line break at the end. constraints is the source
// of constraints that e does not have, or empty.
func appendBlock(b []byte, e Entry, constraints string) []byte {
	if !e.Constraints.IsZero() {
		constraints = quote(e.Constraints.String())
	}
	b = append(b, "provider "+quote(e.Provider.String())+" {\n"...)
	if constraints == "" {
		b = append(b, "  version = "+quote(e.Version.String())+"\n"...)
	} else {
		b = append(b, "  version     = "+quote(e.Version.String())+"\n  constraints = "+constraints+"\n"...)
	}
	if len(e.Hashes) > 0 {
		b = append(b, "  hashes = [\n"...)
		for _, h := range e.Hashes {
			b = append(append(append(b, "    \""...), escape(h.String())...), "\",\n"...)
		}
		b = append(b, "  ]\n"...)
	}
	return append(b, '}')
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

// edited returns the source of f with the entries and the header of f. New lines have the line
// ends of the first line.
func (f *File) edited() []byte {
	src, blocks := f.doc.src, f.doc.blocks
	inSource := map[addrs.Provider]bool{}
	for _, b := range blocks {
		inSource[b.entry.Provider] = true
	}
	added := map[int][]Entry{} // to the block that they follow; -1 for none
	for _, p := range f.providers() {
		if !inSource[p] {
			at := len(blocks) - 1
			for at >= 0 && blocks[at].entry.Provider.Compare(p) > 0 {
				at--
			}
			added[at] = append(added[at], f.entries[p])
		}
	}
	eol := "\n"
	if first, _, _ := strings.Cut(src, "\n"); strings.HasSuffix(first, "\r") {
		eol = "\r\n"
	}
	out := make([]byte, 0, len(src))
	write := func(text string) {
		out = append(out, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", eol)...)
	}
	insert := func(entries []Entry) {
		for _, e := range entries {
			if len(out) > f.doc.start && out[len(out)-1] != '\n' {
				write("\n")
			}
			if len(out) > f.doc.start && !bytes.HasSuffix(out, []byte("\n"+eol)) {
				write("\n")
			}
			write(string(appendBlock(nil, e, "")) + "\n")
		}
	}
	done := f.doc.start // in src
	out = append(out, src[:done]...)
	switch h := f.doc.header; {
	case f.Header == f.doc.headerText, f.Header == HeaderNone && h.stop == 0:
	case h.stop > 0:
		out = append(out, src[done:h.start]...)
		write(strings.TrimSuffix(headerLines(f.Header), "\n"))
		if done = h.stop; f.Header == HeaderNone {
			done = len(src) - len(strings.TrimLeft(src[done:], "\r\n"))
		}
	default:
		write(headerLines(f.Header) + "\n")
	}
	for i, b := range blocks {
		out = append(out, src[done:b.whole.start]...)
		if i == 0 && len(added[-1]) > 0 {
			insert(added[-1])
			write("\n")
		}
		done = b.whole.stop
		now, ok := f.entries[b.entry.Provider]
		first := b
		if b.first != nil {
			first = b.first
		}
		switch {
		case ok && now.equal(first.entry) && f.constraints[now.Provider] == first.constraints:
			out = append(out, src[b.whole.start:b.whole.stop]...)
		case ok && b == first:
			out = append(out, src[b.whole.start:b.braced.start]...)
			write(string(appendBlock(nil, now, f.constraints[now.Provider])))
			out = append(out, src[b.braced.stop:b.whole.stop]...)
		case bytes.HasSuffix(out, []byte("\n"+eol)): // with the block goes the blank line before it
			out = out[:len(out)-len(eol)]
		case len(out) == f.doc.start: // or after it, at the start of the file
			done += len(src[done:]) - len(strings.TrimPrefix(src[done:], eol))
		}
		insert(added[i])
	}
	out = append(out, src[done:]...)
	if len(blocks) == 0 {
		insert(added[-1])
	}
	return out
}
