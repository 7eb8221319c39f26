package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// A CredentialsFile is a Store in a file like the CLI's credentials.tfrc.json, of at most 1 MiB. Each call
// reads it. A missing or empty file has no tokens. If it is invalid, errors name the line, and it is not
// changed. Entries with an invalid hostname are ignored. Other invalid entries are errors of Token for their
// host.
//
// Save and Forget replace the file, or the target of a symbolic link, atomically, with mode 0600 (except on
// Windows), and keep other members. Several processes take turns with a lock file, which the CLI does not use.
type CredentialsFile struct {
	Path string // required
}

var _ Store = CredentialsFile{}

const (
	// credentialsSource is the source in errors. Their causes have the path.
	credentialsSource = "credentials file"
	// maxCredentialsFile is the maximum size in bytes.
	maxCredentialsFile = 1 << 20
)

// Token implements [Source].
func (c CredentialsFile) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	if ctx.Err() != nil {
		return Token{}, c.failed(host, "", fault.Ended(ctx))
	}
	var token Token
	doc, err := c.read(c.Path)
	if err == nil {
		token, err = doc.token(host)
	}
	return token, c.failed(host, "", err)
}

// Save implements [Store]. It can create the file, and its directory with mode 0700. It refuses hosts that
// [svchost.Parse] refuses.
func (c CredentialsFile) Save(ctx context.Context, host svchost.Hostname, token Token) error {
	err := checkSave(host, token)
	if err == nil {
		var h svchost.Hostname
		if h, err = svchost.Parse(host.Display()); err == nil && h != host {
			err = errors.New("its name in the file would be another host")
		}
	}
	if err == nil && c.Path != "" {
		err = os.MkdirAll(filepath.Dir(c.Path), 0o700)
	}
	if err == nil {
		err = c.change(ctx, func(doc *document) bool {
			doc.save(host, token)
			return true
		})
	}
	return c.failed(host, "save", err)
}

// Forget implements [Store].
func (c CredentialsFile) Forget(ctx context.Context, host svchost.Hostname) error {
	doc, err := c.read(c.Path)
	if err == nil && doc.forget(host) {
		err = c.change(ctx, func(doc *document) bool { return doc.forget(host) })
	}
	return c.failed(host, "forget", err)
}

// String describes the file.
func (c CredentialsFile) String() string { return fmt.Sprintf("credentials file %q", c.Path) }

func (c CredentialsFile) failed(host svchost.Hostname, verb string, err error) error {
	if err == nil {
		return nil
	}
	if verb != "" {
		err = fmt.Errorf("%s: %w", verb, err)
	}
	return &SourceError{Host: host, Source: credentialsSource, Err: err}
}

// read parses the file at path. A missing file is empty.
func (c CredentialsFile) read(path string) (*document, error) {
	text, err := readFile(path, maxCredentialsFile)
	if err != nil {
		return nil, err
	}
	return parseDocument(path, text)
}

var errNoPath = errors.New("empty Path")

// change rewrites the file after edit, unless edit returns false.
func (c CredentialsFile) change(ctx context.Context, edit func(*document) bool) error {
	if c.Path == "" {
		return errNoPath
	}
	target, err := filepath.EvalSymlinks(c.Path)
	if _, failed := os.Lstat(c.Path); errors.Is(failed, fs.ErrNotExist) {
		target, err = c.Path, nil
	}
	if err != nil {
		return err
	}
	dir, name := filepath.Split(target)
	lock, err := fsx.AcquireLock(ctx, dir+"."+name+".lock")
	if err != nil {
		return err
	}
	// The lock is released even if its file cannot be removed.
	defer lock.Remove()
	fsx.SweepParts(ctx, filepath.Dir(target)) // incomplete files of killed processes contain tokens
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	doc, err := c.read(target)
	if err != nil || !edit(doc) {
		return err
	}
	text := doc.text()
	if len(text) > maxCredentialsFile {
		return fmt.Errorf("%s would have more than %d bytes: %w", target, maxCredentialsFile, failure.ErrTooLarge)
	}
	return fsx.WriteFile(target, text, 0o600)
}

const credentialsName = "credentials"

var errNotJSON = errors.New("invalid JSON") // errors of encoding/json can contain a character of a token

// A document is a credentials file: its members, and the entries of "credentials". It keeps
// the text of values, so that numbers keep their digits.
type document struct {
	path    string
	source  []byte
	members map[string]member
	entries map[string]member
}

// A member is the value of one name in an object.
type member struct {
	json.RawMessage
	offset int
}

