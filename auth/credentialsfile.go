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

// A CredentialsFile is a [Store] in a file, of the kind that the CLI keeps as
// credentials.tfrc.json in its configuration directory:
//
//	{"credentials": {"registry.example.com": {"token": "abc"}}}
//
// A missing or empty file has no tokens. Each call reads the file anew; [Cached] in front
// of it saves work. Host names in the file are read by [svchost.FromWire]. If several names
// mean one host, the last one in byte order counts. Names that mean no host are ignored. Of
// an entry only "token" counts; without it, or if it is null or "", there is no token.
//
// [CredentialsFile.Save] and [CredentialsFile.Forget] change the entry of their host. The
// values of all other members stay as they are; like the CLI, they sort the members and
// indent the file. The new file replaces the old one in one step, with mode 0600 (Windows
// gives it the access rights of its directory). If Path is a symbolic link, the file that
// the link points to is replaced. A link that points to nothing is an error.
//
// Changes exclude each other, in this process and between processes that use
// this package: while one is made, a lock file lies beside the file, named like
// it with a dot in front and ".lock" behind. The CLI takes no lock, so of its
// change and one made here at the same moment one may be lost. On systems
// without such locks, changes fail with [errors.ErrUnsupported].
//
// Every error is a [*SourceError]. It wraps a [*SyntaxError] if the file is invalid; an
// invalid file is never overwritten. More than 1 MiB, read or to be written, is [ErrTooLarge].
//
// Every program that its user runs can read the file. Where that matters, a
// [Helper] is the better place. The file is described at
// https://opentofu.org/docs/cli/config/config-file/#credentials.
type CredentialsFile struct {
	// Path is the path of the file.
	Path string
}

var _ Store = CredentialsFile{}

const (
	// credentialsSource names the file in errors, whose causes have its path.
	credentialsSource = "credentials file"
	// maxCredentialsFile bounds the file, in bytes.
	maxCredentialsFile = 1 << 20
)

// Token returns the token that the file holds for host.
func (c CredentialsFile) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	if ctx.Err() != nil {
		return Token{}, c.failed(host, "", fault.Ended(ctx))
	}
	doc, err := c.read(c.Path)
	if err != nil {
		return Token{}, c.failed(host, "", err)
	}
	token, err := doc.token(host)
	return token, c.failed(host, "", in(c.Path, err))
}

// Save makes token that of host in the file, in place of all that the file had
// for this host, under the name by which people write it. It makes the file,
// and its directory with mode 0700, if they are not there.
//
// Save waits until others have made their changes, or ctx ends. A host that can
// stand in no address, such as one with an underscore, is refused, since the CLI
// would refuse the whole file.
func (c CredentialsFile) Save(ctx context.Context, host svchost.Hostname, token Token) error {
	err := cmp.Or(storable(host, token), nameable(host))
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

// Forget removes all that the file has for host. A file that has nothing is not
// touched, nor made.
func (c CredentialsFile) Forget(ctx context.Context, host svchost.Hostname) error {
	doc, err := c.read(c.Path)
	if err == nil && doc.forget(host) {
		err = c.change(ctx, func(doc *document) bool { return doc.forget(host) })
	}
	return c.failed(host, "forget", err)
}

// String names the file.
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

// nameable refuses a host whose name cannot be written into the file.
func nameable(host svchost.Hostname) error {
	h, err := svchost.Parse(host.Display())
	if err == nil && h != host {
		err = errors.New("the name reads as another host")
	}
	return err
}

// read parses the file at path. One that is not there is empty.
func (c CredentialsFile) read(path string) (*document, error) {
	if path == "" {
		return nil, errors.New("it has no path")
	}
	text, err := readFile(path, maxCredentialsFile)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(text)
	return doc, in(path, err)
}

// change has edit change the file, unless edit returns false.
func (c CredentialsFile) change(ctx context.Context, edit func(*document) bool) error {
	if ctx.Err() != nil {
		return fault.Ended(ctx)
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
	// Whether its file goes away is no matter: the lock does.
	defer lock.Remove()
	fsx.SweepParts(filepath.Dir(target)) // what was being written here has tokens in it
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
