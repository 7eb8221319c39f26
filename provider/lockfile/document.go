package lockfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A document is the source of a file from ParseLenient, with the positions of its entries. It
// does not change; render compares it with the entries.
type document struct {
	src    string
	start  int // after the byte order mark
	header header
	blocks []*block // provider blocks in the order of the source
}

// render returns the source with the entries and the header of f.
func (d *document) render(f *File) string {
	e := edits{src: d.src}
	d.editHeader(&e, f.Header)
	inSource := map[addrs.Provider]bool{}
	for _, b := range d.blocks {
		now, ok := f.entries[b.entry.Provider]
		before := b.entry
		if b.first != nil {
			before = b.first.entry
		}
		switch {
		case ok && now.equal(before):
		case !ok || b.first != nil:
			e.replace(d.withBlank(b.whole), "")
		default:
			b.edit(&e, now)
		}
		inSource[b.entry.Provider] = true
	}
	for _, p := range f.providers() {
		if !inSource[p] {
			d.insert(&e, f.entries[p])
		}
	}
	return e.apply()
}

func (d *document) editHeader(e *edits, text string) {
	switch {
	case text == d.header.text:
	case d.header.stop > 0:
		e.replace(d.header.span, strings.TrimSuffix(headerLines(text), "\n"))
	default:
		e.replace(span{d.start, d.start}, headerLines(text)+"\n")
	}
}

// withBlank returns the lines in s and a blank line before them, or after them at the start of
// the file.
func (d *document) withBlank(s span) span {
	before := strings.TrimSuffix(d.src[d.start:s.start], "\n")
	line := before[strings.LastIndexByte(before, '\n')+1:]
	switch {
	case s.start == d.start:
		line, _, more := strings.Cut(d.src[s.stop:], "\n")
		if more && strings.TrimSpace(line) == "" {
			s.stop += len(line) + 1
		}
	case d.src[s.start-1] == '\n' && strings.TrimSpace(line) == "":
		s.start -= len(line) + 1
	}
	return s
}

// insert adds a block for a new entry: after the last block of a lesser provider, otherwise
// before the first block or at the end.
func (d *document) insert(e *edits, now Entry) {
	text := string(appendBlock(nil, now))
	for _, other := range slices.Backward(d.blocks) {
		if other.entry.Provider.Compare(now.Provider) < 0 {
			e.insertLines(other.whole.stop, "\n"+text)
			return
		}
	}
	if len(d.blocks) == 0 {
		e.insertLines(len(d.src), "\n"+text)
		return
	}
	switch first := d.blocks[0].whole; {
	case d.withBlank(first).start < first.start:
		e.insertLines(d.withBlank(first).start, "\n"+text)
	case first.start == d.start:
		e.replace(span{first.start, first.start}, text+"\n")
	default:
		e.insertLines(first.start, "\n"+text+"\n")
	}
}

// edit changes the block to say what now says. A block that is not understood, or that is in
// one line, is replaced.
func (b *block) edit(e *edits, now Entry) {
	if b.entry.Unreadable || b.inline {
		e.replace(b.braced, strings.TrimSuffix(string(appendBlock(nil, now)), "\n"))
		return
	}
	if label := quote(now.Provider.String()); e.src[b.label.start:b.label.end] != label {
		e.replace(span{b.label.start, b.label.end}, label)
	}
	e.replace(b.version.value, quote(now.Version.String()))
	next := b.editConstraints(e, now, b.version.line.stop)
	b.editHashes(e, now, next)
}

// editConstraints sets, adds or removes the constraints. A text that cannot be read stays until
// there is another one. The result is the position of the following argument.
func (b *block) editConstraints(e *edits, now Entry, next int) int {
	there, want := b.constraints != nil, !now.Constraints.IsZero()
	switch {
	case there && want:
		e.replace(b.constraints.value, quote(now.Constraints.String()))
		return b.constraints.line.stop
	case want:
		e.insertLines(next, constraintsLine(now))
		b.align(e, now)
	case there && !b.entry.Constraints.IsZero():
		e.replace(b.constraints.line, "")
		b.align(e, now)
	}
	return next
}

// editHashes sets, adds or removes the hashes.
func (b *block) editHashes(e *edits, now Entry, next int) {
	added := slices.DeleteFunc(slices.Clone(now.Hashes), func(h checksum.Hash) bool {
		_, there := slices.BinarySearchFunc(b.entry.Hashes, h, checksum.Hash.Compare)
		return there
	})
	onlyAdded := len(added)+len(b.entry.Hashes) == len(now.Hashes)
	switch list := appendHashes(nil, now); {
	case onlyAdded && len(added) == 0:
	case b.hashes == nil:
		e.insertLines(next, string(list))
	case len(now.Hashes) == 0:
		e.replace(b.hashes.line, "")
	case !onlyAdded || !e.addHashes(b.hashes, added):
		_, list, _ := strings.Cut(strings.TrimSuffix(string(list), "\n"), "= ")
		e.replace(b.hashes.value, list)
	}
}

// align moves the equals sign of the version when constraints are added or removed.
func (b *block) align(e *edits, now Entry) {
	blanks := span{b.version.name.end, b.version.equals}
	if strings.TrimLeft(e.src[blanks.start:blanks.stop], " ") == "" {
		e.replace(blanks, padding(now))
	}
}

// edits are changes to a source. They do not overlap, except that two edits may remove the
// same lines.
type edits struct {
	src   string
	list  []edit
	ended bool // the last line was given a line break
}

type edit struct {
	span
	text string
}

func (e *edits) replace(s span, text string) { e.list = append(e.list, edit{s, text}) }

// insertLines inserts whole lines at i, and ends the line before i.
func (e *edits) insertLines(i int, lines string) {
	if i > 0 && e.src[i-1] != '\n' && !e.ended {
		lines, e.ended = "\n"+lines, true
	}
	e.replace(span{i, i}, lines)
}

// apply returns the source with all changes. New lines have the line ends of the first line.
func (e *edits) apply() string {
	slices.SortStableFunc(e.list, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.stop, b.stop))
	})
	first, _, _ := strings.Cut(e.src, "\n")
	crlf := strings.HasSuffix(first, "\r")
	var b strings.Builder
	b.Grow(len(e.src))
	done := 0
	for _, change := range e.list {
		b.WriteString(e.src[done:max(done, change.start)])
		if crlf {
			change.text = strings.ReplaceAll(strings.ReplaceAll(change.text, "\r\n", "\n"), "\n", "\r\n")
		}
		b.WriteString(change.text)
		done = max(done, change.stop)
	}
	b.WriteString(e.src[done:])
	return b.String()
}
