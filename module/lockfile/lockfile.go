// Package lockfile reads, changes and writes lock files of modules, which the CLIs do not have. It is experimental.
//
//	lock, err := lockfile.Load(lockfile.Name)
//	key, err := lockfile.KeyOf("terraform-aws-modules/vpc/aws", "~> 5.0")
//	locked, ok := lock.Get(key) // select locked.Version
//	// … a download, with locked.Hash in module.Request.H1 …
//	if !ok {
//		err = lock.Set(lockfile.Entry{Key: key, Version: report.Version, Commit: report.Commit, Hash: report.H1})
//		err = lock.Save(lockfile.Name)
//	}
//
// A [lock file] has an [Entry] for each remote source that the configuration or a remote module names.
//
// # Format
//
// The first line is {"module_lock":1}. Each further line is a JSON object with the non-empty strings of an [Entry], in
// this order: source, constraint, evaluated, version, commit, hash.
//
// Entries are written in the order of their [Key]. They are read in any order, and equal lines count once, so that lines
// of two branches can be merged as a union. Line ends may be CRLF, and the last one may be missing. Anything else is an
// error, also two different entries of a Key.
//
// [lock file]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#lock-file
package lockfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Name is the usual name, in the directory of the configuration.
const Name = ".tofureg.modules.lock"

// firstLine tells the format and its version.
const firstLine = `{"module_lock":1}`

// maxSize is the maximum size of a lock file in bytes, about 50,000 entries.
const maxSize = 16 << 20

// ErrLocal means that a source is a path or of [module.KindLocal].
var ErrLocal = module.ErrLocal

// A ChangedError means that a source has another package than the locked one. It wraps [checksum.ErrMismatch].
type ChangedError struct {
	Locked, Found Entry // of the same Key
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("module source %s has changed: %s is locked, %s was found; upgrade it if you expect the change", e.Locked.Key, e.Locked.content(), e.Found.content())
}

func (e *ChangedError) Unwrap() error { return checksum.ErrMismatch }

// A Key identifies a source. [KeyOf] makes it.
type Key struct {
	Source     string // as written, but see [KeyOf]
	Constraint string // as written, or empty
	Evaluated  string // sha256: and hex digits, by [Key.WithValues], or empty
}

// KeyOf returns the key of a source and a version constraint that are string literals. Possible secrets are cut out of
// the source: user information other than "git" in a URL, and parameters that are no field of [module.Location], except
// depth of git. Tokens in paths stay. The error wraps [ErrLocal], or is as of [module.ParseAddress].
func KeyOf(source, constraint string) (Key, error) {
	address, err := module.ParseAddress(source)
	if err != nil {
		return Key{}, err
	}
	if address.Path != "" || address.Location != nil && address.Location.Kind == module.KindLocal {
		return Key{}, fmt.Errorf("%s: %w", address, ErrLocal)
	}
	if address.Location == nil {
		return Key{Source: source, Constraint: constraint}, nil
	}
	source, query, _ := strings.Cut(source, "?")
	if before, rest, ok := strings.Cut(source, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		if i := strings.LastIndex(host, "@"); i >= 0 && host[:i] != "git" {
			source = before + "://" + rest[i+1:]
		}
	}
	_, unknown, _ := strings.Cut(address.Location.URL, "?")
	secret := slices.DeleteFunc(strings.Split(unknown, "&"), func(pair string) bool {
		return address.Location.Kind == module.KindGit && strings.HasPrefix(pair, "depth=")
	})
	sep := "?"
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" && !slices.Contains(secret, strings.ReplaceAll(pair, " ", "%20")) {
			source += sep + pair
			sep = "&"
		}
	}
	return Key{Source: source, Constraint: constraint}, nil
}

