package lockfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
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

// edit changes the block to say what now says.
func (b *block) edit(e *edits, now Entry) {
	if label := quote(now.Provider.String()); e.src[b.label.start:b.label.end] != label {
		e.replace(span{b.label.start, b.label.end}, label)
	}
	if b.inline {
		b.unfold(e, now)
		return
	}
	for _, a := range b.extra {
		e.replace(a.line, "")
	}
	next := b.editVersion(e, now, b.top)
	next = b.editConstraints(e, now, next)
	b.editHashes(e, now, next)
}

// editVersion sets the version. If it is missing, it goes to next. The result is the position
// of the following argument.
func (b *block) editVersion(e *edits, now Entry, next int) int {
	if b.version == nil {
		e.insertLines(next, versionLine(now))
		return next
	}
	e.replace(b.version.value, quote(now.Version.String()))
	return b.version.line.stop
}

// editConstraints sets, adds or removes the constraints. An empty text also means none.
func (b *block) editConstraints(e *edits, now Entry, next int) int {
	there, want := b.constraints != nil, !now.Constraints.IsZero()
	switch {
	case there && want:
		e.replace(b.constraints.value, quote(now.Constraints.String()))
		return b.constraints.line.stop
	case want:
		e.insertLines(next, constraintsLine(now))
		b.align(e, now)
	case there && e.src[b.constraints.value.start:b.constraints.value.stop] != `""`:
		e.replace(b.constraints.line, "")
		b.align(e, now)
	}
	return next
}

// editHashes sets, adds or removes the hashes. Unreadable hashes stay.
func (b *block) editHashes(e *edits, now Entry, next int) {
	otherVersion := b.entry.Version != now.Version
	switch there, want := b.hashes != nil, len(now.Hashes) > 0; {
	case there && want && (otherVersion || !slices.Equal(b.entry.Hashes, now.Hashes)):
		e.replace(b.hashes.value, relist(e.src, b.hashes, now.Hashes, otherVersion))
	case want && !there:
		e.insertLines(next, string(appendHashes(nil, now)))
	case there && !want && !now.Unreadable:
		e.replace(b.hashes.line, "")
	}
}

// align moves the equals sign of the version when constraints are added or removed.
func (b *block) align(e *edits, now Entry) {
	if b.version == nil {
		return
	}
	blanks := span{b.version.name.end, b.version.equals}
	if strings.TrimLeft(e.src[blanks.start:blanks.stop], " ") == "" {
		e.replace(blanks, padding(now))
	}
}

// unfold splits an inline block into lines.
func (b *block) unfold(e *edits, now Entry) {
	around := comments(e.src, b.body)
	rest := ""
	if b.other != nil { // the only argument of the body
		own := span{b.other.name.start, b.other.value.stop}
		around = append(comments(e.src, span{b.body.start, own.start}), comments(e.src, span{own.stop, b.body.stop})...)
		rest = "  " + e.src[own.start:own.stop] + "\n"
	}
	var text strings.Builder
	text.WriteString("\n")
	for _, c := range around {
		text.WriteString("  " + c + "\n")
	}
	e.replace(b.body, text.String()+string(appendBody(nil, now))+rest)
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
