package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// A CredentialsFile is a [Store] in a file like the CLI's credentials.tfrc.json:
//
//	{"credentials": {"registry.example.com": {"token": "abc"}}}
//
// Each call reads the file. A missing or empty file has no tokens. [svchost.FromWire]
// parses the names; invalid names are ignored, and the last name in byte order counts for a
// host.
//
// Save and Forget replace the file, or the target of a symbolic link, atomically and with
// mode 0600 (except on Windows). Other members keep their values. Concurrent changes, also
// by other processes, wait for a lock file in the same directory. The CLI does not use the
// lock. Systems without locks return [errors.ErrUnsupported].
//
// All errors are a [*SourceError]. They can wrap a [*SyntaxError], or [ErrTooLarge] for
// more than 1 MiB. An invalid file is not changed.
//
// All programs of the user can read the file. A [Helper] can be safer.
type CredentialsFile struct {
	Path string // of the file
}

var _ Store = CredentialsFile{}

const (
	// credentialsSource is the source in errors. Their causes have the path.
	credentialsSource = "credentials file"
	// maxCredentialsFile is the maximum size in bytes.
	maxCredentialsFile = 1 << 20
)

// Token returns the token of host.
func (c CredentialsFile) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	if ctx.Err() != nil {
		return Token{}, c.failed(host, "", fault.Ended(ctx))
	}
	doc, err := c.read(c.Path)
	if err != nil {
		return Token{}, c.failed(host, "", err)
	}
	token, err := doc.token(host)
	return token, c.failed(host, "", withPath(c.Path, err))
}

// Save replaces the entry of host. If necessary, it creates the file, and its directory
// with mode 0700. It refuses hosts that [svchost.Parse] refuses.
func (c CredentialsFile) Save(ctx context.Context, host svchost.Hostname, token Token) error {
	err := cmp.Or(checkSave(host, token), checkName(host))
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

// Forget removes the entry of host.
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

// checkName refuses a host whose name is invalid in the file.
func checkName(host svchost.Hostname) error {
	h, err := svchost.Parse(host.Display())
	if err == nil && h != host {
		err = errors.New("its name in the file would be another host")
	}
	return err
}

// read parses the file at path. A missing file is empty.
func (c CredentialsFile) read(path string) (*document, error) {
	if path == "" {
		return nil, errNoPath
	}
	text, err := readFile(path, maxCredentialsFile)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(text)
	return doc, withPath(path, err)
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
		return fmt.Errorf("%s would have more than %d bytes: %w", target, maxCredentialsFile, ErrTooLarge)
	}
	return fsx.WriteFile(target, text, 0o600)
}