// WithValues returns the key of a source and a constraint of which at least one is an expression. k, the key of their
// values, becomes a digest. The arguments are their texts in the configuration, literals without quotes; URLs in
// source are redacted.
func (k Key) WithValues(source, constraint string) Key {
	sum := sha256.Sum256([]byte(k.Source + "\n" + k.Constraint))
	return Key{
		Source:     weburl.RedactText(source),
		Constraint: constraint,
		Evaluated:  "sha256:" + hex.EncodeToString(sum[:]),
	}
}

// String returns printable text, without tokens in paths.
func (k Key) String() string {
	s := weburl.MaskPath(k.Source)
	if k.Constraint != "" {
		s += " " + k.Constraint
	}
	return weburl.Clean(s, 1000)
}

func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.Source, o.Source), strings.Compare(k.Constraint, o.Constraint), strings.Compare(k.Evaluated, o.Evaluated))
}

// An Entry is the locked package of a source.
type Entry struct {
	Key     Key           // of the source
	Version addrs.Version // selected; zero unless Key names a registry
	Commit  string        // in lower-case hex; empty unless from git
	Hash    checksum.Hash // H1 of [module.Report], such as h1:BASE64=; not zero
}

// content describes the package.
func (e Entry) content() string {
	s := e.Hash.String()
	if e.Commit != "" {
		s = "commit " + e.Commit + " with " + s
	}
	if !e.Version.IsZero() {
		s = "version " + e.Version.String() + ", " + s
	}
	return s
}

// Check returns a [*ChangedError] unless found has the version, the commit and the hash of e.
// Commits are not compared if e or found has none, and keys never.
func (e Entry) Check(found Entry) error {
	found.Key = e.Key
	same := found
	if e.Commit == "" || found.Commit == "" {
		same.Commit = e.Commit
	}
	if e != same {
		return &ChangedError{Locked: e, Found: found}
	}
	return nil
}

// A File is the content of a lock file. The zero File is empty, as is a nil one for Get, Len and All. It is safe for
// concurrent use while it is not modified.
type File struct {
	entries map[Key]Entry
}

// Get returns the entry of k.
func (f *File) Get(k Key) (Entry, bool) {
	e, ok := f.read()[k]
	return e, ok
}

func (f *File) read() map[Key]Entry {
	if f == nil {
		return nil
	}
	return f.entries
}

// Len returns the number of entries.
func (f *File) Len() int { return len(f.read()) }

// All yields the entries at the start of the loop, sorted by [Key]. The loop may modify f.
func (f *File) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		slices.Values(slices.SortedFunc(maps.Values(f.read()), func(a, b Entry) int { return a.Key.compare(b.Key) }))(yield)
	}
}

// Set adds or replaces the entry of e.Key. The error tells which field is invalid.
func (f *File) Set(e Entry) error {
	if reason := e.invalid(); reason != "" {
		return errors.New("module lock file: " + reason)
	}
	if f.entries == nil {
		f.entries = map[Key]Entry{}
	}
	f.entries[e.Key] = e
	return nil
}