func parseDocument(path string, text []byte) (*document, error) {
	doc := &document{path: path, source: text, members: map[string]member{}, entries: map[string]member{}}
	text = bytes.TrimLeft(text, space)
	if len(text) == 0 {
		return doc, nil
	}
	var value json.RawMessage
	if err := json.Unmarshal(doc.source, &value); err != nil {
		offset := len(doc.source)
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			offset = int(e.Offset) - 1
		}
		return nil, syntaxError(path, doc.source, offset, errNotJSON)
	}
	var err error
	if doc.members, err = doc.object(len(doc.source) - len(text)); err != nil {
		return nil, err
	}
	if m, ok := doc.members[credentialsName]; ok {
		doc.entries, err = doc.object(m.offset)
	}
	return doc, err
}

// space is white space in JSON.
const space = " \t\r\n"

// object returns the members of the object at offset in the source, which is valid JSON.
func (d *document) object(offset int) (map[string]member, error) {
	if d.source[offset] != '{' {
		return nil, syntaxError(d.path, d.source, offset, errNotObject)
	}
	dec := json.NewDecoder(bytes.NewReader(d.source[offset:]))
	_, err := dec.Token()
	members := map[string]member{}
	for err == nil && dec.More() {
		var m member
		token, _ := dec.Token()
		name, _ := token.(string)
		err = dec.Decode(&m.RawMessage)
		m.offset = offset + int(dec.InputOffset()) - len(m.RawMessage)
		if _, ok := members[name]; ok && name == credentialsName {
			return nil, syntaxError(d.path, d.source, m.offset, errors.New(`a second "credentials"`))
		}
		members[name] = m
	}
	return members, err
}

// isNameOf reports whether the name of an entry means host.
func isNameOf(name string, host svchost.Hostname) bool {
	h, err := svchost.FromWire(name)
	return err == nil && h == host
}

// token returns the token of host.
func (d *document) token(host svchost.Hostname) (Token, error) {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(d.entries))) {
		if !isNameOf(name, host) {
			continue
		}
		m := d.entries[name]
		token, err := parseCredentials(m.RawMessage)
		if err != nil {
			err = syntaxError(d.path, d.source, m.offset, err)
		}
		return token, err
	}
	return Token{}, nil
}

// save replaces all entries of host.
func (d *document) save(host svchost.Hostname, token Token) {
	d.forget(host)
	d.entries[host.Display()] = member{RawMessage: credentials(token)}
}

// forget removes the entries of host. It returns false if there are no entries.
func (d *document) forget(host svchost.Hostname) bool {
	before := len(d.entries)
	maps.DeleteFunc(d.entries, func(name string, _ member) bool { return isNameOf(name, host) })
	return len(d.entries) < before
}

// text returns the content of the file in the format of the CLI.
func (d *document) text() []byte {
	d.members[credentialsName] = member{RawMessage: encode(d.entries, "")}
	return encode(d.members, "  ")
}

var errNotObject = errors.New("not a JSON object")

// parseCredentials reads the JSON object with a token, in the answer of a helper or in the
// credentials file. null, {} and a null or empty token mean no token.
func parseCredentials(text []byte) (Token, error) {
	secret, err := secretIn(text)
	if err != nil || secret == "" {
		return Token{}, err
	}
	return NewToken(secret)
}

// secretIn returns the member "token" of a JSON object, also if it is an invalid token, or
// "". It does not return errors of encoding/json, which can contain the input.
func secretIn(text []byte) (secret string, err error) {
	var members map[string]json.RawMessage // a struct would also accept "Token"
	if json.Unmarshal(text, &members) != nil {
		return "", errNotObject
	}
	if value, ok := members["token"]; ok && json.Unmarshal(value, &secret) != nil {
		return "", errors.New("the token is not a string")
	}
	return secret, nil
}

// credentials returns the JSON object with a token.
func credentials(token Token) []byte {
	text := encode(map[string]string{"token": token.Reveal()}, "")
	return bytes.TrimSuffix(text, []byte("\n"))
}

// encode returns a value in JSON and a line break. It does not escape for HTML, because
// shell scripts read the result. It must not be called with invalid values.
func encode(v any, indent string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	_ = e.Encode(v)
	return b.Bytes()
}

// syntaxError returns an error at offset in the text of the file at path. It has no part of text.
func syntaxError(path string, text []byte, offset int, cause error) error {
	before := text[:min(max(offset, 0), len(text))]
	line, column := bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("%s:%d:%d: %w", path, line, column, cause)
}

var errNoHost = errors.New("missing host")

// checkSave refuses an empty host or token.
func checkSave(host svchost.Hostname, token Token) error {
	if host.IsZero() {
		return errNoHost
	}
	if token.IsZero() {
		return fmt.Errorf("%w: it is empty", ErrInvalidToken)
	}
	return nil
}

// readFile reads a regular file of at most max bytes. A missing file is empty.
func readFile(path string, max int64) ([]byte, error) {
	if path == "" {
		return nil, errNoPath
	}
	text, err := fsx.ReadRegular(path, max)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