// invalid returns what is wrong with an entry, or "".
func (e Entry) invalid() string {
	digest, isSHA256 := strings.CutPrefix(e.Key.Evaluated, "sha256:")
	switch {
	case e.Key.Source == "", !utf8.ValidString(e.Key.Source + e.Key.Constraint):
		return "the source is missing, or not in UTF-8"
	case e.Key.Evaluated != "" && (!isSHA256 || len(digest) != 64 || !isHex(digest)):
		return `"evaluated" must be sha256: and 64 lower-case hex digits`
	case e.Commit != "" && (len(e.Commit) != 40 && len(e.Commit) != 64 || !isHex(e.Commit)):
		return `"commit" must be 40 or 64 lower-case hex digits`
	case e.Hash.IsZero():
		return "the hash is missing"
	}
	return ""
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// Keep deletes and returns the entries whose key is not in keys, sorted by [Key].
func (f *File) Keep(keys iter.Seq[Key]) (removed []Entry) {
	kept := map[Key]bool{}
	for k := range keys {
		kept[k] = true
	}
	for e := range f.All() {
		if !kept[e.Key] {
			delete(f.entries, e.Key)
			removed = append(removed, e)
		}
	}
	return removed
}

// line is an entry in the file.
type line struct {
	Source     string        `json:"source"`
	Constraint string        `json:"constraint,omitempty"`
	Evaluated  string        `json:"evaluated,omitempty"`
	Version    addrs.Version `json:"version,omitzero"`
	Commit     string        `json:"commit,omitempty"`
	Hash       checksum.Hash `json:"hash,omitzero"`
}

// Bytes returns the content of the file.
func (f *File) Bytes() []byte {
	var b bytes.Buffer
	b.WriteString(firstLine + "\n")
	for e := range f.All() {
		b.Write(e.line())
	}
	return b.Bytes()
}

func (e Entry) line() []byte {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	_ = out.Encode(line{e.Key.Source, e.Key.Constraint, e.Key.Evaluated, e.Version, e.Commit, e.Hash}) // strings only
	return b.Bytes()
}

// Parse reads a lock file. Filename is for errors. The error names the line of the first invalid
// entry, or wraps [github.com/tofureg/tofureg/failure.ErrTooLarge] beyond 16 MiB.
func Parse(data []byte, filename string) (*File, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("module lock file %s %w: %d bytes are allowed", weburl.Clean(filename, 1000), failure.ErrTooLarge, maxSize)
	}
	f := &File{}
	invalid := func(line int, reason string) error {
		return fmt.Errorf("module lock file %s:%d: %s", weburl.Clean(filename, 1000), line, reason)
	}
	n := 0
	for text := range bytes.Lines(data) {
		n++
		text = append(slices.Clip(bytes.TrimRight(text, "\r\n")), '\n') // not in data
		if reason := f.parseLine(n, text); reason != "" {
			return nil, invalid(n, reason)
		}
	}
	if n == 0 {
		return nil, invalid(1, "the file is empty; delete it to begin a new one")
	}
	return f, nil
}

// parseLine adds line n. It returns what is wrong, or "".
func (f *File) parseLine(n int, text []byte) string {
	if n == 1 {
		if string(text) != firstLine+"\n" {
			return fmt.Sprintf("the first line must be %s; another version needs a newer program", firstLine)
		}
		return ""
	}
	if bytes.HasPrefix(text, []byte("<<<<<<<")) {
		return "a merge conflict: keep the lines of both sides, then upgrade the sources that have two"
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return "the line is not an entry"
	}
	e := Entry{Key{l.Source, l.Constraint, l.Evaluated}, l.Version, l.Commit, l.Hash}
	if reason := e.invalid(); reason != "" {
		return reason
	}
	if !bytes.Equal(e.line(), text) { // unknown fields, other order, repeated names, spaces
		return "the line is not as this package writes it"
	}
	if other, ok := f.entries[e.Key]; ok && other != e {
		return fmt.Sprintf("a second entry for %s; keep one", e.Key)
	}
	_ = f.Set(e)
	return ""
}

// Load calls [Parse] for the file at path. If it is missing, the File is empty.
func Load(path string) (*File, error) {
	data, err := fsx.ReadRegular(path, maxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &File{}, nil
	case err != nil:
		return nil, fmt.Errorf("read module lock file: %w", err)
	}
	return Parse(data, path)
}

// Save atomically replaces the file at path by [File.Bytes]. It does not touch a file with the same
// entries, and creates none without entries. A new file has mode 0644 before the umask; an existing
// file keeps its mode. A symbolic link at path is replaced. Changes by other programs since [Load] are
// lost.
func (f *File) Save(path string) error {
	if err := fsx.Update(path, f.Bytes(), maxSize, f.keeps); err != nil {
		return fmt.Errorf("write module lock file: %w", err)
	}
	return nil
}

// keeps reports whether data has the entries of f. nil stands for no file, which stays if f has
// none.
func (f *File) keeps(data []byte) bool {
	if data == nil {
		return f.Len() == 0
	}
	old, err := Parse(data, "")
	return err == nil && maps.Equal(f.entries, old.entries)
}
